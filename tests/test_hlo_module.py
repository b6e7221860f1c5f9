"""A text is a module, each line of it, or it is refused; and reading costs no more than its length.

What an attacker hid from an earlier reader: work on a line that does not parse, behind an early
brace, in a second ENTRY, behind a `bitcast` that calls a computation.
"""

import re
import time
from contextlib import suppress

import pytest

from forms import recorded_form, recorded_forms
from kit.hlo.census import census
from kit.hlo.module import MOST_INSTRUCTIONS, array, elements, parse_module

ONE = recorded_form("bf16_4096x4096x4096_nn_single")[0]
COPY = "  %c.9 = bf16[4096,4096]{1,0} copy(%a_0_.1)"
CALL = "  %custom-call.1 ="
NESTED = """%nested (p0: bf16[4096,4096]) -> bf16[4096,4096] {
  %p0 = bf16[4096,4096]{1,0} parameter(0)
  ROOT %t = bf16[4096,4096]{1,0} transpose(%p0), dimensions={1,0}
}

"""


def above(line, text=ONE):
    assert CALL in text
    return text.replace(CALL, f"{line}\n{CALL}")


HIDDEN = {
    "a shape without its end": (above(COPY.replace("{1,0}", "")[:-1].replace("= bf16", "= (bf16")),
                                "no instruction"),
    "no operands": (above("  %c.9 = bf16[4096,4096]{1,0} copy"), "no instruction"),
    "no name": (above("  copy(%a_0_.1)"), "no instruction"),
    "a blank line": (above(""), "no instruction"),
    "a comment": (above(f"  // {COPY}"), "no instruction"),
    "words behind": (above(f"{COPY} and more"), "no instruction"),
    "an early brace": (ONE.replace("  ROOT", "}\n" + COPY + "\n  ROOT"), "no one ROOT"),
    "an early brace behind a root": (ONE.replace("\n  ROOT", f"\n{COPY.replace('%c', 'ROOT %c')}"
                                                 "\n}\n  ROOT"), "begins no computation"),
    "a line after the end": (ONE + COPY + "\n", "begins no computation"),
    "no end": (ONE.removesuffix("\n}\n"), "no end"),
    "two ENTRYs": (ONE + ONE[ONE.index("ENTRY"):].replace("%main.1", "%main.2"), "second ENTRY"),
    "one name twice": (ONE + ONE[ONE.index("ENTRY"):], "second computation"),
    "no ENTRY": (ONE.replace("ENTRY ", ""), "no ENTRY"),
    "an instruction twice": (above(f"{COPY}\n{COPY}"), "second instruction"),
    "two roots": (above(COPY.replace("%c", "ROOT %c")), "no one ROOT"),
    "no root": (ONE.replace("ROOT ", ""), "no one ROOT"),
    "an operand of nowhere": (above(COPY.replace("%a_0_.1", "%nobody")), "not defined above"),
    "an operand from below": (above(COPY.replace("%a_0_.1", "%custom-call.1")),
                              "not defined above"),
    "a bitcast that calls": (above(COPY.replace("copy(%a_0_.1)", "bitcast(%a_0_.1), calls=%nested")
                                   ).replace("ENTRY", NESTED + "ENTRY"), "calls a computation"),
    "a tuple that calls": (above("  %c.9 = () tuple(), to_apply=%nested"), "calls a computation"),
    "brackets of two kinds": (above(f"{COPY}, sharding={{(}})"), "brackets|no instruction"),
    "brackets that cross": (above(f"{COPY}, sharding={{[}}]"), "brackets|no instruction"),
    "an open string": (above(f'{COPY}, sharding="'), "no instruction"),
    "a carriage return": (above(f"  %x = f32[] constant(0)\r{COPY}"), "printable ASCII"),
    "a line separator": (above(f"  %x = f32[] constant(0)\u2028{COPY}"), "printable ASCII"),
    "a second module": (ONE + "\n" + ONE, "begins no computation"),
    "no first line": (ONE.partition("\n")[2], "does not begin"),
}  # fmt: skip


@pytest.mark.parametrize("forgery", HIDDEN)
def test_a_text_with_a_line_that_is_none_is_refused(forgery):
    text, problem = HIDDEN[forgery]
    assert text != ONE
    with pytest.raises(ValueError, match=problem):
        census(text)
    with pytest.raises(ValueError, match=problem):  # and again, when it is known
        census(text)


def test_work_on_a_line_that_parses_is_counted():
    assert census(above(COPY)).extra == {"copy": 1}


