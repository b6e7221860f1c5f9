import re

import pytest

from kit.checker.catalogue import all_round_rules, all_rules

ALL = (*all_rules(), *all_round_rules())


def test_list(gemm_kit):
    done = gemm_kit("explain")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [[rule.code, rule.name] for rule in ALL]
    assert lines[0].endswith("A file is not what the sealed manifests say.")


@pytest.mark.parametrize("code", ["GK501", "gk501"])
def test_one_rule(gemm_kit, code):
    done = gemm_kit("explain", code)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# GK501 claim-differs\n\nA claimed figure does not follow")
    for heading in ("What it checks", "Why it matters", "How to fix", "Clause", "Example"):
        assert f"\n## {heading}\n" in done.stdout
    assert done.stdout.endswith("Since edition 2026.1.\n")


def test_unknown_rule(gemm_kit):
    done = gemm_kit("explain", "GK509")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gemm-kit: error: there is no rule 'GK509' (did you mean GK502?)\n" or (
        re.fullmatch(
            r"gemm-kit: error: there is no rule 'GK509' \(did you mean GK\d09\?\)\n", done.stderr
        )
    )


def test_reference(gemm_kit):
    done = gemm_kit("explain", "--markdown")
    assert done.returncode == 0
    headings = re.findall(r"^## (GK\d{3}) ", done.stdout, re.MULTILINE)
    assert headings == [rule.code for rule in ALL]
    assert done.stdout.count("\n### What it checks\n") == len(headings)
    assert done.stdout.startswith("# Rules\n")


def test_code_or_reference(gemm_kit):
    done = gemm_kit("explain", "GK501", "--markdown")
    assert done.returncode == 2
