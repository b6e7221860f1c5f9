"""A round of a thousand bundles through `gemm-kit check`: wall time, memory, and where it goes.

    PYTHONPATH=.:tests python tests/benchmarks/check_round.py [--bundles N] [--round FOLDER]

The round is made of the committed bundles (`bundle_round.py`), so that it weighs what real ones
weigh; `FOLDER` keeps it for the next time. Beside the wall time, which depends on what else runs
here, stands the processor time. What is not compliant is named and ends with 1.

Every bundle has programs of its own too: those of the committed ones under another name, so that no
worker knows a program from the bundle before. With `--shared-programs` they are the committed ones,
as in a round of one kit on one kind of GPU, and a worker reads each once (`kit.hlo.text`).

What bounds it, in processor time, each the least of many repeats: SHA-256 of a round takes 0.6 s
(1.8 GB/s); its 1.8 billion draws of operands, which GK203 and GK204 may not do without, 14 s (7.7
ns each: 115 passes of NumPy over arrays in the second-level cache); its CSV 3 s (3 ns a byte).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from bundle_round import BASES, ROOT, make_round

from kit.bundle.manifest import sha256
from kit.bundle.reader import parse, read_container
from kit.checker.catalogue import all_rules
from kit.checker.headline import headline
from kit.checker.judge import judge, run_rule
from kit.checker.process import WORKER_ENVIRONMENT
from kit.hlo.text import forget
from kit.records import to_json
from kit.ruleset import ruleset

TARGET_S, TARGET_MB, TARGET_ONE_S, TARGET_HELP_S = 10.0, 200.0, 0.4, 0.15
PROFILED = 30
"""Bundles that are judged once more in this process, for the split into phases."""
SHOWN_SHARE = 0.005
_POLL_S = 0.02
_CHILDREN = ("children_user", "children_system")


def check(path, *options):
    """Run the command; returns exit code, output, wall and processor seconds, and peak memories."""
    command = [sys.executable, "-m", "kit", "check", str(path), *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    peaks = {}
    with tempfile.TemporaryFile() as output:
        before, start = os.times(), time.perf_counter()
        process = subprocess.Popen(command, stdout=output, env=environment)
        while process.poll() is None:
            _watch(process.pid, peaks)
            time.sleep(_POLL_S)
        wall_s, after = time.perf_counter() - start, os.times()
        output.seek(0)
        text = output.read()
    spent_s = sum(getattr(after, name) - getattr(before, name) for name in _CHILDREN)
    return process.returncode, text, (wall_s, spent_s), peaks


def _watch(parent, peaks):
    """Note the most memory that each child of `parent`, and itself, has held so far (Linux)."""
    children = []
    for task in Path(f"/proc/{parent}/task").glob("*/children"):
        try:
            children += task.read_text().split()
        except OSError:
            continue
    for pid in (str(parent), *children):
        try:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith("VmHWM:"):
                peaks[pid] = max(peaks.get(pid, 0), int(line.split()[1]) * 1024)


def seconds(command, repeats=5):
    """Least wall time of a command, in seconds: what it takes when nothing is in its way."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=False)
        found.append(time.perf_counter() - start)
    return min(found)


