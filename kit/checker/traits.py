"""What of one bundle is held against the other bundles of its round?"""

from dataclasses import dataclass

STRETCH = 16
"""Steps of a series that one digest covers, apart from the whole."""


@dataclass(frozen=True, slots=True)
class Traits:
    """A bundle's traits, plain text by name.

    `submitter` is who the plan says. `system` is the system as declared, by MLPerf's field names;
    what was not declared is absent. `devices` holds the silicon's facts by the id of a GPU that has
    runs; a CPU host has no id of its own. `busy` are Unix times in seconds by a GPU's id: start and
    end of each of its runs. `series` maps a measured series, such as
    `<run folder>/power.csv: power_average_mw`, to hexadecimal digests with blanks between: the
    first of the whole series, the others of stretches of it (`kit.checker.stretches`).
    """

    submitter: str
    system: dict[str, str]
    devices: dict[str, dict[str, str]]
    busy: dict[str, tuple[int, ...]]
    series: dict[str, str]
