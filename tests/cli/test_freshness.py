"""A challenge proves that a bundle is not older than it: whoever measured before cannot answer.

The bundles are real: one measured here for a challenge, and the committed ones, measured for none.
"""

import json
import shutil
from dataclasses import replace

import pytest

from bundles import outcome, rederived, with_plan, write
from honest import buffers_table, operands_of
from kit.bundle.reader import Auditor, parse, read_container
from kit.cli import main
from kit.fill import fill_seed, sample_seed
from kit.resources import CONFIGS

GIVEN = "00112233445566778899aabbccddeeff"
LATER = "ffeeddccbbaa99887766554433221100"
BRIEF = [
    "backend=cpu", "workload=custom", *(f"workload.{name}=64" for name in "mnk"), "replicates=2",
    "phases.idle_s=0.1", "phases.warm_up_min_launches=20", "phases.warm_up_min_s=0.1",
    "phases.warm_up_max_s=5", "phases.profiling_min_launches=50", "phases.profiling_min_s=0.2",
    "phases.cool_down_min_s=0.1", "phases.cool_down_max_s=1",
]  # fmt: skip
COMMITTED = sorted(path.parent for path in (CONFIGS.parent / "submissions").rglob("bagit.txt"))


def judged(capsys, folder, challenge):
    """Exit code of check, and the codes of the rules that failed."""
    code = main(["check", str(folder), "--format", "json", "--challenge", challenge])
    (found,) = json.loads(capsys.readouterr().out)["bundles"]
    return code, {rule["code"] for rule in found["rules"] if rule["outcome"] == "fail"}


def with_documents(bundle, change):
    """Every run replaced by `change(case, run)`; claims follow."""
    cases = {
        name: replace(found, runs=tuple(change(bundle.plan.case(name), run) for run in found.runs))
        for name, found in bundle.cases.items()
    }
    return rederived(replace(bundle, cases=cases))


def renamed(bundle, challenge):
    """The challenge written into the plan afterwards."""
    return with_plan(bundle, submission__challenge=challenge)


def reseeded(bundle, challenge):
    """The seeds of every run rewritten as well, as the challenge would have given them."""
    plan = renamed(bundle, challenge).plan

    def change(case, run):
        document = run.document
        samples = sample_seed(plan.seed, challenge, case.id, document.device, document.number)
        filled = fill_seed(plan.seed, challenge, case.id)
        return replace(run, document=replace(document, fill_seed=filled, sample_seed=samples))

    return with_documents(renamed(bundle, challenge), change)


def refilled(bundle, challenge):
    """The statistics of every buffer computed anew as well; only the outputs are left."""
    bundle = reseeded(bundle, challenge)

    def change(case, run):
        found = run.tables["buffers.csv"]
        new = buffers_table(operands_of(bundle.plan, case), run.document.rotation.sets)
        kept = {name: found[name] for name in ("address_before", "address_after")}
        table = replace(new, columns=new.columns | kept)
        return replace(run, tables=run.tables | {"buffers.csv": table})

    return with_documents(bundle, change)


FORGERIES = [(renamed, "GK202"), (reseeded, "GK204"), (refilled, "GK204")]


@pytest.fixture
def measured(gemm_kit, tmp_path):
    """Measure for the given challenge, as a vendor does."""
    done = gemm_kit("run", *BRIEF, f"submission.challenge={GIVEN.upper()}", "output=out")
    assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path / done.stdout.splitlines()[-1].removeprefix("bundle: ")


def test_only_the_challenge_that_was_given_is_answered(capsys, measured):
    assert judged(capsys, measured, GIVEN) == (0, set())
    assert judged(capsys, measured, GIVEN.upper()) == (0, set())
    assert judged(capsys, measured, LATER) == (1, {"GK605"})
    bundle = parse(read_container(measured))
    for number, (forge, code) in enumerate(FORGERIES):
        # The measurement for one challenge, passed off as one for the next.
        forged = write(forge(bundle, LATER), measured.with_name(f"forged-{number}"))
        exit_code, failed = judged(capsys, forged, LATER)
        assert exit_code == 1
        assert code in failed
        assert "GK605" not in failed
    again = write(bundle, measured.with_name("again"))
    assert judged(capsys, again, GIVEN) == (0, set())


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda path: path.name)
def test_what_was_measured_before_answers_no_challenge(folder, capsys, tmp_path):
    shutil.copytree(folder, tmp_path / "old")
    assert judged(capsys, tmp_path / "old", LATER) == (1, {"GK605"})
    bundle = parse(read_container(folder))
    forged = write(renamed(bundle, LATER), tmp_path / "forged")
    exit_code, failed = judged(capsys, forged, LATER)
    assert exit_code == 1
    assert "GK202" in failed


def test_rewriting_the_seeds_of_an_old_bundle_is_not_enough():
    """One case of the committed bundle whose operands are small enough to compute anew here."""
    (folder,) = (path for path in COMMITTED if "quick" in path.name)
    found = parse(read_container(folder))
    case, *_ = found.plan.cases
    bundle = replace(
        found,
        plan=replace(found.plan, cases=(case,)),
        cases={case.id: found.cases[case.id]},
        auditor=Auditor(challenge=LATER),
    )
    forgeries = [forge(bundle, LATER) for forge, _ in FORGERIES]
    for forged, (_, code) in zip(forgeries, FORGERIES, strict=True):
        assert outcome("GK605", forged) == "pass"
        assert outcome(code, forged) == "fail"
    # Buffer contents give it away too, until those are computed anew.
    assert [outcome("GK203", forged) for forged in forgeries] == ["fail", "fail", "pass"]


def test_operands_and_sampled_places_depend_on_the_challenge():
    seeds = {fill_seed(1, challenge, "case") for challenge in (None, GIVEN, LATER)}
    places = {sample_seed(1, challenge, "case", "cpu", 1) for challenge in (None, GIVEN, LATER)}
    assert len(seeds) == len(places) == 3
