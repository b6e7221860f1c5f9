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
from bundles import with_environment
from kit.records import from_json, to_json
from kit.resources import SCHEMAS
from kit.trace import TABLES

FACTORS = {"x0.9": 0.9, "x1.1": 1.1}
DOCUMENTS = (
    "plan",
    "system",
    "environment",
    "journal",
    "results",
    "case",
    "run",
    "trace",
    "counters",
)


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
        changed = replace(bundle, **{name: record(getattr(bundle, name))})
        # Runs take the environment's digest; a cheater does too.
        return with_environment(changed) if file == "environment.json" else changed
    if file == "run.json":
        return runs(bundle, lambda run: replace(run, document=record(run.document)))
    if file == "trace.json":
        return runs(bundle, lambda run: replace(run, trace=record(run.trace)))
    if file in TABLES:
        most = {column.name: column.maximum for column in TABLES[file].columns}[path]
        return runs(bundle, columns(file, **{path: lambda v: np.minimum(v * factor, most)}))

    def changed(case):
        if file == "case.json":
            return replace(case, record=record(case.record))
        return replace(case, counters={device: record(c) for device, c in case.counters.items()})

    cases = {name: changed(case) for name, case in bundle.cases.items()}
    return replace(bundle, cases=cases)


BOUND = {
    "GK005": ("run.json: telemetry.health[].bursts",),
    "GK104": (
        "system.json: host_processor_core_count", "system.json: host_memory_capacity_bytes",
        "system.json: accelerator_memory_capacity_bytes", "environment.json: cpu_logical_cores",
        "environment.json: memory_bytes", "environment.json: devices[].memory_bytes",
    ),
    "GK202": ("plan.json: seed",),
    "GK203": tuple(f"buffers.csv: bin_{i}" for i in range(16)),
    "GK204": (
        *(f"plan.json: cases[].workload.{name}" for name in "mnk"),
        "outputs.csv: row", "outputs.csv: column", "outputs.csv: bits_low",
    ),
    "GK301": ("run.json: phases.warm_up_launches", "run.json: phases.profiling_launches",
              "plan.json: timing.windows", "windows.csv: launches"),
    "GK303": ("run.json: loops.allocator_before.*", "run.json: loops.allocator_after.*"),
    "GK304": ("run.json: executable.alias_bytes",),
    "GK306": ("buffers.csv: address_before", "buffers.csv: address_after"),
    "GK307": (
        "environment.json: devices[].cache_bytes", "run.json: rotation.cache_bytes",
        "run.json: rotation.input_bytes_per_set", "run.json: rotation.output_bytes_per_set",
    ),
    "GK308": ("windows.csv: first_launch",),
    "GK309": (
        *(f"run.json: timing.{edge}.{side}_ns" for edge in ("start", "end")
          for side in ("before", "after")),
        "run.json: timing.controls[].launches", "run.json: timing.controls[].duration_ns",
        "windows.csv: duration_ns",
    ),
    "GK311": (
        "run.json: phases.idle_end_ns", "run.json: phases.cool_down_start_ns",
        "run.json: phases.cool_down_end_ns", "windows.csv: enqueue_start_ns",
        "windows.csv: enqueue_end_ns", "host.csv: t_ns",
    ),
    "GK314": ("trace.json: calls", "trace.json: launches"),
    "GK404": tuple(f"run.json: limits_{when}.power_{name}_mw" for when in ("before", "after")
                   for name in ("enforced", "default", "minimum", "maximum")),
    "GK412": ("clocks.csv: graphics_mhz", "clocks.csv: sm_mhz"),
    "GK501": tuple(
        f"results.json: {name}" for name in (
            *(f"cases[].runs[].{figure}" for figure in (
                "launches", "mean_period_ns", "median_period_ns", "spread", "flops_per_s",
                "graphics_mhz", "memory_mhz", "power_average_mw", "power_instant_mw",
                "power_energy_mw", "gpu_c", "memory_c", "sol_ns", "sol_fraction", "kernel_ns",
                "period_over_kernel", "sol_fraction_at_maximum_clock", "datasheet_fraction",
                "energy_per_gemm_j", "flops_per_s_per_watt")),
            "cases[].period_ns", "cases[].flops_per_s")
    ),
}  # fmt: skip
"""Figures that the committed H200 bundle (for the host's series: the CPU's) has, by their rule."""

CLOSED_BOUND = {
    "GK004": ("journal.json: entries[].sequence", "journal.json: entries[].t_ns",
              "run.json: started_ns", "run.json: ended_ns"),
    "GK109": ("environment.json: devices[].sm_count", "environment.json: devices[].memory_bus_bits",
              "environment.json: devices[].maximum_graphics_mhz",
              "environment.json: devices[].maximum_memory_mhz"),
    "GK203": ("buffers.csv: checksum",),
    "GK311": ("run.json: phases.idle_start_ns", "clocks.csv: t_ns", "power.csv: t_ns",
              "energy.csv: t_ns"),
    "GK315": ("kernels.csv: duration_ns",),
    "GK501": ("results.json: cases[].replicate_range",),
}  # fmt: skip
"""Those that bind several runs, or the closed division: tried on the recorded closed bundle."""

