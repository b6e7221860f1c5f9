"""Honest bundles are accepted: fresh ones measured under load, and everywhere with the same JSON.

    python tests/proofs/honest_accepted.py [--bundles N] [--python PYTHON...]

Measures N bundles (20) on this processor while other processes keep it busy, and checks them. Then
checks the committed bundles and three fresh ones under other time zones, locales, hash seeds and
working folders, and with each PYTHON, into which it installs the checker: the JSON must be the same
to the byte. Exits 1 if a bundle is refused or a JSON differs.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUSY = "while True: sum(i * i for i in range(100_000))"
KIT = [sys.executable, "-P", "-m", "kit"]
SURROUNDINGS = [
    {},
    {"TZ": "Asia/Kathmandu"},
    {"TZ": "America/St_Johns", "LC_ALL": "C"},
    {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    {"LC_ALL": "de_DE.UTF-8"},
    {"PYTHONHASHSEED": "1"},
    {"PYTHONHASHSEED": "4294967295", "PYTHONUTF8": "1"},
    {"OMP_NUM_THREADS": "1", "PYTHONOPTIMIZE": "1"},
]


def environment(**changes):
    """This process's environment with the checkout on the import path, and changes."""
    return os.environ | {"PYTHONPATH": str(ROOT)} | changes


def measure(folder, number):
    """A small bundle with a seed of its own; its path, or None if it was not measured."""
    odd = ["workload=custom", "workload.m=192", "workload.n=320", "workload.k=448"]
    size = (["workload=square_256"], ["workload=square_512"], odd)[number % 3]
    command = [
        *KIT, "run", *size, "phases=quick", f"seed={number}",
        f"number_format={('fp32', 'fp64', 'int8', 'bf16')[number % 4]}", "replicates=2",
        f"output={folder}", f"name=bundle-{number}",
    ]  # fmt: skip
    done = subprocess.run(
        command, env=environment(), cwd=folder, capture_output=True, text=True, check=False
    )
    path = folder / "open/unnamed/this-machine" / f"bundle-{number}"
    if not path.exists():
        print(done.stderr[-2000:])
        return None
    return path


def verdict(command, paths, changes, cwd):
    """(exit code, SHA-256 of the JSON) of one check of all paths."""
    done = subprocess.run(
        [*command, "check", "--format", "json", *map(str, paths)],
        env=environment(**changes), cwd=cwd, capture_output=True, check=False,
    )  # fmt: skip
    return done.returncode, hashlib.sha256(done.stdout).hexdigest()


def installed(python, folder):
    """The command of a checker that was installed into a new environment of `python`."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/pip", "install", "-q", str(ROOT)], check=True)
    return [str(folder / "bin/gemm-kit")]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--bundles", type=int, default=20)
    arguments.add_argument("--python", nargs="*", default=[])
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        load = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(os.cpu_count() or 1)]
        try:
            found = [measure(folder, number) for number in range(given.bundles)]
        finally:
            for process in load:
                process.kill()
        refused = found.count(None)
        fresh = [path for path in found if path is not None]
        for path in fresh:
            code, _ = verdict(KIT, [path], {}, folder)
            refused += code != 0
            print(f"{path.name}: exit {code}", flush=True)
        print(f"{given.bundles - refused} of {given.bundles} bundles measured under load accepted")
        paths = [ROOT / "submissions", *fresh[:3]]
        answers = {}
        for changes in SURROUNDINGS:
            answers[str(changes)] = verdict(KIT, paths, changes, ROOT)
        answers["another folder"] = verdict(KIT, paths, {}, folder)
        for python in given.python:
            command = installed(python, folder / f"venv-{Path(python).name}")
            answers[python] = verdict(command, paths, {"PYTHONPATH": ""}, folder)
        for where, (code, digest) in answers.items():
            print(f"exit {code} {digest[:16]} {where}")
        same = len(set(answers.values())) == 1
        print(f"{len(answers)} surroundings, {len(set(answers.values()))} different verdicts")
    return 0 if same and not refused else 1


if __name__ == "__main__":
    raise SystemExit(main())
