"""Programs that multiply something else, or less, or hide what they do beside it."""

import re
from dataclasses import replace

import numpy as np

from battery.bases import CLOSED, DECODE, GUIDELINE, LOOPED
from battery.forging import document, numbered, runs, with_runs
from battery.registry import manipulation
from bundles import with_fields, with_hlo

OPERANDS = re.compile(r"custom-call\((%[\w.\-]+), (%[\w.\-]+)")


def _text(bundle, change, case=GUIDELINE):
    def edit(text):
        changed = change(text)
        assert changed != text, "the program is as it was"
        return changed

    return with_hlo(bundle, case, edit)


@manipulation(
    "GK206", "M04", base="closed", variants={"small": {"size": 16}, "large": {"size": 32768}}
)
def every_shape_another(bundle, size):
    """Every shape of the program is another one."""
    return _text(bundle, lambda t: re.sub(r"\[\d+,\d+\]", f"[{size},{size}]", t), CLOSED)


@manipulation("GK206", "M04")
def k_halved(bundle):
    """The products go over half of K."""
    return _text(bundle, lambda t: t.replace("16384", "8192"))


@manipulation("GK206", "M04")
def k_halved_and_n_doubled(bundle):
    """The products are of another shape with as many operations."""
    return _text(
        bundle,
        lambda t: (
            t.replace("bf16[8192,8192]", "bf16[8192,16384]")
            .replace("bf16[16384,8192]", "bf16[8192,16384]")
            .replace("%a_0_.1 = bf16[8192,16384]", "%a_0_.1 = bf16[8192,8192]")
        ),
    )


@manipulation("GK316", "M04", base="formats")
def loop_multiplies_one_pair(bundle):
    """All products of the loop read the first set's A and B."""

    def same(text):
        first = OPERANDS.search(text)
        return OPERANDS.sub(first.group(0), text)

    return _text(bundle, same, LOOPED)


@manipulation("GK316", "M04", base="closed")
def unrolled_call_multiplies_one_pair(bundle):
    """Both products of an unrolled call read the same operands."""

    def same(text):
        return OPERANDS.sub(OPERANDS.search(text).group(0), text)

    return _text(bundle, same, DECODE)


@manipulation("GK316", "M04", base="closed")
def unrolled_call_multiplies_a_by_itself(bundle):
    """A product reads A twice and B never."""
    return _text(bundle, lambda t: t.replace("%b.1), custom_call", "%b.0), custom_call"), DECODE)


@manipulation(
    "GK206",
    "M04",
    variants={
        "alpha_0": {"old": '"alpha_real":1', "new": '"alpha_real":0'},
        "beta_1": {"old": '"beta":0', "new": '"beta":1'},
        "epilogue": {"old": '"epilogue":"DEFAULT"', "new": '"epilogue":"RELU"'},
        "alpha_imaginary": {"old": '"alpha_imag":0', "new": '"alpha_imag":1'},
    },
)
def another_product(bundle, old, new):
    """The product is scaled by nothing, added to, or followed by something."""
    return _text(bundle, lambda t: t.replace(old, new))


@manipulation(
    "GK206",
    "M04",
    variants={
        "lhs": {
            "old": '"lhs_contracting_dimensions":["1"]',
            "new": '"lhs_contracting_dimensions":["0"]',
        },
        "rhs": {
            "old": '"rhs_contracting_dimensions":["0"]',
            "new": '"rhs_contracting_dimensions":["1"]',
        },
        "batch": {"old": '"lhs_batch_dimensions":[]', "new": '"lhs_batch_dimensions":["0"]'},
    },
)
def another_contraction(bundle, old, new):
    """The product contracts along another dimension than the layout says."""
    return _text(bundle, lambda t: t.replace(old, new))


@manipulation("GK316", "M04")
def alias_removed(bundle):
    """The output is not written over a donated buffer."""
    return _text(bundle, lambda t: t.replace("input_output_alias={ {}: (0, {}, may-alias) }, ", ""))


@manipulation("GK316", "M04", base="closed")
def alias_covers_one_output(bundle):
    """Only the first of two outputs is written over a donated buffer."""
    return _text(bundle, lambda t: t.replace(", {1}: (1, {}, may-alias)", ""), DECODE)


@manipulation("GK316", "M04", base="closed")
def both_outputs_in_one_buffer(bundle):
    """Both outputs are written over one donated buffer."""
    return _text(
        bundle, lambda t: t.replace("{1}: (1, {}, may-alias)", "{1}: (0, {}, may-alias)"), DECODE
    )


def _before_product(line):
    return lambda t: t.replace("  %custom-call.1 =", f"  {line}\n  %custom-call.1 =", 1)


BIG = "bf16[8192,16384]{1,0}"
PLAIN = dict.fromkeys(
    (
        "copy",
        "transpose",
        "convert",
        "pad",
        "fusion",
        "copy_start",
        "custom_call",
        "unnamed",
        "unknown_opcode",
    ),
    "GK304",
)
HIDDEN = dict.fromkeys(("spaced", "unbalanced", "commented", "tab"), "GK206")


