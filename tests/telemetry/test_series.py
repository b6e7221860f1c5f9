import subprocess
import sys

import numpy as np
import pytest

from kit.errors import MeasurementError
from kit.telemetry.sampler.series import SeriesReader, SeriesWriter, series_path

WRITE = """
import sys
from pathlib import Path
from kit.telemetry.sampler.series import SeriesWriter
series = SeriesWriter(Path(sys.argv[1]), 3, 60000)
print("ready", flush=True)
for turn in range(50000):
    series.append([turn, 2 * turn, 3 * turn])
"""


def test_a_reader_sees_whole_rows_while_another_process_writes(tmp_path):
    path = series_path(tmp_path, "clocks.csv")
    writer = subprocess.Popen([sys.executable, "-c", WRITE, path], stdout=subprocess.PIPE)
    assert writer.stdout.readline() == b"ready\n"
    reader = SeriesReader(path, ("a", "b", "c"))
    seen = []
    while writer.poll() is None or not seen:
        table = reader.table()
        assert np.array_equal(table["a"], np.arange(len(table)))
        assert np.array_equal(table["b"], 2 * table["a"])
        assert np.array_equal(table["c"], 3 * table["a"])
        seen.append(len(table))
    writer.stdout.close()
    assert writer.returncode == 0
    assert any(0 < count < 50_000 for count in seen)
    assert len(reader.table()) == reader.counters().bursts == 50_000


def test_rows_beyond_the_capacity_are_counted_as_lost(tmp_path):
    path = tmp_path / "series"
    series = SeriesWriter(path, 2, 3)
    for turn in range(5):
        series.append([turn, turn])
    series.fail()
    series.overrun(4)
    reader = SeriesReader(path, ("a", "b"))
    counters = reader.counters()
    assert (counters.rows, counters.bursts, counters.failed) == (3, 6, 1)
    assert (counters.lost, counters.overruns) == (2, 4)
    assert reader.table()["a"].tolist() == [0, 1, 2]


def test_a_series_that_does_not_fit_the_disk_is_refused_before_the_run(tmp_path):
    with pytest.raises(MeasurementError, match="no room for a telemetry series of"):
        SeriesWriter(tmp_path / "series", 1, 2**56)
