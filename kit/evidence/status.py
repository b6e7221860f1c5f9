"""How an attempt ended, and whether the machine supplied a value."""

from typing import Literal

Status = Literal[
    "measured",
    "out_of_memory",
    "unsupported",
    "crashed",
    "timed_out",
    "device_error",
    "interrupted",
    "untuned",
]
MetricStatus = Literal[
    "ok", "not_supported", "no_permission", "not_found", "library_missing", "error"
]
