"""Progress lines: one a phase for a log, one live line for a terminal."""

import io

from kit.runner.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(stream):
    progress = Progress(2, stream)
    for number in (1, 2):
        progress.begin("case", "cpu", number, 2)
        for phase in ("warm-up: 600 W 1500 MHz", "warm-up: 690 W 1480 MHz", "profiling"):
            progress.phase(phase)
        progress.end("measured")
    return stream.getvalue()


def test_a_log_gets_one_line_a_phase():
    lines = run(io.StringIO()).splitlines()
    assert [line.split(": ", 1)[1].split(",")[0] for line in lines[:3]] == [
        "warm-up: 600 W 1500 MHz",
        "profiling",
        "measured",
    ]
    assert len(lines) == 6
    assert "s left" in lines[3]
    assert lines[0].startswith("[1/2] case on cpu, run 1 of 2")


def test_a_terminal_gets_one_line_that_changes():
    text = run(Terminal())
    assert text.count("\n") == 2
    assert "690 W 1480 MHz" in text
