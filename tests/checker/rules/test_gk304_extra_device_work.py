import pytest

from bundles import (
    BATCHED,
    DECODE,
    GUIDELINE,
    PLAIN,
    changed,
    device_loop,
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
    """B turned round in front of the first product, which then contracts along its other axis."""
    before, call, after = text.partition("custom-call(%a.0, %b.0)")
    turned = after.replace(
        '"rhs_contracting_dimensions":["0"]', '"rhs_contracting_dimensions":["1"]', 1
    )
    text = before + call.replace("%b.0", "%t.0") + turned
    return text.replace("  %cublas.0", TRANSPOSE + "  %cublas.0")


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
    assert changed(bundle) == {CODE: "fail", "GK316": "fail"}
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


def test_a_loop_may_add_to_its_counter_once_a_trip_and_copy_it_once():
    assert outcome(CODE, device_loop()) == "pass"

    def count_twice(text):
        twice = "  %more = s32[] fusion(%next), kind=kLoop, calls=%wrapped_add\n  ROOT %carried"
        return text.replace("  ROOT %carried", twice)

    bundle = with_hlo(device_loop(), DECODE, count_twice)
    (finding, *_) = findings(CODE, bundle)
    assert finding.place.endswith("work on loop counters")
    assert (finding.found, finding.required) == ("33", "at most 17 a call")


def test_work_in_a_loop_is_extra_at_every_trip():
    def copy(text):
        return text.replace("  %next", "  %c = bf16[8,8192]{1,0} copy(%out.0)\n  %next")

    (finding, *_) = findings(CODE, with_hlo(device_loop(), DECODE, copy))
    assert (finding.found, finding.severity) == ("16 copy", "warn")


def test_products_that_were_moved_out_of_the_loop_always_fail():
    def hoist(text):
        start, end = text.index("  %cublas.0"), text.index("  %next")
        calls = text[start:end].replace("%out.", "%early.")
        kept = (text[:start] + text[end:]).replace("(%next, %out.0, %out.1", "(%next, %d.0, %d.1")
        return kept.replace("  %zero", calls + "  %zero")

    found = findings(CODE, with_hlo(device_loop(), DECODE, hoist))
    assert (found[0].found, found[0].required) == ("2", "32, as executable.gemms_per_call")
    assert found[0].severity == "fail"


def test_loop_counters_have_no_place_in_other_modes():
    bundle = device_loop()
    for number in (1, 2, 3):
        bundle = with_field(bundle, DECODE, number, "dispatch.mode", "unrolled")
    assert any(finding.place.endswith("loop counters") for finding in findings(CODE, bundle))


def resized(old, new):
    return lambda text: text.replace(f"%a.0 = {old}", f"%a.0 = {new}")


def test_products_of_other_sizes_are_not_the_ones_that_are_counted():
    """Half of K never ran; twice of it is padding, which is a departure that may be disclosed."""
    halved = resized("bf16[8,8192]", "bf16[8,4096]")
    bundle = with_hlo(honest_gpu(), DECODE, halved)
    (finding, *_) = findings(CODE, bundle)
    product = 2 * 8 * 8192 * 8192
    assert finding.found == str(product + product // 2)
    assert finding.required == f"{2 * product}, which is 2·M·N·K·batch for each of 2"
    assert finding.severity == "fail"
    padded = with_hlo(honest_gpu(), DECODE, resized("bf16[8,8192]", "bf16[8,16384]"))
    assert outcome(CODE, padded) == "warn"
    closed = with_hlo(honest_gpu("closed"), DECODE, resized("bf16[8,8192]", "bf16[8,16384]"))
    assert outcome(CODE, closed) == "fail"


def test_every_matrix_of_a_batch_counts():
    """A program that multiplies one matrix of the batch is not the batched product."""
    assert outcome(CODE, honest_cpu()) == "pass"
    one = with_hlo(honest_cpu(), BATCHED, lambda text: text.replace("f64[2,64,48]", "f64[1,64,48]"))
    (finding, *_) = findings(CODE, one)
    assert finding.place.endswith("operations of the products")


def test_products_without_sizes_prove_nothing():
    bundle = with_hlo(honest_gpu(), DECODE, lambda text: text.replace("contracting", "other"))
    found = result(CODE, bundle)
    assert found.outcome == "unproven"
    assert "does not tell the sizes" in found.reason


def test_products_that_no_output_holds_are_work_beside_the_others():
    """Each product is made twice, once for nothing, and both are counted as launches."""

    def twice(text):
        lines = []
        for line in text.splitlines():
            if line.startswith("  %cublas."):
                lines.append(line.replace("%cublas.", "%dead.", 1))
            lines.append(line)
        return "\n".join(lines) + "\n"

    bundle = with_hlo(device_loop(), DECODE, twice)
    for number in (1, 2, 3):
        bundle = with_field(
            bundle, DECODE, number, "executable.gemms_per_call", lambda made: 2 * made
        )
    (finding, *_) = findings(CODE, bundle)
    assert finding.place.endswith("products in the text")
    assert finding.found == "4"
    assert finding.required.startswith("2, one for each output")
    assert finding.severity == "fail"