def phases(folder):
    """Mean milliseconds of processor time of each phase, in a process set up as a worker is."""
    environment = {**os.environ, **WORKER_ENVIRONMENT}
    command = [sys.executable, __file__, "--phases", str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
    return json.loads(done.stdout)


def split(folder):
    """Judge some bundles of the round in this process; each phase's mean milliseconds."""
    paths = sorted(path.parent for path in folder.rglob("bagit.txt"))
    paths = paths[:: max(1, len(paths) // PROFILED)]
    judge(paths[0])  # imports and caches that the first bundle pays for all
    spent = Counter()
    for path in paths:
        with timed(spent, "read and hash"):
            container = read_container(path)
        with timed(spent, "  of it SHA-256"):
            for data in container.files.values():
                sha256(data)
        with timed(spent, "parse"):
            bundle = parse(container)
        thresholds = ruleset(bundle.plan.edition)
        for rule in all_rules():
            with timed(spent, f"rule {rule.code}"):
                run_rule(rule, bundle, thresholds)
        with timed(spent, "headline"):
            headline(bundle)
        verdict = judge(path)
        with timed(spent, "verdict to JSON"):
            json.dumps(to_json(verdict))
        forget()
    return {name: 1e3 * total / len(paths) for name, total in spent.items()}


@contextmanager
def timed(spent, name):
    """Add the processor time of a block to `spent[name]`."""
    start = time.process_time()
    yield
    spent[name] += time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bundles", type=int, default=1000)
    parser.add_argument("--round", type=Path, help="where the round is, or is to be, kept")
    parser.add_argument(
        "--shared-programs", action="store_true", help="those of the committed bundles"
    )
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--phases", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.phases:
        print(json.dumps(split(options.phases)))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.round or Path(scratch) / "round").resolve()
        facts = make_round(folder, options.bundles, shared_programs=options.shared_programs)
        figures = measure(folder, facts)
    show(figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0 if figures["not_compliant"] == [] and figures["judged"] == facts["bundles"] else 1


def measure(folder, facts):
    """All figures of one round."""
    status, text, (wall_s, spent_s), peaks = check(folder, "--format", "json")
    report = json.loads(text)
    bad = [entry for entry in report["bundles"] if entry["verdict"] != "compliant"]
    parent, *workers = [peaks[pid] / 1e6 for pid in sorted(peaks, key=int)]
    largest = max((ROOT / "submissions" / name for name in BASES), key=_size)
    kit = [sys.executable, "-m", "kit"]
    return {
        **facts,
        "exit": status,
        "judged": len(report["bundles"]),
        "not_compliant": [(entry["name"], _why(entry)) for entry in bad],
        "wall_s": wall_s,
        "processor_s": spent_s,
        "bundles_per_s": facts["bundles"] / wall_s,
        "wall_over_target": wall_s / TARGET_S,
        "processors": os.cpu_count(),
        "worker_peak_mb": max(workers, default=0.0),
        "parent_peak_mb": parent,
        "one_bundle_s": seconds([*kit, "check", str(largest)]),
        "help_s": seconds([*kit, "--help"]),
        "phases_ms": phases(folder),
    }


def _size(path):
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def _why(entry):
    failed = [rule["code"] for rule in entry["rules"] if rule["outcome"] in ("fail", "error")]
    return ", ".join(failed) or entry["problem"]


def show(figures):
    """Print the figures as a table; each target beside its figure, and the ratio of both."""
    kinds = ", ".join(f"{count} {name}" for name, count in figures["of"].items())
    programs = f"{figures['programs']} programs"
    print(f"{figures['bundles']} bundles, {figures['bytes'] / 1e6:.0f} MB, {programs}: {kinds}")
    print(f"{'':28}{'found':>10}{'target':>10}{'ratio':>8}")
    for title, found, target, unit in (
        ("check of the round", figures["wall_s"], TARGET_S, "s"),
        ("memory of a worker", figures["worker_peak_mb"], TARGET_MB, "MB"),
        ("check of the largest bundle", figures["one_bundle_s"], TARGET_ONE_S, "s"),
        ("gemm-kit --help", figures["help_s"], TARGET_HELP_S, "s"),
    ):
        print(f"{title:28}{found:>7.2f} {unit:2}{target:>7.2f} {unit:2}{found / target:>8.2f}")
    rate = f"{figures['bundles_per_s']:.1f} bundles/s on {figures['processors']} processors"
    spent = f"{figures['processor_s']:.1f} s of processor time"
    print(f"{rate}, {spent}, parent process {figures['parent_peak_mb']:.0f} MB")
    for name, why in figures["not_compliant"][:20]:
        print(f"not compliant: {name}: {why}")
    spent = figures["phases_ms"]
    whole = sum(ms for name, ms in spent.items() if not name.startswith(" "))
    print(f"{'processor time of a bundle':28}{'ms':>10}{'share':>10}")
    print(f"{'all':28}{whole:>10.2f}")
    for name, ms in sorted(spent.items(), key=lambda entry: -entry[1]):
        if ms >= whole * SHOWN_SHARE:
            print(f"{name:28}{ms:>10.2f}{ms / whole:>10.1%}")


if __name__ == "__main__":
    sys.exit(main())
