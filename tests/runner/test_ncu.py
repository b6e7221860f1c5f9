"""What Nsight Compute prints, and what is refused in it."""

from itertools import pairwise
from pathlib import Path

import pytest

from kit.counters import BYTES, DRAM_READ, MILLIPERCENT
from kit.runner.ncu import NcuError, command, counter_of, find_ncu, parse

DATA = Path(__file__).parents[1] / "data/h200/ncu"
HEAD = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",'
    '"Grid Size","Device","CC"'
)
GEMM = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT"
REDUCE = "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16>(...)"
MEMSET = "memset_kernel"


def log_of(kernels, counter=DRAM_READ, unit="byte", passes=1):
    """A log as the tool writes it: `kernels` are (name, value) in order of launch."""
    lines = ["==PROF== Connected to process 656 (/usr/bin/python3.12)"]
    word = "pass" if passes == 1 else "passes"
    lines += [
        f'==PROF== Profiling "{name}" - {i}: 0%....50%....100% - {passes} {word}'
        for i, (name, _) in enumerate(kernels)
    ]
    lines += ["==PROF== Disconnected from process 656", f'{HEAD},"{counter}"']
    lines.append(",".join(['""'] * 11 + [f'"{unit}"']))
    lines += [
        f'"{i}","656","python3.12","127.0.0.1","{name}","1","14","(384, 1, 1)","(132, 1, 1)","0",'
        f'"9.0","{value}"'
        for i, (name, value) in enumerate(kernels)
    ]
    return "\n".join(lines) + "\n"


# As counted on an H200: bf16 2048^3 over 8 buffer sets.
FOUR = [(GEMM, text) for text in ("16,817,408", "16,782,592", "16,779,264", "16,779,008")]


def test_bytes_of_four_launches():
    found = counter_of(DRAM_READ, parse(log_of(FOUR), DRAM_READ), (0, 1, 2, 3))
    assert found.values == (16_817_408, 16_782_592, 16_779_264, 16_779_008)
    assert (found.unit, found.passes, found.launches_per_value) == (BYTES, 1, 1)
    assert (found.kernels, found.sets, found.samples) == ((GEMM,), (0, 1, 2, 3), 4)


def with_column(text, passes):
    """The log of a version that announces no kernel: 2025.3 on an H200."""
    lines = [line for line in text.splitlines() if "Profiling" not in line]
    head, units, *rows = (n for n, line in enumerate(lines) if line.startswith('"'))
    lines[head] += ',"profiler__replayer_passes"'
    lines[units] += ',"pass"'
    for row, count in zip(rows, passes, strict=True):
        lines[row] += f',"{count}"'
    return "\n".join(lines) + "\n"


def test_replays_are_read_from_their_column_where_no_kernel_is_announced():
    assert parse(with_column(log_of(FOUR), (1, 1, 1, 1)), DRAM_READ).passes == 1
    assert parse(with_column(log_of(FOUR), (1, 1, 9, 1)), DRAM_READ).passes == 9


def test_the_log_of_an_h200_is_read():
    text = (DATA / "raw-2025.3.log").read_text(encoding="utf-8")
    log = parse(text, DRAM_READ)
    assert (log.unit, log.passes, len(log.readings)) == (BYTES, 1, 2)
    assert {entry.kernel for entry in log.readings} == {"gemm_fusion_dot_general_1"}
    # One product three times over the same 8 MiB: all of it is in the cache by then.
    assert [int(entry.value) for entry in log.readings] == [512, 0]


def test_numbers_without_separators_are_numbers_too():
    assert parse(log_of([(GEMM, "16817408")]), DRAM_READ).readings[0].value == 16_817_408


def test_percentages_are_thousandths():
    name = "lts__t_sector_hit_rate.pct"
    log = parse(log_of([(GEMM, "72.31"), (GEMM, "116.0004")], name, "%"), name)
    found = counter_of(name, log, (0, 1))
    assert (found.values, found.unit) == ((72_310, 116_000), MILLIPERCENT)


