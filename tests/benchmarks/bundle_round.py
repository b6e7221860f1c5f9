"""A round of bundles to check: variants of the committed ones, each of them compliant.

Every bundle has its own submitter, system, device and seed, outputs that are the products of that
seed, buffer statistics that follow its law, its own window times, readings and kernel starts,
claims derived from them, and a seal.
"""

import json
import os
import re
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from edits import reseal
from honest import EXACT_ELEMENTS, buffers_table, operands_of, rederived
from kit.bundle import layout
from kit.bundle.documents import format_document
from kit.bundle.manifest import BagInfo, format_bag_info, parse_bag_info, sha256
from kit.bundle.reader import parse, read_container
from kit.bundle.tables import dump
from kit.distribution import buffer_statistics
from kit.fill import fill_seed, sample_seed
from kit.numerics import compare, output_bits, sample_grid, sample_of
from kit.surfaces import SURFACES, elements, inputs
from kit.trace import (
    BUFFERS,
    CLOCKS,
    KERNELS,
    OUTPUTS,
    POWER,
    TABLES,
    TELEMETRY_TABLES,
    WINDOWS,
    Table,
)

ROOT = Path(__file__).resolve().parents[2]
BASES = {
    "open/gemm-kit/h200-sxm/2026-11-30-formats": 0.06,
    "open/gemm-kit/two-core-cpu/2026-11-29-quick": 0.62,
    "closed/gemm-kit/h200-sxm/2026-11-30-guideline": 0.20,
    "closed/gemm-kit/h200-sxm/2026-11-30-decode": 0.06,
    "closed/gemm-kit/h200-sxm/2026-11-30-prefill": 0.06,
}
"""Which committed bundles the round is made of, and their shares: about 1.1 MB a bundle."""
CLOCK_STEP_MHZ = 15
STEPS, CHANCES = (-2, -1, 0, 1, 2), (0.06, 0.28, 0.32, 0.28, 0.06)
"""So many that no two bundles share a stretch of a series (GK702), yet clocks stay settled."""
LONG_LEVEL = 10
"""Readings of one clock level after which it is no jitter: idle, or held at its maximum."""


@cache
def base(name):
    """The files of one committed bundle."""
    return read_container(ROOT / "submissions" / name)


def _on_another_device(container, number):
    """The same files with another GPU's id, in names and documents, if it is a GPU's bundle."""
    found = re.search(r"gpu-([0-9a-f]{12})", " ".join(container.files))
    if found is None:
        return container
    old, new = found[1], sha256(f"device {number}".encode())[:12]
    files = {
        path.replace(old, new): data.replace(old.encode(), new.encode())
        for path, data in container.files.items()
    }
    return replace(container, files=files)


def _with_own_programs(container, number):
    """The same files with other names for the programs' modules, and so for their files."""
    files = dict(container.files)
    for path in container.files:
        if path.endswith(".hlo.txt"):
            folder, _, old = path.rpartition("/")
            text = files.pop(path).replace(b"HloModule ", f"HloModule n{number:04d}_".encode(), 1)
            new = layout.hlo_name(text.decode())
            for other, document in files.items():
                if other.startswith(folder) and other.endswith(".json"):
                    files[other] = document.replace(old.encode(), new.encode())
            files[f"{folder}/{new}"] = text
    return replace(container, files=files)


def variant(name, number, *, shared_programs):
    """Bundle `number` of the round, derived from the committed one `name`."""
    container = _on_another_device(base(name), number)
    bundle = parse(container if shared_programs else _with_own_programs(container, number))
    submitter, system = f"vendor-{number % 97:02d}", f"system-{number:04d}"
    submission = replace(bundle.plan.submission, submitter=submitter, system_id=system)
    overrides = tuple(
        f"submission.submitter={submitter}" if entry.startswith("submission.submitter=")
        else f"submission.system_id={system}" if entry.startswith("submission.system_id=")
        else entry
        for entry in bundle.plan.overrides
    )  # fmt: skip
    plan = replace(
        bundle.plan, submission=submission, seed=bundle.plan.seed + number + 1, overrides=overrides
    )
    cases = {
        case.id: replace(
            bundle.cases[case.id],
            runs=tuple(_run(plan, case, run, number) for run in bundle.cases[case.id].runs),
        )
        for case in plan.cases
    }
    described = replace(bundle.system, submitter=submitter)
    return rederived(replace(bundle, plan=plan, cases=cases, system=described))


def _run(plan, case, run, number):
    document, challenge = run.document, plan.submission.challenge
    device = document.device
    drawn = sample_seed(plan.seed, challenge, case.id, device, document.number)
    document = replace(
        document, fill_seed=fill_seed(plan.seed, challenge, case.id), sample_seed=drawn
    )
    operands, sets = operands_of(plan, case), document.rotation.sets
    draw = np.random.default_rng([number, document.number, int(drawn, 16)])
    tables = {file: _varied(file, table, draw) for file, table in run.tables.items()}
    places = run.tables[BUFFERS.file]
    kept = {name: places[name] for name in ("address_before", "address_after")}
    tables[BUFFERS.file] = Table(_contents(operands, sets) | kept)
    tables[OUTPUTS.file] = _outputs(operands, sets, drawn)
    return replace(run, document=document, tables=tables)