ONE_WAY = {
    "plan.json: telemetry.clock_period_ms": ("GK401", "x1.1"),
    "plan.json: telemetry.power_period_ms": ("GK401", "x1.1"),
    "plan.json: phases.warm_up_min_launches": ("GK301", "x1.1"),
    "plan.json: phases.profiling_min_launches": ("GK301", "x1.1"),
    "run.json: telemetry.health[].period_ns": ("GK401", "x0.9"),
    "clocks.csv: memory_mhz": ("GK409", "x1.1"),
    "power.csv: power_average_mw": ("GK406", "x1.1"),
    "power.csv: power_instant_mw": ("GK406", "x0.9"),
    "energy.csv: energy_mj": ("GK406", "x1.15"),
    "power.csv: sw_power_cap_ns": ("GK412", "x1.1"),
    "kernels.csv: start_ns": ("GK315", "x0.9"),
}
"""Bound on one side only: a plan asks for minima, power has a limit above and a cap below."""

BY_OTHERS = {
    ("kernels.csv: duration_ns", "x1.1"): "GK319",
    ("run.json: started_ns", "x1.1"): "GK311",
}
"""Where the rule of one factor is not that of the other."""

_INDEX = "an index, a flag or a count of so few that a tenth changes nothing; others change it"
_ZERO = "zero in an honest bundle, where a factor changes nothing; others raise it"
_MINIMUM = "a minimum or a limit that the plan asked for, and the run went beyond"
_INFORMS = "informs only: no figure of merit follows from it"
_ABSENT = "no honest bundle here supplies it"

FREE = {
    _INDEX: (
        "plan.json: replicates", "plan.json: system.host_processors_per_node",
        "plan.json: backend.tuning_attempts", "plan.json: cases[].workload.batch",
        "system.json: number_of_nodes", "system.json: host_processors_per_node",
        "system.json: accelerators_per_node", "journal.json: entries[].run",
        "results.json: cases[].runs[].number", "case.json: runs[].number", "run.json: number",
        "run.json: executable.gemms_per_call", "run.json: dispatch.candidates[].attempt",
        "run.json: dispatch.candidates[].gemms.*", "run.json: rotation.sets",
        "counters.json: rotation_sets", "counters.json: counters[].passes",
        "counters.json: counters[].sets[]", "windows.csv: phase", "clocks.csv: event_reasons",
        "buffers.csv: operand", "buffers.csv: set", "outputs.csv: set", "outputs.csv: batch",
        "kernels.csv: name",
    ),
    _ZERO: (
        "run.json: loops.compilations", "run.json: loops.drains",
        "run.json: dispatch.candidates[].extra.*", "run.json: telemetry.health[].overruns",
        "run.json: telemetry.health[].failed", "run.json: telemetry.health[].lost",
        *(f"run.json: limits_{when}.{name}" for when in ("before", "after")
          for name in ("other_processes", "ecc_errors")),
        "power.csv: sync_boost_ns", "power.csv: sw_thermal_ns", "power.csv: hw_thermal_ns",
        "power.csv: hw_power_brake_ns", "outputs.csv: bits_high",
    ),
    _MINIMUM: (
        "plan.json: timeout_s", "plan.json: telemetry.energy_period_ms",
        "plan.json: phases.idle_s", "plan.json: phases.warm_up_min_s",
        "plan.json: phases.warm_up_max_s", "plan.json: phases.profiling_min_s",
        "plan.json: phases.cool_down_min_s", "plan.json: phases.cool_down_max_s",
    ),
    _INFORMS: (
        "environment.json: devices[].pcie_generation", "environment.json: devices[].pcie_width",
        "run.json: executable.temporary_bytes", "run.json: dispatch.candidates[].period_ns",
        "counters.json: counters[].samples", "host.csv: busy_ms", "host.csv: steal_ms",
        "host.csv: burst_ns", "clocks.csv: burst_ns", "power.csv: burst_ns", "energy.csv: burst_ns",
        "power.csv: gpu_c", "power.csv: memory_c",
    ),
    _ABSENT: (
        "plan.json: test_type.clock_mhz", "journal.json: clock_locks[].requested_mhz",
        "journal.json: clock_locks[].set_ns", "journal.json: clock_locks[].reset_ns",
        "host.csv: cpu_mhz", "host.csv: cpu_c", "host.csv: package_energy_uj",
    ),
    "18 zeros of 134 million elements: a tenth is far inside what chance gives": (
        "buffers.csv: zeros",
    ),
    "a tenth lies inside the pilot's law, which asks for 0.7 of a period": (
        "run.json: dispatch.pilot_enqueue_ns", "run.json: dispatch.pilot_period_ns",
    ),
    "GK315 lets no clock of a trace explain more than the edition says": (
        "trace.json: graphics_mhz",
    ),
    "a GEMM of this size reads its operands 4.5 times; a tenth less is still a cold cache": (
        "counters.json: counters[].values[]", "counters.json: counters[].launches_per_value",
    ),
}  # fmt: skip
"""Why a factor of 0.9 or 1.1 on these binds no rule."""


def _register():
    for base, table in (("guideline", BOUND), ("closed", CLOSED_BOUND)):
        for rule, figures in table.items():
            for figure in figures:
                _add(figure, rule, "cpu" if figure.startswith("host.csv") else base, FACTORS)
    for figure, (rule, label) in ONE_WAY.items():
        _add(figure, rule, "closed" if figure.startswith("kernels") else "guideline",
             {label: float(label[1:])})  # fmt: skip


def _add(figure, rule, base, factors):
    for label, factor in factors.items():
        add(Manipulation(
            "figures", f"{figure} {label}", base, "attack", BY_OTHERS.get((figure, label), rule),
            f"Every {figure} is {factor:g} times itself.", "records", scaled,
            {"figure": figure, "factor": factor}, claims=not figure.startswith("results.json"),
        ))  # fmt: skip


_register()
