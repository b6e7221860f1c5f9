from dataclasses import replace

import pytest

from bundles import (
    GUIDELINE,
    PLAIN,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_column,
    with_field,
    with_kernels,
    with_run,
    without_trace,
)
from kit.evidence import no_trace

CODE = "GK005"


def with_metric(column, **changes):
    def change(metrics):
        return tuple(replace(m, **changes) if m.column == column else m for m in metrics)

    return with_field(honest_gpu(), GUIDELINE, 2, "telemetry.metrics", change)


def with_health(file, **changes):
    def change(health):
        return tuple(replace(h, **changes) if h.table == file else h for h in health)

    return with_field(honest_gpu(), GUIDELINE, 2, "telemetry.health", change)


def only(bundle):
    assert outcome(CODE, bundle) == "fail"
    (finding,) = findings(CODE, bundle)
    return f"{finding.place} | {finding.found} | {finding.required}"


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize("file", ["windows.csv", "buffers.csv", "outputs.csv"])
def test_series_that_every_run_has(file):
    def drop(run):
        return replace(run, tables={k: v for k, v in run.tables.items() if k != file})

    text = only(with_run(honest_cpu(), PLAIN, 2, drop, derive=False))
    assert f"cpu-02/{file} | no row" in text


def test_column_gone_without_a_word():
    broken = with_column(honest_gpu(), GUIDELINE, 2, "power.csv", "memory_c", lambda _values: None)
    assert "memory_c of power.csv is ok | the column in the table" in only(broken)


def test_column_absent_with_its_reason():
    broken = with_metric("memory_c", status="not_supported", reason="no sensor")
    honest = with_column(broken, GUIDELINE, 2, "power.csv", "memory_c", lambda _values: None)
    assert outcome(CODE, honest) == "pass"
    assert "memory_c of power.csv is not_supported | ok" in only(broken)


def test_absent_without_a_reason():
    broken = with_metric("cpu_mhz", reason=" ")
    assert "cpu_mhz of host.csv is not_supported without a reason" in only(broken)


def test_column_that_no_metric_names():
    def drop(metrics):
        return tuple(metric for metric in metrics if metric.column != "cpu_mhz")

    broken = with_field(honest_gpu(), GUIDELINE, 2, "telemetry.metrics", drop)
    assert "0 entries for cpu_mhz of host.csv" in only(broken)


def test_metric_twice_and_metric_of_no_column():
    def more(metrics):
        strange = replace(metrics[-1], column="aura")
        return (*metrics, metrics[-1], strange)

    broken = with_field(honest_gpu(), GUIDELINE, 2, "telemetry.metrics", more)
    found = {finding.found for finding in findings(CODE, broken)}
    assert found == {"2 entries for steal_ms of host.csv", "1 entries for aura of host.csv"}


def test_health_counts_the_rows():
    rows = len(honest_gpu().cases[GUIDELINE].runs[1].tables["power.csv"])
    assert f"{rows + 1} bursts kept for power.csv | {rows}" in only(
        with_health("power.csv", bursts=rows + 1)
    )
    accounted = with_health("power.csv", bursts=rows + 3, failed=1, lost=2)
    assert outcome(CODE, accounted) == "pass"


def test_health_missing():
    broken = with_field(honest_gpu(), GUIDELINE, 2, "telemetry.health", lambda old: old[1:])
    assert "0 entries for clocks.csv | one" in only(broken)


def test_the_record_of_the_trace_must_be_there():
    found = only(without_trace(honest_cpu(), PLAIN, 1))
    assert found.endswith("trace.json | missing | the kernel trace, or why there is none")


def test_a_trace_without_kernels():
    bundle = with_kernels(honest_gpu(), GUIDELINE, 2, lambda held: (held[0], None))
    assert only(bundle).endswith("-02/trace.json: status | ok | kernels.csv beside it")


def test_kernels_without_a_trace():
    failed = no_trace("failed", "crashed")
    bundle = with_kernels(honest_gpu(), GUIDELINE, 2, lambda held: (failed, held[1]))
    assert only(bundle).endswith("status | failed | ok, for kernels.csv is there")


def test_no_trace_and_no_reason():
    bundle = without_trace(honest_gpu(), GUIDELINE, 2, no_trace("failed", " "))
    assert only(bundle).endswith("reason | failed without a reason | a reason")


def test_kernels_without_a_name():
    bundle = with_kernels(
        honest_gpu(),
        GUIDELINE,
        2,
        lambda held: (replace(held[0], names=held[0].names[:1]), held[1]),
    )
    assert "names | 1 names | one for every kernel of kernels.csv" in only(bundle)
