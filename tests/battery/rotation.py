"""Buffers that share memory, do not rotate, or do not outgrow the cache."""

from dataclasses import replace

import numpy as np

from battery.bases import LOOPED, PREFILL
from battery.forging import columns, counts_fit, document, only, runs, table
from battery.registry import manipulation
from bundles import with_environment
from honest import operands_of, outputs_table
from kit.trace import BUFFERS, OUTPUTS, WINDOWS, Table


def fewer_sets(bundle, run, sets):
    """The run with its first sets only: buffers and samples follow."""
    operands = operands_of(bundle.plan, bundle.plan.case(run.document.case))
    buffers = run.tables[BUFFERS.file]
    return replace(
        document(rotation__sets=sets)(run),
        tables=run.tables
        | {
            BUFFERS.file: buffers.rows(buffers["set"] < sets),
            OUTPUTS.file: outputs_table(operands, sets, run.document.sample_seed),
        },
    )


@manipulation("GK307", "M24", base="prefill", variants={"four": {"sets": 4}, "two": {"sets": 2}})
def rotation_too_small(bundle, sets):
    """Fewer sets than twice the cache takes, though the loop still goes round whole sets."""
    return runs(bundle, lambda run: fewer_sets(bundle, run, sets), case=PREFILL)


@manipulation("GK307", "M24")
def one_set(bundle):
    """One buffer set only, as the problem exceeds the cache anyway."""
    return runs(bundle, lambda run: fewer_sets(bundle, run, 1))


@manipulation("GK307", "M24", base="prefill", variants={"half": {"sets": 4, "share": 0.5}})
def cache_told_smaller(bundle, sets, share):
    """The cache is told to be half as large, and half the sets suffice for it."""
    cache = round(62_914_560 * share)
    bundle = with_environment(bundle, device__cache_bytes=cache)
    bundle = runs(bundle, document(rotation__cache_bytes=cache), case=PREFILL)
    return runs(bundle, lambda run: fewer_sets(bundle, run, sets), case=PREFILL)


@manipulation("GK307", "M24")
def cache_of_the_run_differs(bundle):
    """The run reckons with another cache than the environment states."""
    return runs(bundle, document(rotation__cache_bytes=lambda v: v // 2))


@manipulation(
    "GK307",
    "M24",
    variants={
        "input": {"name": "input_bytes_per_set"},
        "output": {"name": "output_bytes_per_set"},
    },
)
def bytes_per_set_misreported(bundle, name):
    """A set is told to hold twice what the case's operands are."""
    return runs(bundle, document(**{f"rotation__{name}": lambda v: 2 * v}))


@manipulation("GK307", "M24")
def more_sets_than_memory(bundle):
    """The device is told to have less memory than the sets need."""
    return with_environment(bundle, device__memory_bytes=10**9)


def _addresses(change, *names):
    def edit(found):
        return Table(found.columns | {name: change(found, found[name].copy()) for name in names})

    return table(BUFFERS.file, edit)


BOTH = ("address_before", "address_after")


def _of_set_zero(operand):
    def change(found, values):
        mine = found["operand"] == operand
        values[mine] = values[mine & (found["set"] == 0)][0]
        return values

    return change


@manipulation(
    "GK306", "M06", variants={"A": {"operand": 0}, "B": {"operand": 1}, "D": {"operand": 2}}
)
def sets_share_memory(bundle, operand):
    """All sets of an operand lie at one address."""
    return runs(bundle, _addresses(_of_set_zero(operand), *BOTH))


@manipulation("GK306", "M06")
def buffers_overlap(bundle):
    """Two buffers overlap by half."""

    def change(found, values):
        order = np.argsort(values)
        values[order[1]] = values[order[0]] + (values[order[1]] - values[order[0]]) // 2
        return values

    return runs(bundle, _addresses(change, *BOTH))


@manipulation("GK306", "M06", variants={"one": {"operand": None}, "D": {"operand": 2}})
def buffers_moved(bundle, operand):
    """Buffers lie elsewhere after the last launch: outputs were not written in place."""

    def change(found, values):
        moved = np.arange(len(found)) == 0 if operand is None else found["operand"] == operand
        return values + np.where(moved, 2**40, 0)

    return runs(bundle, _addresses(change, "address_after"))


@manipulation("GK308", "M25")
def launch_numbers_gap(bundle):
    """Launches between two windows are not told."""
    return runs(
        bundle, columns(WINDOWS.file, first_launch=lambda v: v + (np.arange(len(v)) > 100) * 50)
    )


@manipulation("GK308", "M25", base="formats")
def calls_not_whole(bundle):
    """A window ends within a call of the device loop."""

    def odd(values):
        values[[60, 61]] += [7, -7]
        return values

    return runs(bundle, columns(WINDOWS.file, launches=odd), counts_fit, case=LOOPED)


@manipulation(
    "GK308",
    "M25",
    base="formats",
    variants={
        "67": {"gemms": 67},
        "1": {"gemms": 1},
    },
)
def loop_not_round_the_sets(bundle, gemms):
    """A device loop of a number of GEMMs that is no multiple of the sets."""
    return runs(bundle, document(executable__gemms_per_call=gemms), case=LOOPED)


@manipulation("GK308", "M25", base="closed")
def unrolled_call_not_a_divisor(bundle):
    """An unrolled call of more GEMMs than there are sets."""
    return runs(bundle, document(executable__gemms_per_call=4), case="decode-bf16-nn")


@manipulation("GK203", "M06")
def more_sets_told_than_filled(bundle):
    """Four sets are told, two are there."""
    return runs(bundle, document(rotation__sets=4))


@manipulation("GK306", "M06")
def addresses_beyond_the_device(bundle):
    """Buffers lie where the device has no memory: further apart than it has bytes."""
    far = only(bundle).tables[BUFFERS.file]["set"] * 10**13
    return runs(bundle, _addresses(lambda found, values: values + far, *BOTH))
