"""Every form of program that XLA made of the kit's own launches, with the case it was made for.

Real texts of an H200 (`data/h200/hlo`, `data/h200/hlo_forms`, `submissions/`) and what this
machine's compiler makes of each number format.
"""

import json
import re
from functools import cache
from pathlib import Path

import jax

from kit.backends import Build
from kit.backends.jax_gemm import connect
from kit.number_format import FORMATS, number_format
from kit.plan import Case
from kit.workload import Workload
from recorded import FOLDER

_NAME = re.compile(
    r"(?P<format>\w+?)_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)(?:_b(?P<batch>\d+))?_(?P<layout>[nt]{2})"
    r"_(?P<mode>single|unrolled|device_loop)(?:_\w+)?\.hlo\.txt"
)
_LOOP_SETS = {"bf16_1024x1024x1024_nn_device_loop": 30, "int8_4096x4096x4096_nt_device_loop": 4}
_SETS = 3
SUBMISSIONS = Path(__file__).parents[1] / "submissions"


def recorded_forms():
    """(name, text, workload, number format, sets of a call) of every recorded H200 program."""
    for path in sorted((*(FOLDER / "hlo").iterdir(), *(FOLDER / "hlo_forms").iterdir())):
        name = _NAME.fullmatch(path.name)
        sizes = (int(name[key]) for key in ("m", "n", "k"))
        work = Workload("w", *sizes, int(name["batch"] or 1), name["layout"])
        sets = _LOOP_SETS.get(path.name.removesuffix(".hlo.txt"), _SETS)
        yield (
            path.name.removesuffix(".hlo.txt"),
            path.read_text(),
            work,
            number_format(name["format"]),
            1 if name["mode"] == "single" else sets,
        )


def recorded_form(name):
    """One of `recorded_forms`, without its name."""
    return next(form[1:] for form in recorded_forms() if form[0] == name)


def submitted_forms():
    """The same of every program of the committed bundles."""
    for path in sorted(SUBMISSIONS.rglob("*.hlo.txt")):
        plan = json.loads((path.parents[2] / "plan.json").read_text())
        case = next(case for case in plan["cases"] if case["id"] == path.parent.name)
        run = json.loads(next(path.parent.rglob("run.json")).read_text())
        sets = min(run["executable"]["gemms_per_call"], run["rotation"]["sets"])
        work = Workload(**case["workload"])
        yield path.parent.name, path.read_text(), work, number_format(case["number_format"]), sets


@cache
def compiled_here(name, layout, batch, mode):
    """What this machine's compiler makes of a small case: text, workload, number format, sets."""
    work = Workload("w", 64, 96, 128, batch, layout)
    sets = 1 if mode == "single" else _SETS
    row = FORMATS[name]
    with jax.enable_x64(row.needs_x64):
        gemms = connect("cpu", Case("c", work, name))
        _, text = gemms.compile(mode, sets, Build("library"))
    return text, work, row, sets
