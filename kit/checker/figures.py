"""A case's figures as a person reads them: with units, and `not available` where there is none."""

from collections.abc import Iterator, Sequence

from kit.checker.printable import printable
from kit.checker.verdict import CaseFigures

NOT_AVAILABLE = "not available"
_HEADINGS = (
    "case", "type", "runs", "mean time", "TFLOP/s", "spread", "range", "clock", "power", "of SOL",
    "÷ kernel", "DRAM read",
)  # fmt: skip
_LEFT = 2
"""Columns that are text; the others are figures and stand to the right."""


def figure_table(cases: Sequence[CaseFigures]) -> Iterator[str]:
    """Yield the lines of a table; cases that were not measured follow with their reason."""
    rows = [_HEADINGS, *(_cells(case) for case in cases if not case.problem)]
    if len(rows) > 1:
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            cells = (
                cell.ljust(width) if place < _LEFT else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            yield "  ".join(cells).rstrip()
    for case in cases:
        yield from _beside(case)
    for case in cases:
        if case.problem:
            yield f"not measured: {printable(case.id)}: {printable(case.problem)}"


def _cells(case: CaseFigures) -> tuple[str, ...]:
    return (
        printable(case.id),
        printable(case.number_format),
        str(case.runs),
        duration(case.period_ns),
        _rate(case.flops_per_s),
        _percent(case.spread, 2),
        _percent(case.replicate_range, 2),
        _whole(case.graphics_mhz, 1, "MHz"),
        _whole(case.power_mw, 1000, "W"),
        _percent(case.sol_fraction, 1),
        _ratio(case.period_over_kernel),
        _times(case.dram_read_ratio),
    )


def _beside(case: CaseFigures) -> Iterator[str]:
    """What informs beside the table and judges nothing: one line for each case that has any."""
    parts = []
    if case.sol_fraction_at_maximum_clock is not None:
        parts.append(f"{_percent(case.sol_fraction_at_maximum_clock, 1)} of SOL at maximum clock")
    if case.datasheet_fraction is not None:
        parts.append(f"{_percent(case.datasheet_fraction, 1)} of the data sheet")
    if case.energy_per_gemm_j is not None:
        parts.append(f"{energy(case.energy_per_gemm_j)} a GEMM")
    if case.flops_per_s_per_watt is not None:
        parts.append(f"{_digits(case.flops_per_s_per_watt * 1e-9, 4)} GFLOP/s a watt")
    if parts:
        yield f"{printable(case.id)}: {', '.join(parts)}"


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


def _whole(value: float | None, scale: float, unit: str) -> str:
    return NOT_AVAILABLE if value is None else f"{value / scale:.0f} {unit}"


def _ratio(value: float | None) -> str:
    return NOT_AVAILABLE if value is None else f"{value:.3f}"


def _times(value: float | None) -> str:
    """Bytes read from DRAM in multiples of the operands' own."""
    return NOT_AVAILABLE if value is None else f"{value:.3f} x A+B"


def _percent(value: float | None, decimals: int) -> str:
    return NOT_AVAILABLE if value is None else f"{value * 100:.{decimals}f} %"
