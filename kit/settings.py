"""What does a composed configuration, as plain data, ask for: which plan, and a bundle where?"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, get_type_hints

from kit.errors import UsageError
from kit.plan import RunPlan, build_cases
from kit.records import to_json
from kit.ruleset import CURRENT
from kit.workload import sizes_said

# Keys of the configuration that are not the plan's: where the bundle goes, and what cases are
# made of.
_BESIDE_THE_PLAN = ("output", "name")
_INGREDIENTS = ("suite", "workload", "number_format")
_MADE_HERE = ("cases", "overrides")
_PLAIN_INTERPOLATION = re.compile(r"\$\{[A-Za-z0-9_.]+\}")
_DIGITS = re.compile(r"[0-9A-Fa-f]+", re.ASCII)
_KEY = re.compile(r"[+~]*([^=]+)")


@dataclass(frozen=True, slots=True)
class Settings:
    """A plan, the folder of the submission tree, and the bundle's own name (None: by the time)."""

    plan: RunPlan
    output: str
    name: str | None


def refuse_resolvers(value: object, place: str) -> None:
    """Allow `${key}`, which repeats another value of the configuration, and nothing else.

    Resolvers such as `${oc.env:HOME}` would carry this machine's secrets into a bundle.

    Raises:
        UsageError: a text below `value` holds anything else that is interpolated.
    """
    if isinstance(value, Mapping):
        for key, entry in value.items():
            refuse_resolvers(entry, f"{place}.{key}" if place else str(key))
    elif isinstance(value, list | tuple):
        for i, entry in enumerate(value):
            refuse_resolvers(entry, f"{place}[{i}]")
    elif isinstance(value, str) and "${" in _PLAIN_INTERPOLATION.sub("", value):
        raise UsageError(
            f"{place}: resolvers are not allowed in {value!r}", hint="give the value itself"
        )


def require_keys(composed: Mapping[str, Any]) -> None:
    """Hold the outermost keys against those of a configuration.

    Raises:
        UsageError: one is missing, or is no group of keys where one belongs.
    """
    kinds = get_type_hints(RunPlan)
    for key in (*kinds, *_INGREDIENTS, *_BESIDE_THE_PLAN):
        if key in _MADE_HERE:
            continue
        if key not in composed:
            raise UsageError(f"{key}: missing", hint=f"leave out ~{key}")
        is_group = key in _INGREDIENTS or is_dataclass(kinds.get(key))
        if is_group and not isinstance(composed[key], Mapping):
            raise UsageError(f"{key} must be a group of keys", hint=f"give {key}.KEY=VALUE")


def settings(
    composed: Mapping[str, Any], resolved: Mapping[str, Any], overrides: Sequence[str]
) -> Settings:
    """Make the plan of a configuration, before (`composed`) and after (`resolved`) interpolation.

    Raises:
        UsageError: a key or value is not one of a plan's, or an override would have no effect.
    """
    keys = {override: key_of(override) for override in overrides}
    _refuse_idle_overrides(composed, keys)
    _refuse_false_name(composed, set(keys.values()))
    document = {
        key: value
        for key, value in resolved.items()
        if key not in _BESIDE_THE_PLAN and key not in _INGREDIENTS
    }
    submission = resolved["submission"]
    if "challenge" in submission:
        challenge = _challenge(submission["challenge"], overrides)
        document["submission"] = {**submission, "challenge": challenge}
    document["edition"] = CURRENT if resolved["edition"] is None else resolved["edition"]
    document["devices"] = _devices(resolved["devices"])
    document["cases"] = to_json(build_cases(_entries(resolved["suite"])))
    document["overrides"] = [
        override for override, key in keys.items() if key.split(".")[0] not in _BESIDE_THE_PLAN
    ]
    try:
        plan = RunPlan.from_json(document)
        plan.require_names()
    except UsageError as error:
        problem = error.problem.removeprefix("plan: ")
        place, _, fault = problem.partition(": ")
        if fault == "must be text":
            raise _not_text(place) from None
        raise UsageError(problem, hint=error.hint) from None
    return with_place(plan, resolved["output"], resolved["name"])


def with_place(plan: RunPlan, output: object, name: object) -> Settings:
    """A plan, and where its bundle shall lie.

    Raises:
        UsageError: the folder or the bundle's name is empty, does not print, or is no text.
    """
    folder = _filled("output", output, "name a folder; . is the one you are in")
    if name is None:
        return Settings(plan, folder, None)
    return Settings(plan, folder, _filled("name", name, "without one the time names the bundle"))


def _filled(place: str, value: object, remedy: str) -> str:
    if not isinstance(value, str):
        raise _not_text(place)
    if not value:
        raise UsageError(f"{place} is empty", hint=remedy)
    if not value.isprintable():  # it is told on stdout as it is, for programs
        raise UsageError(f"{place} {value!r} holds what does not print", hint="name another one")
    return value


def key_of(override: str) -> str:
    """Key or group that a Hydra override such as `phases=quick` or `+a.b=1` is about."""
    match = _KEY.match(override)
    return match[1].strip() if match else ""


def _refuse_idle_overrides(composed: Mapping[str, Any], keys: Mapping[str, str]) -> None:
    """A suite that brings its own workloads would silently drop a chosen one."""
    for override, key in keys.items():
        group = key.split(".")[0]
        if group in ("workload", "number_format") and f"${{{group}" not in str(composed["suite"]):
            raise UsageError(
                f"{override} would have no effect: the suite fixes each {group} itself",
                hint="choose suite=single",
            )


def _refuse_false_name(composed: Mapping[str, Any], keys: set[str]) -> None:
    """A preset whose size was changed would still carry the preset's name."""
    name = str(composed["workload"].get("name"))
    said = sizes_said(name)
    # `with_batch` tells it in a name that says one product's sizes.
    fixed = ("m", "n", "k") if said is not None and said[0] == 1 else ("m", "n", "k", "batch")
    changed = sorted(keys & {f"workload.{size}" for size in fixed})
    if changed and "workload.name" not in keys and "${" not in name:
        raise UsageError(
            f"{changed[0]} changes the size of the workload called {name}",
            hint="choose workload=custom with workload.m, workload.n and workload.k, "
            "or give workload.name too",
        )


def _challenge(value: object, overrides: Sequence[str]) -> object:
    """The nonce in lower case. One of digits is a number to Hydra, and is taken as it was typed."""
    if isinstance(value, int | float):
        given = [text for text in overrides if key_of(text) == "submission.challenge"]
        typed = given[-1].partition("=")[2].strip() if given else ""
        value = typed if _DIGITS.fullmatch(typed) else value
    return value.lower() if isinstance(value, str) else value


def _devices(value: object) -> object:
    """`devices=0` is a number to Hydra and `devices=[0,1]` a list; a plan has text."""
    if isinstance(value, list):
        return ",".join(str(entry) for entry in value)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _entries(suite: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    cases = suite.get("cases")
    if not isinstance(cases, list) or not all(
        isinstance(case, dict)
        and case.keys() == {"workload", "number_format"}
        and isinstance(case["workload"], dict)
        for case in cases
    ):
        raise UsageError(
            "suite.cases is not a list of cases", hint="each has one workload and one number_format"
        )
    return cases


def _not_text(place: str) -> UsageError:
    return UsageError(f"{place} must be text", hint=f"quote it: {place}='\"...\"'")
