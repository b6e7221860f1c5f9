import shutil
from dataclasses import replace

import pytest

from bundles import GUIDELINE, honest_cpu, honest_gpu, reseal, with_claims, with_field, write
from kit.bundle.layout import ENVIRONMENT, PLAN
from kit.bundle.reader import Auditor
from kit.checker import judge as judge_module
from kit.checker.catalogue import all_rules
from kit.checker.judge import judge, run_rule
from kit.checker.rule import Rule
from kit.checker.verdict import Waiver
from kit.ruleset import ruleset


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """The honest bundles on disk, by name."""
    folder = tmp_path_factory.mktemp("sealed")
    honest = {"cpu": honest_cpu(), "gpu": honest_gpu(), "closed": honest_gpu("closed")}
    return {name: write(bundle, folder / name) for name, bundle in honest.items()}


@pytest.fixture
def copy(sealed, tmp_path):
    """A copy of the CPU bundle that may be broken."""
    return shutil.copytree(sealed["cpu"], tmp_path / "bundle")


def outcomes(verdict):
    return {result.code: result.outcome for result in verdict.rules}


def result(verdict, code):
    return next(result for result in verdict.rules if result.code == code)


def edit(path, old, new):
    text = path.read_bytes()
    assert text.count(old)
    path.write_bytes(text.replace(old, new, 1))


@pytest.mark.parametrize("name", ["cpu", "gpu"])
def test_honest_open(sealed, name):
    verdict = judge(sealed[name], auditor=Auditor())
    assert (verdict.judgement, verdict.exit_code, verdict.problem) == ("compliant", 0, None)
    assert [entry.code for entry in verdict.rules] == [rule.code for rule in all_rules()]
    assert set(outcomes(verdict).values()) <= {"pass", "not_applicable", "unproven"}
    assert verdict.edition == "2026.1"
    assert len(verdict.digest) == 64


def test_honest_closed_is_compliant(sealed):
    verdict = judge(sealed["closed"])
    assert set(outcomes(verdict).values()) <= {"pass", "not_applicable"}
    assert (verdict.judgement, verdict.exit_code) == ("compliant", 0)


def test_headline_shows_recomputed_figures(tmp_path):
    lie = with_claims(honest_gpu(), GUIDELINE, 1, flops_per_s=1e20, mean_period_ns=1.0)
    verdict = judge(write(lie, tmp_path / "lie"))
    assert result(verdict, "GK501").outcome == "fail"
    case = verdict.headline.cases[0]
    assert case.flops_per_s == pytest.approx(689.2e12, rel=1e-3)
    assert case.runs == 3
    assert verdict.headline.submitter == "example"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path.mkdir(), "not a bundle"),
        (lambda path: path.write_text("a text file"), "not a bundle"),
        (lambda path: None, "cannot be read"),
    ],
)
def test_no_bundle(tmp_path, make, problem):
    path = tmp_path / "thing"
    make(path)
    verdict = judge(path)
    assert (verdict.judgement, verdict.exit_code) == ("refused", 3)
    assert problem in verdict.problem
    assert verdict.rules == ()


def test_malformed_but_sealed(copy):
    edit(copy / PLAN, b'"seed": 7', b'"seed": "7"')
    reseal(copy)
    verdict = judge(copy)
    assert (verdict.judgement, verdict.exit_code) == ("refused", 3)
    assert verdict.problem.startswith("data/plan.json: $.seed")
    assert len(verdict.digest) == 64


def test_forged_and_sealed_again(copy):
    honest = judge(copy).digest
    edit(copy / PLAN, b'"seed": 7', b'"seed": 8')
    reseal(copy)
    verdict = judge(copy)
    assert verdict.digest != honest
    assert outcomes(verdict)["GK001"] == "pass"
    assert {code for code, found in outcomes(verdict).items() if found == "fail"} >= {"GK202"}


def test_altered_and_still_readable(copy):
    edit(copy / PLAN, b'"seed": 7', b'"seed": 8')
    verdict = judge(copy)
    assert (verdict.judgement, verdict.exit_code) == ("not_compliant", 1)
    assert [finding.place for finding in result(verdict, "GK001").findings] == [PLAN]
    assert outcomes(verdict)["GK006"] == "pass"


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (ENVIRONMENT, b"{", b"["),
        (PLAN, b'"edition": "2026.1"', b'"edition": "2926.1"'),
        (PLAN, b'"edition": "2026.1"', b'"edition": 2026.1'),
    ],
)
def test_altered_and_unreadable(copy, path, old, new):
    edit(copy / path, old, new)
    digest = judge(copy).digest
    waivers = [Waiver(rule.code, digest, "all of it") for rule in all_rules()]
    verdict = judge(copy, waivers=waivers)
    assert (verdict.judgement, verdict.exit_code) == ("not_compliant", 1)
    assert verdict.waivers == ()
    assert [finding.place for finding in result(verdict, "GK001").findings] == [path]
    rest = {entry.outcome for entry in verdict.rules if entry.code != "GK001"}
    assert rest == {"unproven"}
    assert "cannot be read" in result(verdict, "GK005").reason


