"""Was a requested clock held, and if not, at which clock would it have been?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class HeldClock:
    """Clock samples beside the clock that was asked for; `off` of them lie beyond one step."""

    requested_mhz: int
    samples: int
    lowest_mhz: int
    highest_mhz: int
    off: int

    @property
    def text(self) -> str:
        """The samples beside the request, for a person."""
        return (
            f"{self.lowest_mhz} to {self.highest_mhz} MHz, {self.off} of {self.samples} samples off"
        )

    @property
    def held(self) -> bool:
        """Whether there are samples and all of them show the requested clock."""
        return self.samples > 0 and not self.off


def held_clock(
    graphics_mhz: NDArray[np.int64], requested_mhz: int, step_mhz: int
) -> HeldClock | None:
    """Compare every sample, in MHz; None without any. One step either way is the same clock."""
    if not len(graphics_mhz):
        return None
    off = np.abs(graphics_mhz - requested_mhz) > step_mhz
    return HeldClock(
        requested_mhz,
        len(graphics_mhz),
        int(graphics_mhz.min()),
        int(graphics_mhz.max()),
        int(np.count_nonzero(off)),
    )


def remedy(found: HeldClock, maximum_mhz: int | None, step_mhz: int) -> str:
    """What to ask for instead, for a clock that was not held; empty for one that was."""
    if found.held:
        return ""
    if found.lowest_mhz >= found.requested_mhz - step_mhz:
        return f"nothing held the clock down: lock it at {found.requested_mhz} MHz before the run"
    step = step_that_held(found.lowest_mhz, maximum_mhz or found.requested_mhz, step_mhz)
    if step is None:
        return ""
    return f"test_type.clock_mhz={step} would have held, the largest step that no sample undercut"


def step_that_held(lowest_mhz: int, maximum_mhz: int, step_mhz: int) -> int | None:
    """The largest clock step, counted down from the device's maximum, at or below `lowest_mhz`.

    A device that fell to `lowest_mhz` while it was free to run faster needs less power at that
    clock than at any higher one. Steps count from the maximum: an H200 offers 1980, 1965, ...,
    345 MHz. None where no step is left above zero.
    """
    steps_down = max(0, -(-(maximum_mhz - lowest_mhz) // step_mhz))
    found = maximum_mhz - steps_down * step_mhz
    return found if found > 0 else None
