"""Honest bundles, built: a recorded H200 and a small CPU host. `bundles` is what tests use."""

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np

from honest_counters import device_counters
from kit.bundle import layout
from kit.bundle.reader import Bundle, CaseEvidence, Container, RunEvidence
from kit.checker.recomputed import recompute
from kit.distribution import statistics, uniform_shares
from kit.evidence import (
    CaseRecord,
    Journal,
    JournalEntry,
    Limits,
    Metric,
    Results,
    Rotation,
    RunOutcome,
)
from kit.fill import Operands, fill_seed
from kit.number_format import number_format
from kit.numerics import output_bits, sample_grid
from kit.rotation import input_bytes, output_bytes, sets_required
from kit.runner.description import describe
from kit.surfaces import byte_size, surfaces
from kit.surfaces import elements as surface_elements
from kit.trace import BINS, BUFFERS, OUTPUTS, PROFILING, WARM_UP, WINDOWS, Table

EXACT_ELEMENTS = 2**16
ALIGNMENT = 256
BUNDLE_STARTED = "2026-11-29T09:00:00Z"


def rotation_of(case, cache_bytes):
    row = number_format(case.number_format)
    per_set = input_bytes(case.workload, row)
    return Rotation(
        sets_required(per_set, cache_bytes), cache_bytes, per_set, output_bytes(case.workload, row)
    )


def operands_of(plan, case):
    seed = fill_seed(plan.seed, plan.submission.challenge, case.id)
    return Operands(case.workload, number_format(case.number_format), plan.test_type.fill, seed)