def _outputs(operands, sets, seed):
    """Every sampled output, rounded from the product that the checker itself recomputes."""
    places = np.array([
        (number, grid.batch, row, column, 0, 0)
        for number in range(sets)
        for grid in (sample_grid(seed, operands.workload, sets, number),)
        for row in grid.rows
        for column in grid.columns
    ])  # fmt: skip
    columns = dict(zip([column.name for column in OUTPUTS.columns], places.T, strict=True))
    exact = compare(sample_of(operands, sets, seed), Table(columns)).reference
    bits = output_bits(exact.astype(operands.number_format.output)).astype(np.int64)
    return Table(columns | {"bits_high": bits >> 32 & 0xFFFFFFFF, "bits_low": bits & 0xFFFFFFFF})


@lru_cache(1)
def _contents(operands, sets):
    """Columns of `buffers.csv`: exact where the checker recomputes, else drawn from the law."""
    columns = dict(buffers_table(operands, sets, exact_up_to=0).columns)
    workload, row = operands.workload, operands.number_format
    for surface in inputs(row):
        if elements(workload, row, surface) <= EXACT_ELEMENTS:
            exact = buffer_statistics(operands, surface, 0)
            first = SURFACES.index(surface) * sets
            columns["zeros"][first], columns["checksum"][first] = exact.zeros, exact.checksum
            for number, count in enumerate(exact.bins):
                columns[f"bin_{number}"][first] = count
    return columns


def _varied(file, table, draw):
    """Other nanoseconds and milliwatts, which leave every sum and order as they were."""
    columns = dict(table.columns)
    if file == WINDOWS.file:
        durations = columns["duration_ns"].copy()
        pairs = len(durations) // 2
        shift = draw.integers(-9, 10, pairs)
        durations[0 : 2 * pairs : 2] += shift
        durations[1 : 2 * pairs : 2] -= shift
        columns["duration_ns"] = durations
    elif file in {contract.file for contract in TELEMETRY_TABLES}:
        columns["burst_ns"] = columns["burst_ns"] + draw.integers(0, 99, len(table))
        if file == POWER.file:
            # A register that is read again still holds what it held.
            for name in ("power_instant_mw", "power_average_mw"):
                values, place = np.unique(columns[name], return_inverse=True)
                columns[name] = (values + draw.integers(-9, 10, len(values)))[place]
        elif file == CLOCKS.file:
            shift_mhz = _clock_steps(columns["graphics_mhz"], draw)
            for name in ("graphics_mhz", "sm_mhz"):
                columns[name] = columns[name] + shift_mhz
    elif file == KERNELS.file:
        # A kernel that begins some nanoseconds later ends no later: none overlaps the next.
        late = np.minimum(draw.integers(0, 16, len(table)), columns["duration_ns"] - 1)
        columns["start_ns"] = columns["start_ns"] + late
        columns["duration_ns"] = columns["duration_ns"] - late
    return Table(columns)


def _clock_steps(clock_mhz, draw):
    """One step of the clock up, down or none, seldom two, for each level that it held shortly."""
    starts = np.flatnonzero(np.diff(clock_mhz, prepend=-1) != 0)
    lengths = np.diff(starts, append=len(clock_mhz))
    steps = CLOCK_STEP_MHZ * draw.choice(STEPS, len(starts), p=CHANCES)
    steps[(lengths >= LONG_LEVEL) | (clock_mhz[starts] + steps > clock_mhz.max())] = 0
    return np.repeat(steps, lengths)


def store(folder, name, number, shared_programs):
    """Write and seal one bundle of the round, without waiting for the disk."""
    new = variant(name, number, shared_programs=shared_programs)
    entry = new.plan.submission
    path = folder / entry.division / entry.submitter / entry.system_id / f"bundle-{number:04d}"
    files = new.container.files.copy()
    files.pop(layout.SIGNATURE, None)
    files |= {
        layout.PLAN: format_document(new.plan, layout.PLAN),
        layout.SYSTEM: format_document(new.system, layout.SYSTEM),
        layout.RESULTS: format_document(new.claims, layout.RESULTS),
    }
    for case in new.cases.values():
        for run in case.runs:
            document = f"{run.path}/run.json"
            files[document] = format_document(run.document, document)
            for file, table in run.tables.items():
                files[f"{run.path}/{file}"] = dump(TABLES[file], table.columns)
    info = parse_bag_info(files["bag-info.txt"])
    named = BagInfo(info.agent, info.bagging_date, path.name, info.octets, info.files)
    files["bag-info.txt"] = format_bag_info(named)
    for entry, data in files.items():
        (path / entry).parent.mkdir(parents=True, exist_ok=True)
        (path / entry).write_bytes(data)
    reseal(path)
    return sum(map(len, files.values()))


def _store(job):
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    return store(*job)


def make_round(folder, bundles, *, shared_programs):
    """Write the round below `folder`, unless it is there."""
    programs = "shared" if shared_programs else "own"
    mark = folder.parent / f"{folder.name}.{bundles}.{programs}.json"
    if mark.exists():
        return json.loads(mark.read_bytes())
    names, shares = list(BASES), np.array(list(BASES.values()))
    order = np.random.default_rng(1).choice(len(names), bundles, p=shares / shares.sum())
    jobs = [
        (folder, names[which], number, shared_programs)
        for number, which in enumerate(order.tolist())
    ]
    with ProcessPoolExecutor() as pool:
        octets = sum(pool.map(_store, jobs, chunksize=8))
    kinds = Counter(names[which].rpartition("/")[2] for which in order.tolist())
    facts = {"bundles": bundles, "bytes": octets, "of": dict(kinds), "programs": programs}
    mark.write_text(json.dumps(facts))
    return facts
