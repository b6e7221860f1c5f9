"""A sample of the battery that every `make test` judges, and what the battery itself must be."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from battery.bases import BASES
from battery.figures import BOUND, CLOSED_BOUND, FREE, ONE_WAY, all_figures
from battery.impossible import IMPOSSIBLE
from battery.judging import forge, honest, judged
from battery.registry import REFUSED, UNDECIDED, battery
from kit.checker.catalogue import all_rules

ROOT = Path(__file__).resolve().parents[2]


def of_each_rule():
    """The first manipulation that names each rule, and of each kind."""
    chosen = {}
    for entry in sorted(battery().values(), key=lambda entry: entry.kind == "figures"):
        if entry.id not in IMPOSSIBLE and entry.base != "formats":
            chosen.setdefault(("rule", entry.rule), entry)
            chosen.setdefault(("kind", entry.kind), entry)
    return {entry.id: entry for entry in chosen.values()}


def test_there_are_enough_manipulations():
    assert len(battery()) >= 250


def test_every_manipulation_names_a_rule_that_there_is():
    known = {rule.code for rule in all_rules()} | {REFUSED, UNDECIDED}
    assert {entry.rule for entry in battery().values()} <= known


def test_every_rule_is_named_by_a_manipulation():
    assert {rule.code for rule in all_rules()} <= {entry.rule for entry in battery().values()}


def test_every_figure_of_every_file_is_accounted_for_once():
    listed = [
        figure
        for table in (BOUND, CLOSED_BOUND, FREE)
        for group in table.values()
        for figure in group
    ]
    assert sorted([*listed, *ONE_WAY]) == sorted(all_figures())


def test_what_is_called_impossible_is_tried_and_explained():
    assert IMPOSSIBLE.keys() <= battery().keys()
    assert all(why and what for why, what in IMPOSSIBLE.values())


@pytest.mark.parametrize("name", BASES)
def test_the_bases_are_compliant(name):
    assert honest(name).judgement == "compliant"


@pytest.mark.parametrize("name", of_each_rule())
def test_sample(name):
    result = judged(battery()[name])
    assert result.caught == "named", result


def test_the_command_line_refuses_a_round_of_forgeries(tmp_path):
    ids = (
        "timing/profiling_durations_scaled-x0.9",
        "container/named_pipe",
        "claims/headline_polished-period",
        "fill/zeros_in_the_buffers-guideline",
    )
    for number, name in enumerate(ids):
        forge(battery()[name], tmp_path / f"forged-{number}")
    shutil.copytree(
        ROOT / "submissions/open/gemm-kit/two-core-cpu/2026-11-29-quick", tmp_path / "honest"
    )
    done = subprocess.run(
        [sys.executable, "-m", "kit", "check", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done
    *_, counts, last = done.stdout.splitlines()
    assert counts == "5 bundles: 1 compliant, 3 not compliant, 1 refused"
    assert last == "SUMMARY: submission has errors"
