"""Why a GPU's clock is not what it could be: NVML's clocks event reasons and their counters.

Masks are those of nvml.h, `NvmlClocksEventReasons` (once `NvmlClocksThrottleReasons`). They are
written down here because whoever judges a bundle has no NVML.
"""

from dataclasses import dataclass

SW_POWER_CAP = 0x4
HW_SLOWDOWN = 0x8
SYNC_BOOST = 0x10
SW_THERMAL_SLOWDOWN = 0x20
HW_THERMAL_SLOWDOWN = 0x40
HW_POWER_BRAKE_SLOWDOWN = 0x80

EXPLAINING = (
    SW_POWER_CAP
    | HW_SLOWDOWN
    | SYNC_BOOST
    | SW_THERMAL_SLOWDOWN
    | HW_THERMAL_SLOWDOWN
    | HW_POWER_BRAKE_SLOWDOWN
)
"""What lowers a clock under load. Idle (0x1) does not; an application's clock (0x2) and a display's
(0x100) are settings."""


@dataclass(frozen=True, slots=True)
class Slowdown:
    """A reason that spoils a measurement: its mask, and its counter in `power.csv`, if any."""

    name: str
    mask: int
    counter: str | None


POWER_CAP = Slowdown("software power cap", SW_POWER_CAP, "sw_power_cap_ns")
"""What a fixed-power test is about, and what a fixed-frequency test must not meet."""

SLOWDOWNS = (
    Slowdown("software thermal slowdown", SW_THERMAL_SLOWDOWN, "sw_thermal_ns"),
    Slowdown("hardware thermal slowdown", HW_THERMAL_SLOWDOWN, "hw_thermal_ns"),
    Slowdown("hardware power brake", HW_POWER_BRAKE_SLOWDOWN, "hw_power_brake_ns"),
)
"""Heat and supply, which no test may meet."""

BARE_SLOWDOWN = Slowdown("hardware slowdown", HW_SLOWDOWN, None)
"""Heat or supply without saying which; it also flashes when the performance state changes."""
