"""A case's figures as a person reads them: with units, in 80 columns, `-` where there is none.

Each case takes a line of its own for its name, then one under the table's headings, then what
stands beside the table and judges nothing. A line never begins with foreign text.
"""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from kit.checker.printable import printable
from kit.checker.verdict import CaseFigures
from kit.number_format import number_format

NOT_AVAILABLE = "-"
_COLUMNS = {
    "mean time": 9, "TFLOP/s": 8, "of SOL": 7, "spread": 7, "range": 7, "MHz": 5, "W": 5,
    "÷ kernel": 8, "DRAM": 5,
}  # fmt: skip
"""Headings and widths; with two blanks between, 77 columns."""
_INDENT = "  "
_WIDTH = 78
"""What a table may take: a verdict's text is indented by two."""


def figure_table(cases: Sequence[CaseFigures]) -> Iterator[str]:
    """Yield the lines of a table; cases that were not measured follow with their reason."""
    measured = [case for case in cases if not case.problem]
    if measured:
        yield _row(_COLUMNS)
    for case in measured:
        runs = "1 run" if case.runs == 1 else f"{case.runs} runs"
        kind = f"{printable(case.number_format)}, {_execution(case)}, {runs}"
        yield f"case {printable(case.id)}: {kind}"
        yield _row(_cells(case))
        yield from wrap(_beside(case), _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
    if measured and any(case.dram_read_ratio is not None for case in measured):
        yield "DRAM: bytes read from it over those of A and B"
    for case in cases:
        if case.problem:
            yield f"not measured: {printable(case.id)}: {printable(case.problem)}"


def _row(cells: Sequence[str] | dict[str, int]) -> str:
    widths = _COLUMNS.values()
    return "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _cells(case: CaseFigures) -> tuple[str, ...]:
    return (
        duration(case.period_ns),
        _rate(case.flops_per_s),
        _percent(case.sol_fraction, 1),
        _percent(case.spread, 2),
        _percent(case.replicate_range, 2),
        _whole(case.graphics_mhz, 1),
        _whole(case.power_mw, 1000),
        _ratio(case.period_over_kernel),
        _ratio(case.dram_read_ratio),
    )


def _execution(case: CaseFigures) -> str:
    """`native`; else what it was emulated in, or that other work is timed with it."""
    if case.executed is None or case.native:
        return "native" if case.native else "executed unknown"
    if case.executed == number_format(case.number_format).arithmetic:
        return "not native (other work)"
    if case.executed == "unknown":
        return "executed unknown"
    return f"emulated ({printable(case.executed)})"


def _beside(case: CaseFigures) -> str:
    """What informs beside the table and judges nothing."""
    parts = []
    if case.sol_fraction_at_maximum_clock is not None:
        parts.append(f"{_percent(case.sol_fraction_at_maximum_clock, 1)} of SOL at maximum clock")
    if case.datasheet_fraction is not None:
        parts.append(f"{_percent(case.datasheet_fraction, 1)} of the data sheet")
    if case.energy_per_gemm_j is not None:
        parts.append(f"{energy(case.energy_per_gemm_j)} a GEMM")
    if case.flops_per_s_per_watt is not None:
        parts.append(f"{_digits(case.flops_per_s_per_watt * 1e-9, 4)} GFLOP/s a watt")
    return ", ".join(parts)


def energy(joules: float) -> str:
    """Return an energy in the unit that suits it, with four digits."""
    scale, unit = next(
        (entry for entry in ((1.0, "J"), (1e-3, "mJ")) if joules >= entry[0]), (1e-6, "µJ")
    )
    return f"{_digits(joules / scale, 4)} {unit}"


def duration(ns: float | None) -> str:
    """Return a time in the unit that suits it, with five digits."""
    if ns is None:
        return NOT_AVAILABLE
    scale, unit = next(
        (entry for entry in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")) if ns >= entry[0]), (1.0, "ns")
    )
    return f"{_digits(ns / scale, 5)} {unit}"


def _digits(value: float, digits: int) -> str:
    """Return `value` with `digits` significant digits, or with all that stand before the point."""
    if abs(value) < 1:
        return f"{value:.{digits}g}"
    return f"{value:.{max(0, digits - len(str(int(abs(value)))))}f}"


def _rate(flops_per_s: float | None) -> str:
    return NOT_AVAILABLE if flops_per_s is None else _digits(flops_per_s * 1e-12, 4)


def _whole(value: float | None, scale: float) -> str:
    return NOT_AVAILABLE if value is None else f"{value / scale:.0f}"


def _ratio(value: float | None) -> str:
    return NOT_AVAILABLE if value is None else f"{value:.3f}"


def _percent(value: float | None, decimals: int) -> str:
    return NOT_AVAILABLE if value is None else f"{value * 100:.{decimals}f} %"