def test_unknown_edition(tmp_path, monkeypatch):
    folder = write(honest_cpu(), tmp_path / "future")
    monkeypatch.setattr("kit.ruleset.EDITIONS", {"2031.1": ruleset("2026.1")})
    verdict = judge(folder)
    assert (verdict.judgement, verdict.exit_code) == ("undecided", 5)
    assert "'2026.1' is unknown to this kit" in verdict.problem


def test_challenge_reaches_the_rules(sealed):
    verdict = judge(sealed["cpu"], auditor=Auditor(challenge="ab" * 16))
    assert outcomes(verdict)["GK605"] == "fail"
    assert verdict.exit_code == 1


@pytest.fixture
def failing(tmp_path):
    """A bundle in which one rule fails, with its digest."""
    broken = with_field(honest_gpu(), GUIDELINE, 1, "limits_after.ecc_errors", 1)
    folder = write(broken, tmp_path / "failing")
    verdict = judge(folder)
    failed = [entry.code for entry in verdict.rules if entry.outcome == "fail"]
    assert failed == ["GK106"]
    return folder, verdict.digest


def test_waiver_of_a_failure(failing):
    folder, digest = failing
    waiver = Waiver("GK106", digest, "the memory was replaced")
    verdict = judge(folder, waivers=[waiver, Waiver("GK501", digest, "not needed")])
    assert verdict.judgement == "compliant"
    assert verdict.waivers == (waiver,)
    assert outcomes(verdict)["GK106"] == "fail"


@pytest.mark.parametrize("waiver", [("GK106", "0" * 64), ("GK105", None)])
def test_waiver_of_something_else(failing, waiver):
    folder, digest = failing
    verdict = judge(folder, waivers=[Waiver(waiver[0], waiver[1] or digest, "why")])
    assert verdict.judgement == "not_compliant"
    assert verdict.waivers == ()


@pytest.mark.parametrize("error", [RecursionError("deep"), ZeroDivisionError()])
def test_a_crash_is_an_error_and_never_passes(sealed, monkeypatch, error):
    def crash(_bundle, _rules):
        raise error

    rules = (*all_rules(), Rule("GK999", "made-up", ("M26",), "2026.1", "text", crash))
    monkeypatch.setattr(judge_module, "all_rules", lambda: rules)
    verdict = judge(sealed["cpu"])
    assert (verdict.judgement, verdict.exit_code) == ("internal_error", 4)
    assert outcomes(verdict)["GK999"] == "error"
    assert outcomes(verdict)["GK001"] == "pass"


def test_a_bundle_that_takes_too_much_memory_is_refused(sealed, monkeypatch):
    def exhaust(_bundle, _rules):
        raise MemoryError

    rules = (*all_rules(), Rule("GK999", "made-up", ("M26",), "2026.1", "text", exhaust))
    monkeypatch.setattr(judge_module, "all_rules", lambda: rules)
    verdict = judge(sealed["cpu"])
    assert (verdict.judgement, verdict.exit_code) == ("refused", 3)
    assert "memory" in verdict.problem


def test_no_rule_no_pass(sealed, monkeypatch):
    monkeypatch.setattr(judge_module, "all_rules", tuple)
    assert judge(sealed["cpu"]).judgement == "undecided"


def test_headline_is_not_a_condition(sealed, monkeypatch):
    def crash(_bundle):
        raise ZeroDivisionError

    monkeypatch.setattr(judge_module, "headline", crash)
    verdict = judge(sealed["cpu"])
    assert (verdict.judgement, verdict.headline) == ("compliant", None)


def test_reader_crash_is_internal(tmp_path, monkeypatch):
    def crash(_path):
        raise ValueError("unforeseen")

    monkeypatch.setattr(judge_module, "read_container", crash)
    verdict = judge(tmp_path, name="thing")
    assert (verdict.name, verdict.judgement) == ("thing", "internal_error")
    assert verdict.problem == "ValueError: unforeseen"


def test_bundle_in_memory_and_on_disk_agree(sealed):
    on_disk = outcomes(judge(sealed["gpu"]))
    bundle = replace(honest_gpu(), auditor=Auditor())
    in_memory = {
        rule.code: run_rule(rule, bundle, ruleset("2026.1")).outcome for rule in all_rules()
    }
    assert on_disk == in_memory
