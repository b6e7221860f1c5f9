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


def test_the_time_left_falls_within_a_run_by_the_mean_of_the_finished_ones(monkeypatch):
    now_s = 100.0
    monkeypatch.setattr("kit.runner.progress.time.monotonic", lambda: now_s)
    stream = io.StringIO()
    progress = Progress(4, stream, started_s=now_s)
    progress.begin("case", "cpu", 1, 4)
    now_s = 110.0
    progress.end("measured")
    progress.begin("case", "cpu", 2, 4)
    for now_s in (111.0, 118.0, 125.0):
        progress.phase(f"phase {now_s}")
    left = [line.split("about ")[1] for line in stream.getvalue().splitlines()[1:]]
    assert left == ["29 s left", "22 s left", "20 s left"]
