import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    PLAIN,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    with_field,
    with_hlo,
)

CODE = "GK304"
TRANSPOSE = "  %t.0 = bf16[8192,8192]{1,0} transpose(%b.0), dimensions={1,0}\n"


def with_transpose(text):
    return text.replace("  %cublas.0", TRANSPOSE + "  %cublas.0").replace(
        "custom-call(%a.0, %b.0)", "custom-call(%a.0, %t.0)"
    )


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_a_transpose_departs_from_the_methodology_and_is_named(division, severity):
    bundle = with_hlo(honest_gpu(division), DECODE, with_transpose)
    assert changed(bundle) == {CODE: severity}
    found = findings(CODE, bundle)
    assert len(found) == 3
    (name,) = bundle.cases[DECODE].hlo
    assert found[0].place == f"data/cases/{DECODE}/{name}: other work"
    assert found[0].found == "1 transpose"


def test_a_product_that_the_compiler_merged_always_fails():
    def merge(text):
        return "\n".join(
            line.replace("%out.1", "%out.0") if "ROOT" in line else line
            for line in text.splitlines()
            if "cublas.1" not in line
        )

    bundle = with_hlo(honest_gpu(), DECODE, merge)
    assert changed(bundle) == {CODE: "fail"}
    (finding, *_) = findings(CODE, bundle)
    assert (finding.found, finding.required) == ("1", "2, as executable.gemms_per_call")


@pytest.mark.parametrize(("honest", "case"), [(honest_gpu, GUIDELINE), (honest_cpu, PLAIN)])
@pytest.mark.parametrize("difference", [-1, 1])
def test_outputs_must_be_in_place_to_the_byte(honest, case, difference):
    bundle = with_field(honest(), case, 1, "executable.alias_bytes", lambda held: held + difference)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-01/run.json: executable.alias_bytes")


def test_undonated_outputs_fail():
    assert outcome(CODE, with_field(honest_gpu(), DECODE, 1, "executable.alias_bytes", 0)) == "fail"


def test_a_text_that_is_no_module_proves_nothing():
    assert outcome(CODE, with_hlo(honest_gpu(), DECODE, lambda _: "nothing")) == "unproven"
    bundle = with_field(honest_gpu(), DECODE, 1, "executable.hlo", "0" * 16 + ".hlo.txt")
    assert "missing" in result(CODE, bundle).reason
