"""Lines come out as they went in, however they were cut, and nobody waits for one too long."""

import os
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.lines import Lines
from processes import many_descriptors


@pytest.fixture
def pipe():
    ends = list(os.pipe())
    yield ends
    for end in ends:
        os.close(end)


def close(pipe):
    """Close the writing end."""
    os.close(pipe.pop())


def later(seconds=5.0):
    return time.monotonic() + seconds


def test_several_lines_that_come_at_once_are_told_one_by_one(pipe):
    lines = Lines(pipe[0])
    os.write(pipe[1], b"one\n\nthree\nfo")
    assert [lines.next(later()) for _ in range(3)] == [b"one", b"", b"three"]
    os.write(pipe[1], b"ur\n")
    assert lines.next(later()) == b"four"


def test_the_end_of_the_pipe_is_no_line_and_neither_is_what_it_cuts_off(pipe):
    lines = Lines(pipe[0])
    os.write(pipe[1], b"whole\nbegun")
    close(pipe)
    assert [lines.next(later()) for _ in range(3)] == [b"whole", None, None]


def test_half_a_line_is_waited_for_until_the_deadline_and_then_kept(pipe):
    lines = Lines(pipe[0])
    os.write(pipe[1], b"ha")
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        lines.next(began + 0.1)
    assert time.monotonic() - began > 0.09
    os.write(pipe[1], b"lf\n")
    assert lines.next(later()) == b"half"


def test_what_is_there_is_read_after_the_deadline(pipe):
    lines = Lines(pipe[0])
    os.write(pipe[1], b"late\n")
    assert lines.next(time.monotonic() - 1) == b"late"
    with pytest.raises(TimeoutError):
        lines.next(time.monotonic() - 1)


def test_a_line_longer_than_the_pipe_holds(pipe):
    text = bytes(range(97, 123)) * 200_000

    def write():
        with open(pipe[1], "wb", closefd=False) as file:
            file.write(text + b"\n")

    writer = threading.Thread(target=write)
    writer.start()
    assert Lines(pipe[0]).next(later(30)) == text
    writer.join()


def test_a_descriptor_beyond_what_select_takes(pipe):
    with many_descriptors():
        high = os.dup(pipe[0])
        assert high > 1023
        os.write(pipe[1], b"heard\n")
        assert Lines(high).next(later()) == b"heard"
        os.close(high)


@given(st.lists(st.binary(min_size=1, max_size=200)))
def test_lines_are_those_of_all_that_was_written(parts):
    reading, writing = os.pipe()
    lines, told = Lines(reading), []
    try:
        for part in parts:
            os.write(writing, part)
            told += _there(lines)
        os.close(writing)
        assert told == b"".join(parts).split(b"\n")[:-1]
        assert lines.next(0.0) is None
    finally:
        os.close(reading)


def _there(lines):
    """All lines that need not be waited for."""
    told = []
    while True:
        try:
            told.append(lines.next(0.0))
        except TimeoutError:
            return told
