"""Kernel traces: other kernels, fewer, closer together, of another run."""

from dataclasses import replace

import numpy as np

from battery.forging import columns, document, end_fits, kernels, lasting, runs, table
from battery.registry import manipulation
from kit.evidence import no_trace
from kit.trace import KERNELS, WINDOWS, Table


def _trace(**fields):
    return lambda run: replace(run, trace=replace(run.trace, **fields))


def _gemms(run):
    return run.tables[KERNELS.file]["name"] == run.trace.names.index(run.trace.gemm_name)


def _without(run):
    return {name: held for name, held in run.tables.items() if name != KERNELS.file}


@manipulation(
    "GK314",
    "M04",
    base="closed",
    variants={status: {"status": status} for status in ("not_asked", "not_applicable", "failed")},
)
def taken_out_with_a_reason(bundle, status):
    """The trace is handed over as not there, with a reason."""
    return runs(
        bundle,
        lambda run: replace(run, trace=no_trace(status, "CUPTI was busy"), tables=_without(run)),
    )


@manipulation(
    "GK005", "M26", variants={"kernels": {"all_of_it": False}, "both": {"all_of_it": True}}
)
def taken_out_silently(bundle, all_of_it):
    """The trace is gone, or its kernels are."""
    return runs(
        bundle,
        lambda run: replace(run, trace=None if all_of_it else run.trace, tables=_without(run)),
    )


@manipulation(
    "GK315", "M11", base="closed", variants={"x0.9": {"factor": 0.9}, "x1.1": {"factor": 1.1}}
)
def kernels_of_another_speed(bundle, factor):
    """The traced kernels ran at another speed than the windows."""
    return runs(bundle, kernels(factor))


@manipulation("GK315", "M11", variants={"x0.9": {"factor": 0.9}})
def windows_excused_by_the_traces_clock(bundle, factor):
    """Windows faster than the traced kernels, which are told to have run at a lower clock."""

    def change(run):
        lasted = run.tables[WINDOWS.file]["duration_ns"] * factor
        shorter = end_fits(lasting(run, lasted), run)
        shift = shorter.document.timing.end.after_ns - run.document.timing.end.after_ns
        return document(phases__cool_down_start_ns=lambda ns: ns + shift)(shorter)

    return runs(bundle, change, kernels(1.0, factor))


@manipulation("GK314", "M04", variants={"half": {"each": 2}, "third": {"each": 3}})
def kernels_thinned(bundle, each):
    """Some of the traced GEMMs are left out, and the count of launches with them."""

    def change(run):
        order = np.cumsum(_gemms(run))
        keep = ~_gemms(run) | (order % each == 0)
        run = table(KERNELS.file, lambda t: t.rows(keep))(run)
        return _trace(launches=int(_gemms(run).sum()))(run)

    return runs(bundle, change)


@manipulation(
    "GK313", "M17", base="closed", variants={"10us": {"gap": 10_000}, "100us": {"gap": 100_000}}
)
def gaps_between_kernels(bundle, gap):
    """The device waited between kernels."""
    return runs(bundle, columns(KERNELS.file, start_ns=lambda v: v + np.arange(len(v)) * gap))


@manipulation("GK314", "M04", base="closed")
def another_kernel_between(bundle):
    """A kernel of its own stands between the GEMMs, a twentieth of their time."""

    def change(run):
        names = (*run.trace.names, "my_transpose")
        found = run.tables[KERNELS.file]
        gemms = np.flatnonzero(_gemms(run))
        took = int(np.median(found["duration_ns"][gemms]) * 0.05)
        shift = np.cumsum(_gemms(run)) * took
        at = found["start_ns"] + shift
        extra = np.stack(
            [np.full(len(gemms), len(names) - 1), at[gemms] - took, np.full(len(gemms), took)]
        )
        rows = np.concatenate([np.stack([found["name"], at, found["duration_ns"]]), extra], axis=1)
        rows = rows[:, np.argsort(rows[1], kind="stable")]
        new = dict(zip(("name", "start_ns", "duration_ns"), rows, strict=True))
        run = table(KERNELS.file, lambda _: Table(new))(run)
        return _trace(names=names)(run)

    return runs(bundle, change)


@manipulation("GK314", "M04")
def gemm_named_otherwise(bundle):
    """The document names another kernel as the GEMM's than the table shows."""
    return runs(bundle, _trace(gemm_name="another_kernel"))


@manipulation("GK607", "M26")
def kernel_of_another_library(bundle):
    """The traced kernel is one of Triton's, the program one of the library's."""

    def rename(run):
        names = tuple(
            "gemm_fusion_dot_0" if n == run.trace.gemm_name else n for n in run.trace.names
        )
        return _trace(names=names, gemm_name="gemm_fusion_dot_0")(run)

    return runs(bundle, rename)


@manipulation("GK314", "M04", variants={"twice": {"factor": 2.0}, "half": {"factor": 0.5}})
def traced_calls_miscounted(bundle, factor):
    """The trace is told to cover another number of calls."""
    return runs(bundle, lambda run: _trace(calls=round(run.trace.calls * factor))(run))


@manipulation("GK314", "M04")
def launches_miscounted(bundle):
    """The document counts other launches than the table."""
    return runs(bundle, lambda run: _trace(launches=run.trace.launches + 1)(run))


@manipulation("GK314", "M04", base="closed")
def too_few_traced(bundle):
    """Only ten GEMMs were traced."""

    def change(run):
        per_call = run.document.executable.gemms_per_call
        keep = np.cumsum(_gemms(run)) <= 10 * per_call
        run = table(KERNELS.file, lambda t: t.rows(keep))(run)
        return _trace(calls=10, launches=10 * per_call)(run)

    return runs(bundle, change)


@manipulation("GK604", "M26", base="closed")
def copied_between_runs(bundle):
    """Every run hands over the first run's trace."""

    def change(run):
        first = bundle.cases[run.document.case].runs[0]
        tables = run.tables | {KERNELS.file: first.tables[KERNELS.file]}
        return replace(run, trace=first.trace, tables=tables)

    return runs(bundle, change)


@manipulation("GK606", "M26", base="closed")
def another_kernel_in_one_run(bundle):
    """The third run multiplied with another kernel."""

    def rename(run):
        names = tuple("nvjet_other" if n == run.trace.gemm_name else n for n in run.trace.names)
        return _trace(names=names, gemm_name="nvjet_other")(run)

    return runs(bundle, rename, numbers=(3,))


@manipulation("GK005", "M26")
def names_left_out(bundle):
    """Kernels of names that nobody lists."""
    return runs(bundle, lambda run: _trace(names=run.trace.names[:1])(run))


@manipulation("GK319", "M17", variants={"all": {"share": 0.0}})
def gaps_closed(bundle, share):
    """Every kernel begins where the one before it ended, overlapping a little."""

    def change(found):
        ends = np.cumsum(found["duration_ns"])
        starts = np.concatenate([[0], ends[:-1]]) - np.arange(len(found)) * 500
        return Table(found.columns | {"start_ns": np.maximum(0, np.maximum.accumulate(starts))})

    return runs(bundle, table(KERNELS.file, change))