@manipulation(
    PLAIN | HIDDEN,
    "M04",
    base="closed",
    variants={
        "copy": {"line": "%c.1 = BIG copy(%a.0)"},
        "transpose": {"line": "%c.1 = BIG transpose(%a.0), dimensions={1,0}"},
        "convert": {"line": "%c.1 = f32[8192,16384]{1,0} convert(%a.0)"},
        "pad": {"line": "%c.1 = BIG pad(%a.0, %b.0), padding=0_0x0_0"},
        "fusion": {"line": "%c.1 = BIG fusion(%a.0), kind=kLoop, calls=%nowhere"},
        "copy_start": {"line": "%c.1 = (BIG, BIG, u32[]) copy-start(%a.0)"},
        "custom_call": {"line": '%c.1 = BIG custom-call(%a.0), custom_call_target="mine"'},
        "spaced": {"line": "%c.1 = BIG copy (%a.0)"},
        "unbalanced": {"line": "%c.1 = (BIG copy(%a.0)"},
        "unnamed": {"line": "c.1 = BIG copy(%a.0)"},
        "commented": {"line": "%c.1 = /*index=0*/ BIG copy(%a.0)"},
        "unknown_opcode": {"line": "%c.1 = BIG mine(%a.0)"},
        "tab": {"line": "\t%c.1 = BIG copy(%a.0)"},
    },
)
def work_beside_the_product(bundle, line):
    """Something stands beside the product, written plainly or so that a reader may miss it."""
    line = line.replace("BIG", BIG)
    return _text(
        bundle, lambda t: t.replace("  %cublas.0 =", f"  {line}\n  %cublas.0 =", 1), CLOSED
    )


@manipulation("GK206", "M04")
def brace_closes_early(bundle):
    """A closing brace makes a reader believe that the program ends before its last work."""
    return _text(
        bundle,
        lambda t: t.replace(
            "  ROOT", f"}}\n  %c.1 = {BIG} transpose(%a_0_.1), dimensions={{1,0}}\n  ROOT", 1
        ),
    )


@manipulation("GK206", "M04", variants={"before": {"before": True}, "after": {"before": False}})
def two_entries(bundle, before):
    """Two computations are called the entry; only one is honest."""
    other = (
        f"ENTRY %main.0 (x: {BIG}) -> {BIG} {{\n  %x = {BIG} parameter(0)\n"
        f"  ROOT %big = {BIG} copy(%x)\n}}\n\n"
    )
    if before:
        return _text(bundle, lambda t: t.replace("ENTRY %main.1", f"{other}ENTRY %main.1", 1))
    return _text(bundle, lambda t: f"{t}\n{other}")


@manipulation("GK206", "M04")
def transpose_behind_a_bitcast(bundle):
    """An instruction that costs nothing is given a body that transposes."""
    shape, other = "bf16[8192,16384]{1,0}", "bf16[16384,8192]{1,0}"
    nested = (
        f"%nested (p0: {shape}) -> {shape} {{\n  %p0 = {shape} parameter(0)\n"
        f"  ROOT %t = {shape} transpose(%p0), dimensions={{1,0}}\n}}\n\n"
        f"%inner (p0: {shape}, p1: {other}) -> bf16[8192,8192] {{\n  %p0 = {shape} parameter(0)\n"
        f"  %p1 = {other} parameter(1)\n  %f = {shape} bitcast(%p0), calls=%nested\n"
        f"  ROOT %d = bf16[8192,8192]{{1,0}} dot(%f, %p1), lhs_contracting_dims={{1}}, "
        "rhs_contracting_dims={0}\n}\n\nENTRY"
    )

    def hidden(text):
        text = text.replace("ENTRY", nested, 1)
        return re.sub(
            r"  %custom-call.1 = .*\n.*ROOT.*\n",
            "  ROOT %custom-call.1 = bf16[8192,8192]{1,0} fusion(%a_0_.1, %b_0_.1), "
            "kind=kCustom, calls=%inner\n",
            text,
        )

    return _text(bundle, hidden)


@manipulation(
    "GK304",
    "M04",
    base="formats",
    variants={
        "32": {"trips": "32"},
        "1": {"trips": "1"},
        "0": {"trips": "0"},
    },
)
def trips_of_the_loop(bundle, trips):
    """The loop goes round another number of times than the windows count."""
    return _text(
        bundle,
        lambda t: re.sub(
            r'"known_trip_count":\{"n":"\d+"', f'"known_trip_count":{{"n":"{trips}"', t
        ),
        LOOPED,
    )


@manipulation("GK206", "M04", base="formats")
def product_left_out_of_the_loop(bundle):
    """One product of the loop is not there; its output is the input that came in."""

    def without(text):
        lines = text.splitlines()
        place = next(i for i, line in enumerate(lines) if "custom-call(" in line)
        return "\n".join([*lines[:place], *lines[place + 1 :], ""])

    return _text(bundle, without, LOOPED)


