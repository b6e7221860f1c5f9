"""What the operands hold: zeros, other laws, copies, other seeds, invented checksums."""

from dataclasses import replace

import numpy as np

import honest_gpu
from battery.forging import columns, document, runs, table
from battery.registry import manipulation
from bundles import scaled, with_plan
from honest import buffers_table, operands_of, outputs_table
from kit.bundle.reader import Auditor
from kit.fill import Operands, fill_seed
from kit.trace import BINS, BUFFERS, OUTPUTS, Table

BIN_NAMES = tuple(f"bin_{i}" for i in range(BINS))
SMALL = "square_256-fp32-nn"


def filled(bundle, run, **changes):
    """Buffers and outputs of a run as other operands would give them."""
    case = bundle.plan.case(run.document.case)
    operands = replace(operands_of(bundle.plan, case), **changes)
    sets = run.document.rotation.sets
    addresses = run.tables[BUFFERS.file].columns
    buffers = buffers_table(operands, sets)
    placed = {n: addresses[n] for n in ("address_before", "address_after")}
    return replace(
        run,
        tables=run.tables
        | {
            BUFFERS.file: Table(buffers.columns | placed),
            OUTPUTS.file: outputs_table(operands, sets, run.document.sample_seed),
        },
    )


@manipulation("GK201", "M20", base="closed")
def zero_fill_planned(bundle):
    """A fixed-power test of zeros, and the plan says so."""
    bundle = with_plan(bundle, test_type__fill="zero")
    return runs(bundle, lambda run: filled(bundle, run))


@manipulation("GK201", "M09", base="held")
def uniform_fill_at_a_fixed_frequency(bundle):
    """A fixed-frequency test of uniform operands, and the plan says so."""
    bundle = with_plan(bundle, test_type__fill="uniform")
    return runs(bundle, lambda run: filled(bundle, run))


@manipulation("GK203", "M20", variants={"guideline": {}})
def zeros_in_the_buffers(bundle):
    """The buffers held zeros, and the outputs too, under a uniform plan."""
    return runs(bundle, lambda run: filled(bundle, run, fill="zero"))


@manipulation("GK204", "M20")
def zeros_with_invented_buffers(bundle):
    """The operands were zeros: buffers are invented as uniform, the outputs show it."""

    def change(run):
        honest = run.tables[BUFFERS.file]
        return replace(run, tables=filled(bundle, run, fill="zero").tables | {BUFFERS.file: honest})

    return runs(bundle, change)


@manipulation("GK411", "M20", base="closed")
def zeros_measured_and_sold_as_uniform(bundle):
    """A test of zeros gives the times and the telemetry; every content is recomputed as uniform."""
    case = honest_gpu.GUIDELINE
    sizes = {
        "workload": {
            "name": "guideline",
            "m": 4096,
            "n": 4096,
            "k": 4096,
            "batch": 1,
            "layout": "auto",
        },
        "number_format": "bf16",
    }
    kept = honest_gpu.RECORDINGS[case], honest_gpu.plan_of
    plan = replace(
        honest_gpu.plan_of("closed", honest_gpu.FIXED_POWER, (case,), "ncu"),
        cases=honest_gpu.build_cases([sizes]),
    )
    try:
        honest_gpu.RECORDINGS[case] = "zero_4096"
        honest_gpu.plan_of = lambda *_: plan
        return honest_gpu.build("closed", honest_gpu.FIXED_POWER, (case,))
    finally:
        honest_gpu.RECORDINGS[case], honest_gpu.plan_of = kept


def _bins(change):
    """Bins of A and B changed by `change(their counts)`, the sum kept."""

    def edit(found):
        inputs = found["operand"] < 2
        old = np.stack([found[name] for name in BIN_NAMES], axis=1)
        new = np.where(inputs[:, np.newaxis], change(old.astype(float)), old)
        new = np.rint(new).astype(np.int64)
        new[:, 0] += old.sum(axis=1) - new.sum(axis=1)
        return Table(found.columns | {name: new[:, i] for i, name in enumerate(BIN_NAMES)})

    return table(BUFFERS.file, edit)


