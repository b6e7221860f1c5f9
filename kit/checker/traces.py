"""A run's kernel trace, as far as it can be relied on."""

from kit.bundle.layout import TRACE
from kit.checker.rule import Unproven
from kit.checker.runs import MeasuredRun
from kit.evidence import KernelTrace
from kit.kernels import KernelFigures, figures, is_named
from kit.trace import KERNELS


def traced(run: MeasuredRun) -> tuple[KernelTrace, KernelFigures]:
    """The trace's document and what its rows show.

    Raises:
        Unproven: there is none, or its rows cannot be named.
    """
    trace = run.evidence.trace
    if trace is None:
        raise Unproven(f"{TRACE} is missing")
    if trace.status != "ok":
        raise Unproven(f"no kernel trace: {trace.status}: {trace.reason}")
    table = run.table(KERNELS.file)
    if not is_named(trace, table):
        raise Unproven(f"{KERNELS.file} has kernels that {TRACE} does not name")
    return trace, figures(trace.names, table)