@manipulation("GK502", "M18", base="formats")
def tf32_sold_as_fp32(bundle):
    """The TF32 run stands as the fp32 case's, its program told to keep every bit."""
    fp32, tf32 = "square_4096-fp32-nn", "square_4096-tf32-nn"
    (theirs,) = bundle.cases[tf32].runs
    ((_, text),) = bundle.cases[tf32].hlo.items()
    ((own, _),) = bundle.cases[fp32].hlo.items()
    found = with_fields(theirs.document, executable__hlo=own)
    run = numbered(bundle, replace(theirs, document=found), 1, fp32)
    bundle = _replaced(bundle, fp32, autotune=bundle.cases[tf32].autotune)
    bundle = replace(bundle, plan=replace(bundle.plan, cases=(bundle.plan.case(fp32),)))
    bundle = with_runs(bundle, {fp32: [run]})
    kept = text.replace('["DEFAULT","DEFAULT"]', '["HIGHEST","HIGHEST"]')
    return _text(bundle, lambda _: kept.replace("ALG_DOT_TF32_TF32_F32", "ALG_UNSET"), fp32)


@manipulation(
    "GK205",
    "M18",
    base="closed",
    variants={
        "float16": {"kind": "f16"},
        "float8": {"kind": "f8e4m3fn"},
        "int8": {"kind": "s8"},
        "float32": {"kind": "f32"},
    },
)
def another_type_multiplied(bundle, kind):
    """The program multiplies another type than the case names."""
    case = CLOSED
    return _text(bundle, lambda t: t.replace("bf16[", f"{kind}["), case)


@manipulation("GK206", "M18", base="closed")
def output_type_narrowed(bundle):
    """Only the output is of another type."""
    case = CLOSED
    return _text(bundle, lambda t: t.replace("%cublas.0 = (bf16[", "%cublas.0 = (f8e4m3fn["), case)


@manipulation("GK003", "M26")
def named_after_another_text(bundle):
    """The program's file is not called by its own digest."""
    case = bundle.cases[GUIDELINE]
    ((name, text),) = case.hlo.items()
    other = f"{int(name[:16], 16) ^ 1:016x}.hlo.txt"
    bundle = runs(bundle, document(executable__hlo=other))
    return _replaced(bundle, GUIDELINE, hlo={other: text})


def _replaced(bundle, name, **fields):
    return replace(bundle, cases=bundle.cases | {name: replace(bundle.cases[name], **fields)})


@manipulation("GK003", "M04")
def left_out(bundle):
    """The program is not handed over."""
    return _replaced(bundle, GUIDELINE, hlo={})


@manipulation("GK607", "M26", base="closed")
def of_another_program(bundle):
    """The text is that of another program than the tuner's candidates name."""
    changed = _text(
        bundle, lambda t: t.replace('"selected_algorithm":"0"', '"selected_algorithm":"2"'), CLOSED
    )
    before = bundle.cases[CLOSED].runs[0].document.dispatch.candidates
    return runs(changed, document(dispatch__candidates=before), case=CLOSED)


@manipulation("GK206", "M04")
def empty(bundle):
    """The program's text is a module without instructions."""
    return with_hlo(
        bundle, GUIDELINE, lambda _: "HloModule jit_gemms\n\nENTRY %main () -> () {\n}\n"
    )


@manipulation(
    "GK206",
    "M04",
    base="closed",
    variants={"words": {"text": "no program\n"}, "none": {"text": "\n"}},
)
def no_module(bundle, text):
    """The program's text is no HLO."""
    return with_hlo(bundle, CLOSED, lambda _: text)


@manipulation("GK316", "M04", base="formats")
def loop_on_its_own_outputs(bundle):
    """The loop's products read an output in place of A, so that its contents stay in the cache."""
    draw = np.random.default_rng(1)

    def chained(text):
        found = OPERANDS.findall(text)
        a = found[int(draw.integers(len(found)))][0]
        return OPERANDS.sub(lambda m: f"custom-call({a}, {m[2]}", text)

    return _text(bundle, chained, LOOPED)


@manipulation(
    {"shape": "GK206", "contraction": "GK206", "two_dots": "GK304"},
    "M04",
    base="cpu",
    variants={
        "shape": {"old": "f32[256,256]", "new": "f32[64,256]"},
        "contraction": {"old": "lhs_contracting_dims={1}", "new": "lhs_contracting_dims={0}"},
        "two_dots": {
            "old": "  ROOT %dot_general.0",
            "new": "  %dot.9 = f32[256,256]{1,0} dot(%param_0, %param_1), "
            "lhs_contracting_dims={1}, "
            "rhs_contracting_dims={0}\n  ROOT %dot_general.0",
        },
    },
)
def host_program_changed(bundle, old, new):
    """A CPU host's program multiplies something else."""
    return _text(bundle, lambda t: t.replace(old, new), "square_256-fp32-nn")