def test_a_launch_of_several_kernels_is_their_sum_and_a_memset_does_not_count():
    each = [(MEMSET, "64"), (GEMM, "1,000"), (REDUCE, "50")]
    found = counter_of(DRAM_READ, parse(log_of(each * 3), DRAM_READ), (0, 1, 0))
    assert found.values == (1050, 1050, 1050)
    assert found.kernels == (GEMM, REDUCE)


def test_the_percentage_of_a_launch_is_its_products():
    name = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
    log = parse(log_of([(GEMM, "91.5"), (REDUCE, "3.5")] * 2, name, "%", passes=9), name)
    found = counter_of(name, log, (0, 1))
    assert (found.values, found.passes) == ((91_500, 91_500), 9)


@pytest.mark.parametrize(
    ("kernels", "sets", "reason"),
    [
        (FOUR, (0, 1, 2), "4 kernels for 3 launches"),
        ([(MEMSET, "1")], (0,), "0 kernels for 1 launches"),
        ([(GEMM, "1"), ("other", "1")], (0, 1), "not all of the same kernels"),
        ([(GEMM, "1.5")], (0,), "not whole"),
    ],
)
def test_launches_that_do_not_add_up_are_refused(kernels, sets, reason):
    log = parse(log_of(kernels), DRAM_READ)
    with pytest.raises(NcuError, match=reason) as refusal:
        counter_of(DRAM_READ, log, sets)
    assert refusal.value.status == "failed"


def test_bytes_in_another_unit_are_refused():
    with pytest.raises(NcuError, match="bytes are given in Mbyte"):
        counter_of(DRAM_READ, parse(log_of([(GEMM, "16")], unit="Mbyte"), DRAM_READ), (0,))


PERMISSION = (
    "==PROF== Connected to process 656\n==ERROR== ERR_NVGPUCTRPERM - The user does not have "
    "permission to access NVIDIA GPU Performance Counters on the target device 0.\n"
)


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        (PERMISSION, "no_permission", "ERR_NVGPUCTRPERM"),
        (f"==ERROR== Failed to find metric {DRAM_READ}\n", "not_available", "no such counter"),
        ("==ERROR== The application returned an error code (1).\n", "failed", "error code"),
        ("==WARNING== No kernels were profiled.\n", "failed", "no kernel"),
        ("", "failed", "no kernel"),
        (log_of([]), "failed", "no kernel"),
        (log_of(FOUR, counter="dram__bytes_write.sum"), "failed", "no column"),
        (log_of(FOUR).replace(',"9.0","16,782,592"', ',"16,782,592"'), "failed", "cells"),
        (log_of([(GEMM, "n/a")]), "failed", "'n/a' is no number"),
        (log_of([(GEMM, "1,00")]), "failed", "is no number"),
        (log_of([(GEMM, "-1")]), "failed", "is no number"),
        (log_of([(GEMM, "nan")]), "failed", "is no number"),
        (
            log_of(FOUR).replace("==PROF== Profiling", "==PROF== Seeing", 1),
            "failed",
            "replays of 3 of 4",
        ),
    ],
)
def test_a_log_without_values_says_why(text, status, reason):
    with pytest.raises(NcuError, match=reason) as refusal:
        parse(text, DRAM_READ)
    assert refusal.value.status == status


def test_the_command_asks_for_one_counter_and_leaves_cache_and_clocks_alone():
    words = command(Path("/x/ncu"), DRAM_READ, Path("/y/log"), ["python", "-m", "kit"])
    assert words[0] == "/x/ncu"
    assert words[-3:] == ["python", "-m", "kit"]
    options = dict(pairwise(words[1:-3]))
    assert options["--metrics"] == DRAM_READ
    assert options["--cache-control"] == options["--clock-control"] == "none"
    assert options["--profile-from-start"] == "off"


def test_the_search_path_comes_first(tmp_path):
    tool = tmp_path / "ncu"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    assert find_ncu(str(tmp_path)) == tool
