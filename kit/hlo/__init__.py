"""XLA's optimised HLO, read strictly: its text, all that it counts up to, where its outputs come from.

`module` parses, `products` and `bodies` tell multiplications, `census` counts all work, and
`dataflow` follows outputs back to buffers with `values`, `steps` and `multiply`.
"""
