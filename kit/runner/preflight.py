"""What is refused before anything is measured: a plan that nothing here could fulfil."""

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec

from kit.backends import backends
from kit.errors import MeasurementError, UndecidableError, UsageError
from kit.jax_variables import NAMES, required
from kit.nearest import did_you_mean
from kit.plan import RunPlan
from kit.ruleset import ruleset
from kit.telemetry import sources

_GPU = re.compile(r"[0-9]{1,4}|gpu-[0-9a-f-]+")
"""An NVML index, a UUID or a bundle's name for one, in lower case."""


def preflight(plan: RunPlan, environment: Mapping[str, str] = os.environ) -> None:
    """Refuse what could only fail later, or would be ignored.

    Raises:
        UsageError: the plan or the environment asks for something that cannot be.
        MeasurementError: JAX is not installed.
    """
    refuse_impossible(plan)
    _refuse_hostile_environment(environment)
    if find_spec("jax") is None:
        raise MeasurementError("JAX is not installed", hint="pip install '.[run]' in the checkout")


def refuse_impossible(plan: RunPlan) -> None:
    """Refuse what no machine could measure, or no checker accept: what the plan alone tells.

    Raises:
        UsageError: says what to choose instead.
    """
    try:
        ruleset(plan.edition)
    except UndecidableError as error:
        raise UsageError(error.problem, hint=error.hint) from None
    plan.validate()
    plan.require_names()
    _refuse_unknown(plan)
    if plan.backend.platform == "cpu":
        _refuse_gpu_only(plan)
    else:
        _refuse_devices(plan.devices)
        _refuse_seldom(plan)
    if plan.submission.division == "closed":
        _refuse_unproven(plan)


def _refuse_hostile_environment(environment: Mapping[str, str]) -> None:
    """Refuse settings under which nothing honest can be measured."""
    for name in NAMES:
        value = environment.get(name, "")
        wanted = required(name, value)
        if wanted is not None:
            problem = f"{name}={value[:40]!r} changes what JAX measures"
            raise UsageError(problem, hint=f"it has to be {wanted}")


def _refuse_unknown(plan: RunPlan) -> None:
    """Refuse a backend or a source of telemetry that this kit does not have."""
    for place, name, known in (
        ("backend.name", plan.backend.name, backends()),
        ("telemetry.source", plan.telemetry.source, sources()),
    ):
        if name not in known:
            raise UsageError(f"{place}={name} is unknown", hint=did_you_mean(name, known))


def _refuse_devices(devices: str) -> None:
    """Refuse what is the name of no GPU on any machine, and what names one twice."""
    if devices.strip() == "all":
        return
    named: set[str] = set()
    for given in devices.split(","):
        entry = given.strip().lower()
        if not _GPU.fullmatch(entry):
            hint = "all, or NVML indices or UUIDs, separated by commas"
            raise UsageError(f"devices={devices}: {given.strip()!r} is no GPU", hint=hint)
        gpu = str(int(entry)) if entry.isdecimal() else entry
        if gpu in named:
            raise UsageError(f"devices={devices} names {gpu} twice", hint="name each once")
        named.add(gpu)


def _refuse_gpu_only(plan: RunPlan) -> None:
    """Refuse what only a GPU can do, where it would be ignored or fail in the end."""
    asked = (
        ("division=closed", plan.submission.division == "closed", "division=open"),
        (
            "test_type=fixed_frequency",
            plan.test_type.name == "fixed_frequency",
            "test_type=fixed_power",
        ),
        (f"timing={plan.timing.method}", plan.timing.method != "host_clock", "timing=host_clock"),
        ("telemetry=nvml", plan.telemetry.source == "nvml", "telemetry=host"),
        (f"counters={plan.counters.tool}", plan.counters.tool != "none", "counters=none"),
        (f"devices={plan.devices}", plan.devices != "all", "devices=all"),
    )
    for name, is_asked, instead in asked:
        if is_asked:
            raise UsageError(f"{name} needs a GPU", hint=f"backend=cuda, or {instead}")


def _refuse_seldom(plan: RunPlan) -> None:
    """Refuse to sample so seldom that GK401 would find gaps."""
    rules = ruleset(plan.edition)
    asked = (
        ("clock_period_ms", plan.telemetry.clock_period_ms, rules.longest_clock_period_ms),
        ("power_period_ms", plan.telemetry.power_period_ms, rules.longest_power_period_ms),
    )
    for name, period_ms, longest_ms in asked:
        if period_ms > longest_ms:
            problem = f"telemetry.{name}={period_ms} leaves gaps in the telemetry"
            raise UsageError(problem, hint=f"{longest_ms} or less")


def _refuse_unproven(plan: RunPlan) -> None:
    """Refuse a closed submission that lacks evidence by its own plan."""
    least, method = ruleset(plan.edition).minimum_replicates, plan.timing.method
    lacking = (
        ("counters=none", plan.counters.tool == "none", "counters=xla or counters=ncu"),
        (f"timing={method}", method != "cuda_events", "timing=cuda_events"),
        ("evidence=none", not plan.evidence.kernel_trace, "evidence=full"),
        (f"replicates={plan.replicates}", plan.replicates < least, f"replicates={least} or more"),
    )
    for name, is_lacking, instead in lacking:
        if is_lacking:
            raise UsageError(f"{name} proves too little for the closed division", hint=instead)
