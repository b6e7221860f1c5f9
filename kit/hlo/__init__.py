"""XLA's optimised HLO, read strictly: its text, what it counts up to, and whence its outputs come.

`module` parses and `text` remembers; `products` and `bodies` tell multiplications, `census` counts
all work, and `dataflow` follows outputs back to buffers with `values`, `steps` and `multiply`.
"""
