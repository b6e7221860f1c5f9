"""Sampled outputs that are stale, of other operands, rounded, moved, or left out."""

from dataclasses import replace

import ml_dtypes
import numpy as np

from battery.fill import filled
from battery.forging import columns, runs, table
from battery.registry import manipulation
from honest import operands_of, outputs_table
from kit.trace import OUTPUTS, Table


@manipulation("GK204", "M11", variants={"guideline": {}})
def zeros(bundle):
    """No product was written: all sampled outputs are zeros."""
    return runs(bundle, columns(OUTPUTS.file, bits_low=lambda v: v * 0, bits_high=lambda v: v * 0))


@manipulation("GK204", "M11")
def of_another_seed(bundle):
    """The outputs are those of operands of another seed."""
    return runs(
        bundle,
        lambda run: replace(
            run,
            tables=run.tables
            | {OUTPUTS.file: filled(bundle, run, seed="0123456789abcdef").tables[OUTPUTS.file]},
        ),
    )


@manipulation("GK204", "M06")
def stale(bundle):
    """All sets show the output of set 0: the other outputs were never written."""

    def first(found):
        size = len(found) // len(np.unique(found["set"]))
        bits = {
            name: np.resize(found[name][:size], len(found)) for name in ("bits_low", "bits_high")
        }
        return Table(found.columns | bits)

    return runs(bundle, table(OUTPUTS.file, first))


@manipulation("GK204", "M20")
def at_other_places(bundle):
    """The samples were taken where another sample seed draws them."""

    def change(run):
        operands = operands_of(bundle.plan, bundle.plan.case(run.document.case))
        drawn = outputs_table(operands, run.document.rotation.sets, "00000000000000ff")
        return replace(run, tables=run.tables | {OUTPUTS.file: drawn})

    return runs(bundle, change)


def _values(change, kind):
    """Bits of the outputs changed as values of their type."""

    def edit(found):
        old = found["bits_low"].astype(np.uint16).view(kind)
        with np.errstate(all="ignore"):  # some are too large for their type, on purpose
            new = change(old.astype(np.float64)).astype(kind).view(np.uint16)
        return Table(found.columns | {"bits_low": new.astype(np.int64)})

    return table(OUTPUTS.file, edit)


@manipulation(
    "GK204",
    "M11",
    variants={
        "negated": {"change": lambda v: -v},
        "x1.05": {"change": lambda v: v * 1.05},
        "half_of_k": {"change": lambda v: v / np.sqrt(2)},
        "plus_one": {"change": lambda v: v + 1},
        "integers": {"change": np.rint},
        "not_a_number": {"change": lambda v: v * np.nan},
        "infinite": {"change": lambda v: v * 1e300},
    },
)
def other_values(bundle, change):
    """The outputs are not what the product gives."""
    return runs(bundle, _values(change, ml_dtypes.bfloat16))


@manipulation("GK204", "M11")
def one_output_wrong(bundle):
    """A single output differs, by a tenth."""

    def one(values):
        values[7] *= 1.1
        return values

    return runs(bundle, _values(one, ml_dtypes.bfloat16))


@manipulation(
    "GK204",
    "M11",
    base="formats",
    variants={
        "fp32": {"case": "square_4096-fp32-nn"},
        "tf32": {"case": "square_4096-tf32-nn"},
    },
)
def computed_in_fewer_bits(bundle, case):
    """float32 outputs carry no more than bfloat16's digits."""
    return runs(bundle, columns(OUTPUTS.file, bits_low=lambda v: v & 0xFFFF0000), case=case)


@manipulation("GK204", "M11", base="formats")
def int8_output_off_by_one(bundle):
    """One exact integer output is off by one."""

    def one(values):
        values[3] ^= 1
        return values

    return runs(bundle, columns(OUTPUTS.file, bits_low=one), case="square_4096-int8-nt")


@manipulation("GK204", "M11", base="formats")
def fp64_computed_in_fp32(bundle):
    """float64 outputs carry no more than float32's digits."""
    return runs(
        bundle, columns(OUTPUTS.file, bits_low=lambda v: v & 0xE0000000), case="square_4096-fp64-nn"
    )


@manipulation("GK204", "M11")
def halves_exchanged(bundle):
    """Upper and lower halves of the bits are exchanged."""
    return runs(
        bundle,
        table(
            OUTPUTS.file,
            lambda t: Table(t.columns | {"bits_low": t["bits_high"], "bits_high": t["bits_low"]}),
        ),
    )


@manipulation("GK204", "M06", variants={"one": {"rows": 1}, "a_set": {"rows": 16}})
def rows_left_out(bundle, rows):
    """Some samples are missing."""
    return runs(bundle, table(OUTPUTS.file, lambda t: t.rows(np.arange(len(t)) < len(t) - rows)))


@manipulation("GK005", "M26")
def left_out(bundle):
    """There are no outputs."""
    return runs(
        bundle,
        lambda run: replace(run, tables={n: t for n, t in run.tables.items() if n != OUTPUTS.file}),
    )


@manipulation("GK204", "M06", base="closed")
def of_another_run(bundle):
    """Every run hands over the first run's samples."""

    def change(run):
        first = bundle.cases[run.document.case].runs[0]
        return replace(run, tables=run.tables | {OUTPUTS.file: first.tables[OUTPUTS.file]})

    return runs(bundle, change)


@manipulation(
    "GK204",
    "M11",
    base="cpu",
    variants={
        "fp32": {"case": "square_256-fp32-nn"},
        "fp64": {"case": "square_256-fp64-nn"},
        "int8": {"case": "square_256-int8-nt"},
    },
)
def transposed(bundle, case):
    """The samples are those of the transposed product."""

    def change(run):
        found = run.tables[OUTPUTS.file]
        order = np.lexsort((found["row"], found["column"], found["set"]))
        bits = {name: found[name][order] for name in ("bits_low", "bits_high")}
        if len(np.unique(found["set"])) == len(found):  # one sample a set: take the neighbour's
            bits = {name: np.roll(found[name], 1) for name in ("bits_low", "bits_high")}
        return replace(run, tables=run.tables | {OUTPUTS.file: Table(found.columns | bits)})

    return runs(bundle, change, case=case)