@pytest.mark.parametrize("form", list(recorded_forms()), ids=lambda form: form[0])
def test_every_line_of_a_real_text_is_read_as_it_stands(form):
    text = form[1]
    read = parse_module(text)
    lines = re.findall(r"(?m)^  .*$", text)
    assert sum(map(len, read.computations.values())) == len(lines)
    for body in read.computations.values():
        for line in body:
            assert f"%{line.name} = {line.shape} {line.opcode}(" in text
            assert line.text in text
            rebuilt = "".join(f", {name}={value}" for name, value in line.attributes.items())
            assert rebuilt == line.text
    assert read.attributes.keys() >= {"is_scheduled", "input_output_alias"}


def test_types_are_read_with_their_order_in_memory():
    turned = array("bf16[2,3,4]{0,2,1}")
    assert (turned.kind, turned.sizes, turned.in_memory) == ("bf16", (2, 3, 4), (1, 2, 0))
    assert array("s32[]").sizes == ()
    assert array("f4e2m1fn[64,64]{1,0:E(4)}").in_memory == (0, 1)
    for unknown in ("(f32[2])", "f32[2,3]{1,1}", "f32[2]{1,0}", "f32[8]{0:T(8)}", "token[x]"):
        assert array(unknown) is None
    assert elements("(f32[2,3]{1,0}, /*index=5*/(s8[1], s8[2]))") == (
        "f32[2,3]{1,0}", "(s8[1], s8[2])",
    )  # fmt: skip


def module(others, body):
    return f"HloModule x\n\n{others}\nENTRY %m (a: f32[8]) -> f32[8] {{\n" + "\n".join(
        ["  %a = f32[8]{0} parameter(0)", *body, "  ROOT %z = f32[8]{0} copy(%a)", "}", ""]
    )


def body_of(opcodes):
    return (
        "%f (p: f32[]) -> f32[] {\n  %p = f32[] parameter(0)\n"
        + "\n".join(f"  %i.{i} = f32[] {opcode}(%p)" for i, opcode in enumerate(opcodes))
        + "\n  ROOT %r = f32[] add(%p, %p)\n}\n"
    )


def long_texts():
    """Texts of up to 8 MiB that cost the most for their length."""
    half = MOST_INSTRUCTIONS // 2 - 10
    calls = [f"  %f{i} = f32[8] fusion(%a), calls=%f" for i in range(half)]
    distinct = body_of(f"o{i}" for i in range(half))
    yield "distinct opcodes, called from everywhere", module(distinct, calls)
    few = 20_000
    inner = "".join(
        f"%g{i} (p: f32[]) -> f32[] {{\n  %p = f32[] parameter(0)\n"
        "  ROOT %h = f32[] fusion(%p), calls=%f\n}\n\n"
        for i in range(few)
    )
    outer = [f"  %f{i} = f32[8] fusion(%a), calls=%g{i}" for i in range(few)]
    yield (
        "called from many that are called",
        module(body_of(f"o{i}" for i in range(few)) + inner, outer),
    )
    short = [f"  %i{i} = f32[] b(%a)" for i in range(300_000)]
    yield "as many lines as fit", module("", short)
    yield "as many as are read", module("", short[: MOST_INSTRUCTIONS - 10])
    yield "open brackets", module("", ["  %x = (" + "(" * 8 * 10**6])
    yield "pairs", module("", ["  %x = f32[] b(%a), c={" + "{}" * 4 * 10**6 + "}"])
    yield "wrong pairs", module("", ["  %x = f32[] b(%a), c={" + "{)" * 4 * 10**6 + "}"])
    yield "quotes", module("", ["  %x = f32[] b(%a), c=" + '"' * 8 * 10**6])
    yield "operands", module("", ["  %x = f32[] b(" + "%a, " * 2 * 10**6 + "%a)"])
    yield "attributes", module("", ["  %x = f32[] b(%a)" + ", c=1" * 10**6])


@pytest.mark.parametrize("case", list(long_texts()), ids=lambda case: case[0])
def test_no_text_of_8_mib_costs_more_than_a_few_seconds(case):
    """The first one ran for 260 s and more; all take 0.1 to 3 s here."""
    _, text = case
    assert len(text) < 8 * 2**20
    started = time.process_time()
    with suppress(ValueError):
        census(text)
    assert time.process_time() - started < 5


def test_the_census_of_a_body_counts_it_once_for_each_call():
    calls = [f"  %f{i} = f32[8] fusion(%a), calls=%f" for i in range(1000)]
    found = census(module(body_of(["add", "sine", "sine"]), calls))
    assert found.extra == {"add": 2000, "sine": 2000, "copy": 1}