def _half(counts):
    new = np.zeros_like(counts)
    new[:, BINS // 2 :] = counts.sum(axis=1, keepdims=True) / (BINS // 2)
    return new


def _normal(counts):
    middle = (np.arange(BINS) - (BINS - 1) / 2) / 3
    weights = np.exp(-(middle**2) / 2)
    return counts.sum(axis=1, keepdims=True) * weights / weights.sum()


def _narrow(counts):
    new = np.zeros_like(counts)
    new[:, BINS // 2 - 1 : BINS // 2 + 1] = counts.sum(axis=1, keepdims=True) / 2
    return new


def _skewed(counts):
    return counts * np.linspace(1.01, 0.99, BINS)


@manipulation(
    "GK203",
    "M20",
    variants={
        "positive": {"change": _half},
        "normal": {"change": _normal},
        "narrow": {"change": _narrow},
        "skewed": {"change": _skewed},
    },
)
def another_distribution(bundle, change):
    """The buffers follow another law than the uniform one on [-1, 1]."""
    return runs(bundle, _bins(change))


@manipulation("GK203", "M21", variants={"few": {"share": 0.001}, "many": {"share": 0.2}})
def sparse(bundle, share):
    """Some of the elements are zeros, in the bin where zeros belong."""

    def change(run):
        def edit(found):
            inputs = found["operand"] < 2
            old = np.stack([found[name] for name in BIN_NAMES], axis=1)
            count = old.sum(axis=1)
            new = np.rint(old * (1 - share)).astype(np.int64)
            new[:, BINS // 2] += count - new.sum(axis=1)
            zeros = np.where(inputs, np.rint(count * share).astype(np.int64), found["zeros"])
            return Table(
                found.columns
                | {"zeros": zeros}
                | {
                    name: np.where(inputs, new[:, i], found[name])
                    for i, name in enumerate(BIN_NAMES)
                }
            )

        return table(BUFFERS.file, edit)(run)

    return runs(bundle, change)


@manipulation("GK203", "M21", variants={"A": {"operand": 0}, "B": {"operand": 1}})
def sets_alike(bundle, operand):
    """All sets of an operand hold the same, so that the caches' compression may help."""

    def edit(found):
        mine = found["operand"] == operand
        first = int(np.flatnonzero(mine)[0])
        return Table(
            {
                name: values
                if name in ("operand", "set", "address_before", "address_after")
                else np.where(mine, values[first], values)
                for name, values in found.columns.items()
            }
        )

    return runs(bundle, table(BUFFERS.file, edit))


@manipulation("GK203", "M21")
def one_buffer_of_another_run(bundle):
    """B holds what A holds."""

    def edit(found):
        half = len(found) // 3
        return Table(
            {
                name: values
                if name in ("operand", "set", "address_before", "address_after")
                else np.concatenate([values[:half], values[:half], values[2 * half :]])
                for name, values in found.columns.items()
            }
        )

    return runs(bundle, table(BUFFERS.file, edit))


@manipulation("GK204", "M20", variants={"plan": {"follow": False}, "seeds": {"follow": True}})
def another_seed(bundle, follow):
    """The plan's seed is changed after the fact, with or without the seeds that follow from it."""
    bundle = with_plan(bundle, seed=bundle.plan.seed + 1)
    if not follow:
        return bundle

    def change(run):
        seed = fill_seed(bundle.plan.seed, bundle.plan.submission.challenge, run.document.case)
        return document(fill_seed=seed)(run)

    return runs(bundle, change)


@manipulation(
    "GK202", "M20", variants={"fill": {"name": "fill_seed"}, "sample": {"name": "sample_seed"}}
)
def seed_of_another_case(bundle, name):
    """A run's seed is another one than the plan draws."""
    return runs(bundle, document(**{name: "0123456789abcdef"}))


@manipulation("GK203", "M21", base="cpu")
def checksum_of_a_small_buffer_invented(bundle):
    """A checksum of set 0 is invented, where the operand is small."""
    return runs(
        bundle, columns(BUFFERS.file, checksum=lambda v: np.where(v == v[0], v + 1, v)), case=SMALL
    )


@manipulation("GK203", "M21", base="cpu", auditor=Auditor(deep=True))
def checksums_invented_before_a_deep_check(bundle):
    """Checksums of large operands are invented; the auditor recomputes them all."""
    draw = np.random.default_rng(5)
    return runs(
        bundle,
        columns(
            BUFFERS.file, checksum=lambda v: np.where(v > 0, draw.integers(2**32, size=len(v)), 0)
        ),
        case="square_512-fp32-nn",
        numbers=(1, 2),
    )


@manipulation("GK203", "M21", base="cpu", auditor=Auditor(deep=True))
def buffers_of_another_seed_before_a_deep_check(bundle):
    """Operands of another seed, outputs recomputed; the auditor recomputes the buffers."""

    def change(run):
        case = bundle.plan.case(run.document.case)
        operands = Operands(
            case.workload,
            operands_of(bundle.plan, case).number_format,
            "uniform",
            "0123456789abcdef",
        )
        other = buffers_table(operands, run.document.rotation.sets, exact_up_to=2**18)
        old = run.tables[BUFFERS.file]
        placed = {n: old[n] for n in ("address_before", "address_after")}
        return replace(run, tables=run.tables | {BUFFERS.file: Table(other.columns | placed)})

    return runs(bundle, change, case="square_512-fp32-nn")


@manipulation("GK203", "M20", base="small")
def runs_filled_differently(bundle):
    """The second run's buffers hold other values than the first's."""
    return runs(
        bundle, columns(BUFFERS.file, checksum=lambda v: np.where(v > 0, v ^ 1, v)), numbers=(2,)
    )


@manipulation("GK203", "M20", base="small")
def scales_of_one(bundle):
    """The scales of a scaled format are ones, which spares a multiplication."""
    bundle = scaled()

    def ones(found):
        scales = found["operand"] >= 3
        total = np.stack([found[name] for name in BIN_NAMES], axis=1).sum(axis=1)
        new = {name: np.where(scales, 0, found[name]) for name in BIN_NAMES}
        new[BIN_NAMES[-1]] = np.where(scales, total, found[BIN_NAMES[-1]])
        return Table(found.columns | new)

    return runs(bundle, table(BUFFERS.file, ones))


@manipulation("GK203", "M21")
def buffer_rows_left_out(bundle):
    """One buffer is not accounted for."""
    return runs(bundle, table(BUFFERS.file, lambda t: t.rows(np.arange(len(t)) != 1)))


@manipulation(
    "GK203",
    "M21",
    variants={"int8": {"case": "square_4096-int8-nt"}, "e4m3": {"case": "square_4096-e4m3-nt"}},
    base="formats",
)
def narrow_values_in_a_narrow_type(bundle, case):
    """Values near zero only, whose products need few bits."""
    return runs(bundle, _bins(_narrow), case=case)
