"""No telemetry: every column is absent because nothing was asked for."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from kit.evidence import Limits
from kit.system import DeviceAddress, no_limits
from kit.telemetry import Source, complete
from kit.trace import TableContract

TABLES: tuple[TableContract, ...] = ()
_REASON = "telemetry=none"


@contextmanager
def connect(_device: DeviceAddress) -> Iterator[Source]:
    """A source without readers."""
    yield Source(complete((), "none", _REASON), {})


def limits(_device: DeviceAddress, _own_processes: Collection[int] = ()) -> Limits:
    """No limits are read either."""
    return no_limits(_REASON)
