"""Progress on stderr: one live line on a terminal, one line a phase elsewhere.

Nothing is printed between the first and the last profiling launch.
"""

import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TextIO


@dataclass(slots=True)
class Progress:
    """Where the measurement is. `runs` is how many there will be in all."""

    runs: int
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    done: int = 0
    label: str = ""
    current: str = ""
    started_s: float = field(default_factory=time.monotonic)
    began_s: float = 0.0

    def begin(self, case: str, device: str, number: int, replicates: int) -> None:
        """A run begins."""
        self.current = ""
        self.began_s = time.monotonic()
        self.label = (
            f"[{self.done + 1}/{self.runs}] {case} on {device}, run {number} of {replicates}"
        )

    def phase(self, name: str) -> None:
        """A phase of the current run begins, or goes on: `name` may add readings after a colon."""
        began = name.partition(":")[0]
        if began == self.current and not self.stream.isatty():
            return
        self.current = began
        self._show(f"{self.label}: {name}{self._time_left()}", ends=False)

    def end(self, outcome: str) -> None:
        """The current run is over."""
        self.done += 1
        self._show(f"{self.label}: {outcome}", ends=True)

    def _time_left(self) -> str:
        """By the mean of the finished runs, less what this one has taken already."""
        if not self.done:
            return ""
        each_s = (self.began_s - self.started_s) / self.done
        this_s = max(0.0, each_s - (time.monotonic() - self.began_s))
        return f", about {this_s + each_s * (self.runs - self.done - 1):.0f} s left"

    def _show(self, text: str, *, ends: bool) -> None:
        with suppress(OSError):  # a full disk or a closed terminal must not cost the measurement
            if self.stream.isatty():
                self.stream.write(f"\r\x1b[K{text}" + ("\n" if ends else ""))
            else:
                self.stream.write(f"{text}\n")
            self.stream.flush()
