"""The round as one table, `summary.csv`: a line a case, by MLPerf's column names where they fit.

Every bundle has a line; one that was refused, or a case that was not measured, says why in `notes`.
A spreadsheet takes a cell for a formula if it begins with one of a few characters, and begins cells
where it sees a separator; an apostrophe before such a character makes it text (OWASP, *CSV
injection*). Numbers stay numbers.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import fields

from kit.checker.printable import printable
from kit.checker.verdict import CaseFigures, Verdict

_SYSTEM = (
    "number_of_nodes", "host_processor_model_name", "host_processors_per_node",
    "host_processor_core_count", "accelerator_model_name", "accelerators_per_node",
)  # fmt: skip
_BY_MLPERF = ("id", "number_format", "flops_per_s", "problem")
_FIGURES = tuple(field.name for field in fields(CaseFigures) if field.name not in _BY_MLPERF)
"""What none of MLPerf's columns says."""
COLUMNS = (
    "Organization", "Availability", "Division", "SystemName", "Platform", "Model", "Result",
    "Units", *_SYSTEM, "total_accelerators", "Location", "framework", "operating_system", "notes",
    "compliance", "errors", "version", "has_power", "weight_data_types", *_FIGURES, "digest",
)  # fmt: skip
"""MLPerf's names, then those of `kit.checker.verdict.CaseFigures`. `compliance` is the verdict and
how many rules were waived for it, `errors` the number of failed rules, `version` the edition,
`Model` the case."""

_LONGEST = 500
# Beginnings of a cell, of a quoted one and of one behind another separator; the last four of the
# characters that open a formula are the full-width forms that some locales take for the same.
_FORMULA = re.compile(r"((?:^|[;,|\t\r\n])[\s\"']*)([=+\-@\uff1d\uff0b\uff0d\uff20])")

Cell = str | int | float | bool | None


def summary_csv(verdicts: Sequence[Verdict]) -> str:
    """Return the table with its header; lines end with a line feed."""
    table = io.StringIO()
    rows = csv.DictWriter(
        table, COLUMNS, restval="", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n"
    )
    rows.writeheader()
    for verdict in verdicts:
        for row in _rows(verdict):
            rows.writerow({name: _cell(value) for name, value in row.items() if value is not None})
    return table.getvalue()


def _rows(verdict: Verdict) -> Iterator[dict[str, Cell]]:
    common = _common(verdict)
    cases = () if verdict.headline is None else verdict.headline.cases
    for case in cases:
        yield common | _case(case)
    if not cases:
        yield common


def _common(verdict: Verdict) -> dict[str, Cell]:
    row: dict[str, Cell] = {
        "Location": verdict.name,
        "notes": verdict.problem,
        "compliance": _compliance(verdict),
        "errors": sum(result.outcome == "fail" for result in verdict.rules),
        "version": verdict.edition,
        "digest": verdict.digest,
    }
    headline = verdict.headline
    if headline is not None:
        row |= {
            "Organization": headline.submitter,
            "Availability": headline.availability,
            "Division": headline.division,
            "Platform": headline.system_id,
        }
    if verdict.traits is not None:
        system = verdict.traits.system
        row |= {name: _number(system.get(name)) for name in _SYSTEM}
        row |= {name: system.get(name) for name in ("framework", "operating_system")}
        row["SystemName"] = system.get("system_name")
        nodes, each = row["number_of_nodes"], row["accelerators_per_node"]
        if isinstance(nodes, int) and isinstance(each, int):
            row["total_accelerators"] = nodes * each
    return row


def _compliance(verdict: Verdict) -> str:
    """The judgement; one that rests on waivers must not pass for a clean one."""
    count = len(verdict.waived)
    if verdict.judgement != "compliant" or not count:
        return verdict.judgement
    return f"compliant, {count} {'rule' if count == 1 else 'rules'} waived"


def _case(case: CaseFigures) -> dict[str, Cell]:
    row: dict[str, Cell] = {name: getattr(case, name) for name in _FIGURES}
    row |= {
        "Model": case.id,
        "weight_data_types": case.number_format,
        "has_power": case.power_mw is not None,
    }
    if case.problem:
        row["notes"] = f"not measured: {case.problem}"
    if case.flops_per_s is not None:
        row |= {"Result": case.flops_per_s * 1e-12, "Units": "TFLOP/s"}
    return row


def _number(text: str | None) -> Cell:
    return int(text) if text is not None and text.isascii() and text.isdigit() else text


def _cell(value: Cell) -> Cell:
    if isinstance(value, bool) or not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else value
    return _FORMULA.sub(r"\1'\2", printable(value, _LONGEST))
