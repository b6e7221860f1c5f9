"""Several field values of one GPU, taken by one call of NVML and decoded by their type."""

from collections.abc import Iterable
from math import isfinite
from typing import Any

from kit.system.nvml import Refusal, attempt, refusal


class FieldValues:
    """Fields by their names in the binding, all of scope 0: the GPU itself.

    The module's scope of GH200 and GB200 holds more than the GPU and would be another quantity.
    """

    def __init__(self, nvml: Any, handle: Any, names: Iterable[str]) -> None:
        self._nvml = nvml
        self._handle = handle
        self._places = {name: place for place, name in enumerate(names)}
        self._ids = [(getattr(nvml, name), nvml.NVML_POWER_SCOPE_GPU) for name in self._places]
        self._values: Any = None
        self._members = {
            nvml.NVML_VALUE_TYPE_DOUBLE: "dVal",
            nvml.NVML_VALUE_TYPE_UNSIGNED_INT: "uiVal",
            nvml.NVML_VALUE_TYPE_UNSIGNED_LONG: "ulVal",
            nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: "ullVal",
            nvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG: "sllVal",
            nvml.NVML_VALUE_TYPE_SIGNED_INT: "siVal",
            nvml.NVML_VALUE_TYPE_UNSIGNED_SHORT: "usVal",
        }

    def refresh(self) -> None:
        """Take all fields anew; a failure shows when a value is asked for."""
        if self._ids:
            self._values = attempt(
                self._nvml, self._nvml.nvmlDeviceGetFieldValues, self._handle, self._ids
            )

    def candidates(self, name: str) -> list[int] | Refusal:
        """What one field's value may be, likeliest first, or why there is none.

        The whole call may succeed while one field of it does not. A driver of the 545 series tags
        the memory temperature as a double that is none, so an integer stands behind a double.
        """
        if isinstance(self._values, Refusal):
            return self._values
        entry = self._values[self._places[name]]
        if entry.nvmlReturn != self._nvml.NVML_SUCCESS:
            return refusal(self._nvml, entry.nvmlReturn)
        number = getattr(entry.value, self._members.get(entry.valueType, "ullVal"))
        if isinstance(number, float):
            whole = [round(number)] if isfinite(number) else []
            return [*whole, int(entry.value.uiVal)]
        return [int(number)]
