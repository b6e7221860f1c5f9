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
    scaled,
    with_field,
    with_hlo,
)

CODE = "GK316"


@pytest.mark.parametrize(
    "bundle", [honest_gpu, lambda: honest_gpu("closed"), honest_cpu, device_loop, scaled]
)
def test_programs_that_go_round_pass(bundle):
    assert outcome(CODE, bundle()) == "pass"


def swapped(old, new):
    def change(text):
        assert old in text
        return text.replace(old, new)

    return change


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("custom-call(%a.1, %b.1)", "custom-call(%a.0, %b.0)", "reads A of set 0, B of set 0"),
        ("custom-call(%a.1, %b.1)", "custom-call(%a.1, %b.0)", "reads B of set 0"),
        ("tuple(%out.0, %out.1)", "tuple(%out.1, %out.0)", "reads A of set 1, B of set 1"),
        ("tuple(%out.0, %out.1)", "tuple(%out.0, %out.0)", "reads A of set 0, B of set 0"),
        (", {1}: (1, {}, may-alias)", "", "1 of 2 outputs elsewhere"),
        ("{0}: (0, {}", "{0}: (2, {}", "1 of 2 outputs elsewhere"),
    ],
)
def test_a_program_that_leaves_sets_out_fails(old, new, words, division):
    bundle = with_hlo(honest_gpu(division), DECODE, swapped(old, new))
    assert changed(bundle) == {CODE: "fail"}
    assert findings(CODE, bundle)[0].found == words


def test_an_output_that_is_not_in_place_fails_where_there_is_one():
    for honest, case in ((honest_gpu, GUIDELINE), (honest_cpu, PLAIN)):
        without = swapped(", input_output_alias={ {}: (0, {}, may-alias) }", "")
        bundle = with_hlo(honest(), case, without)
        assert changed(bundle) == {CODE: "fail"}
        assert findings(CODE, bundle)[0].place.endswith(": input_output_alias")


def test_a_loop_that_multiplies_one_pair_fails():
    bundle = with_hlo(
        device_loop(), DECODE, swapped("custom-call(%a.1, %b.1)", "custom-call(%a.0, %b.0)")
    )
    (finding, *_) = findings(CODE, bundle)
    assert (finding.found, finding.severity) == ("reads A of set 0, B of set 0", "fail")


def test_a_batch_of_products_is_followed_on_a_host_too():
    bundle = with_hlo(honest_cpu(), BATCHED, swapped("dot(%a.1, %b.1)", "dot(%a.0, %b.1)"))
    assert changed(bundle) == {CODE: "fail"}


def test_what_cannot_be_read_proves_nothing():
    assert outcome(CODE, with_hlo(honest_gpu(), DECODE, lambda _: "nothing")) == "unproven"
    bundle = with_field(honest_gpu(), DECODE, 1, "executable.hlo", "0" * 16 + ".hlo.txt")
    assert outcome(CODE, bundle) == "unproven"
