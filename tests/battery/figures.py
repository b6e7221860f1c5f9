"""Every figure of every file, times 0.9 and times 1.1: which rule binds it, or why none does.

The figures are read from the schemas and the column contract (`all_figures`); `BOUND` and `FREE`
account for each of them, and a test holds that. All occurrences of a figure in a bundle change
together, and the claims follow: one value alone would be the easier catch.
"""

import json
from dataclasses import replace

import numpy as np

from battery.forging import columns, runs
from battery.registry import Manipulation, add
from kit.records import from_json, to_json
from kit.resources import SCHEMAS
from kit.trace import TABLES

FACTORS = {"x0.9": 0.9, "x1.1": 1.1}
DOCUMENTS = ("plan", "system", "environment", "journal", "results", "case", "run", "trace", "counters")


def all_figures():
    """`file: path` of every number in a schema and of every column of a table."""
    for name in DOCUMENTS:
        schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
        yield from (f"{name}.json: {path}" for path in _numbers(schema, "", schema))
    for file, contract in TABLES.items():
        yield from (f"{file}: {column.name}" for column in contract.columns)


def _numbers(schema, path, root):
    schema = root["$defs"][schema["$ref"].rsplit("/", 1)[-1]] if "$ref" in schema else schema
    kinds = schema.get("type")
    if {"integer", "number"} & set(kinds if isinstance(kinds, list) else [kinds]):
        yield path
    for other in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from _numbers(other, path, root)
    for name, inner in schema.get("properties", {}).items():
        yield from _numbers(inner, f"{path}.{name}" if path else name, root)
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        if isinstance(schema.get(key), dict):
            yield from _numbers(schema[key], path + mark, root)


def times(document, path, factor):
    """A copy of JSON data with the numbers at `path` multiplied; `[]` and `*` mean all of them."""
    name, _, rest = path.partition(".")
    if name.endswith("[]"):
        head = name.removesuffix("[]")
        found = document[head] if head else document
        new = [times(entry, rest, factor) if rest else _product(entry, factor) for entry in found]
        return document | {head: new} if head else new
    if document is None:
        return None
    names = list(document) if name == "*" else [name]
    return document | {
        key: times(document[key], rest, factor) if rest else _product(document[key], factor)
        for key in names
    }


def _product(value, factor):
    if value is None or isinstance(value, bool):
        return value
    return round(value * factor) if isinstance(value, int) else value * factor


def scaled(bundle, figure, factor):
    """The bundle with one figure multiplied wherever it stands."""
    file, path = figure.split(": ")

    def record(old):
        return from_json(type(old), times(to_json(old), path, factor))

    fields = {"plan.json": "plan", "system.json": "system", "environment.json": "environment",
              "journal.json": "journal", "results.json": "claims"}  # fmt: skip
    if file in fields:
        name = fields[file]
        return replace(bundle, **{name: record(getattr(bundle, name))})
    if file == "run.json":
        return runs(bundle, lambda run: replace(run, document=record(run.document)))
    if file == "trace.json":
        return runs(bundle, lambda run: replace(run, trace=record(run.trace)))
    if file in TABLES:
        most = {column.name: column.maximum for column in TABLES[file].columns}[path]
        return runs(bundle, columns(file, **{path: lambda v: np.minimum(v * factor, most)}))
    cases = {}
    for name, case in bundle.cases.items():
        if file == "case.json":
            case = replace(case, record=record(case.record))
        else:
            counters = {device: record(held) for device, held in case.counters.items()}
            case = replace(case, counters=counters)
        cases[name] = case
    return replace(bundle, cases=cases)