def buffers_table(operands, sets, *, exact_up_to=EXACT_ELEMENTS):
    """Statistics of all buffers: exact up to a size, above it drawn as the fill would give them."""
    workload, row = operands.workload, operands.number_format
    sizes = {name: byte_size(workload, row, name) for name in surfaces(row)}
    draw = np.random.default_rng(int(operands.seed, 16))
    rows, address = [], 0
    for number, operand in enumerate(surfaces(row)):
        for buffer_set in range(sets):
            contents = [0] * (2 + BINS)
            if operand != "d":
                contents = _contents(operands, operand, buffer_set, exact_up_to, draw)
            rows.append([number, buffer_set, address, address, *contents])
            address += -(-sizes[operand] // ALIGNMENT) * ALIGNMENT
    return _table(BUFFERS, rows)


def _contents(operands, operand, buffer_set, exact_up_to, draw):
    row = operands.number_format
    elements = surface_elements(operands.workload, row, operand)
    if elements <= exact_up_to:
        values = operands.elements(operand, buffer_set, np.arange(elements, dtype=np.uint64))
        found = statistics(values)
        return [found.zeros, found.checksum, *found.bins]
    if operands.fill == "zero":
        return [elements, 0, *(elements if i == BINS // 2 else 0 for i in range(BINS))]
    shares = uniform_shares(row, operand)
    zeros = draw.binomial(elements, shares.zero)
    return [zeros, draw.integers(2**32), *draw.multinomial(elements, shares.bins)]


def outputs_table(operands, sets, seed):
    """Every sampled output, correctly rounded from the float64 product."""
    rows = []
    for buffer_set in range(sets):
        grid = sample_grid(seed, operands.workload, sets, buffer_set)
        place = operands.keys(np.array([buffer_set])), np.array([grid.batch])
        left, right = (
            operands.vectors([name], *place, np.array([[indices]]))[0, 0]
            for name, indices in (("a", grid.rows), ("b", grid.columns))
        )
        product = (left @ right.T).astype(operands.number_format.output)
        for (i, j), bits in np.ndenumerate(output_bits(product)):
            place = [buffer_set, grid.batch, grid.rows[i], grid.columns[j]]
            rows.append([*place, int(bits) >> 32, int(bits) & 0xFFFFFFFF])
    return _table(OUTPUTS, rows)


def windows_table(start_ns, warm_up, profiling, *, run_ahead, first_enqueue_ns):
    """Windows from (launches, ns) pairs; the host runs `run_ahead` launches before the device."""
    launches = np.array([n for n, _ in (*warm_up, *profiling)], np.int64)
    durations = np.array([ns for _, ns in (*warm_up, *profiling)], np.int64)
    edges = start_ns + np.concatenate([[0], np.cumsum(durations)])
    period = durations.sum() / launches.sum()
    starts = np.maximum(edges[:-1] - int((run_ahead - 1) * period), first_enqueue_ns)
    ends = np.maximum(edges[1:] - int(run_ahead * period), starts)
    phases = [WARM_UP] * len(warm_up) + [PROFILING] * len(profiling)
    firsts = np.concatenate([[0], np.cumsum(launches)[:-1]])
    rows = np.column_stack([phases, firsts, launches, durations, starts, ends])
    return _table(WINDOWS, rows)


def split(launches, total_ns, size, rng):
    """Windows of `size` launches that last exactly `total_ns` together, 0.1 % apart."""
    counts = [size] * (launches // size) + ([launches % size] if launches % size else [])
    weights = np.array(counts) * rng.normal(1.0, 0.001, len(counts))
    edges = np.rint(np.cumsum(weights) / weights.sum() * total_ns).astype(np.int64)
    return tuple(zip(counts, np.diff(edges, prepend=0).tolist(), strict=True))


def utc(started_ns):
    """The date at which a run started that began so long after the bundle."""
    at = datetime.fromisoformat(BUNDLE_STARTED) + timedelta(seconds=started_ns // 1_000_000_000)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def absent(contracts, source, reason):
    """Metrics of all optional columns of tables that a source does not read."""
    return tuple(
        Metric(contract.file, column.name, "not_supported", reason, source, "")
        for contract in contracts
        for column in contract.columns
        if column.optional
    )


def no_limits(reason):
    names = ("power_enforced_mw", "power_default_mw", "power_minimum_mw", "power_maximum_mw",
             "other_processes", "ecc_errors")  # fmt: skip
    return Limits(*([None] * len(names)), missing=dict.fromkeys(names, reason))


def assemble(name, plan, environment, runs, hlo, autotune=()):
    """A bundle of `runs` (RunEvidence by case id), with journal, outcomes and derived claims."""
    entries, outcomes, t_ns = [("bundle_started", 0, None, None, None, None)], {}, 0
    for case in plan.cases:
        for run in runs[case.id]:
            who = (case.id, run.document.device, run.document.number)
            t_ns = run.document.ended_ns + 5_000_000
            entries.append(("run_started", run.document.started_ns - 5_000_000, *who, None))
            entries.append(("run_ended", t_ns, *who, "measured"))
        outcomes[case.id] = tuple(
            RunOutcome(run.document.device, run.document.number, "measured", "")
            for run in runs[case.id]
        )
    entries.append(("bundle_ended", t_ns + 50_000_000, None, None, None, None))
    journal = Journal(
        BUNDLE_STARTED,
        tuple(
            JournalEntry(i, at, event, case, device, run, status, None)
            for i, (event, at, case, device, run, status) in enumerate(entries)
        ),
        (),
    )
    cases = {
        case.id: CaseEvidence(
            layout.case_folder(case.id),
            CaseRecord(case.id, outcomes[case.id]),
            dict([hlo[case.id]]),
            dict(autotune),
            tuple(runs[case.id]),
            {
                device: device_counters(plan, case, device, runs[case.id][0].document.rotation)
                for device in {run.document.device for run in runs[case.id]}
            },
        )
        for case in plan.cases
    }
    bundle = Bundle(
        container=Container(name, hashlib.sha256(name.encode()).hexdigest(), {}, ()),
        plan=plan,
        system=describe(plan, environment),
        environment=environment,
        journal=journal,
        claims=Results(plan.edition, ()),
        cases=cases,
        unknown_files=(),
    )
    return rederived(bundle)


def evidence(document, tables, trace):
    folder = layout.run_folder(document.case, document.device, document.number)
    return RunEvidence(folder, document, tables, trace)


def rederived(bundle):
    """The bundle with the claims that follow from its series."""
    claims = tuple(case.metrics for case in recompute(bundle))
    return replace(bundle, claims=Results(bundle.plan.edition, claims))


def hlo_file(text):
    return layout.hlo_name(text), text


def _table(contract, rows):
    columns = np.array(rows, np.int64).T
    names = [column.name for column in contract.columns]
    return Table(dict(zip(names, columns, strict=True)))
