"""Whether a parsed document has the form that its JSON Schema prescribes.

Only the schemas that come with the kit are used. The registry holds nothing else and cannot fetch,
so a `$schema` or `$ref` inside a bundle is text like any other.
"""

import json
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kit.bundle.decoder import Decoder, NotSureError, compile_decoder
from kit.bundle.foreign_text import shown
from kit.errors import BundleError
from kit.records import from_json
from kit.resources import SCHEMAS

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

MAXIMUM_ERRORS = 50
Record = TypeVar("Record")
_TOO_LARGE = "too large to validate"
_EXHAUSTED = (RecursionError, OverflowError)
_SHOWN_ENTRIES = 12


@cache
def documents() -> dict[str, Any]:
    """Return the kit's schemas by their short names."""
    return {
        path.name.removesuffix(".schema.json"): json.loads(path.read_bytes())
        for path in sorted(SCHEMAS.glob("*.schema.json"))
    }


@cache
def decoder(name: str, kind: Any) -> Decoder:
    """Return the quick way from JSON data by the schema called `name` to a value of type `kind`."""
    return compile_decoder(documents()[name], kind)


@cache
def validator(name: str) -> "Draft202012Validator":
    """Return the validator of the schema called `name`; it can resolve the kit's schemas only."""
    # An eighth of the time that checking one bundle takes, and needed to explain faults alone.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.validators import extend  # noqa: PLC0415
    from referencing import Registry, Resource  # noqa: PLC0415

    resources = [Resource.from_contents(document) for document in documents().values()]
    registry: Registry[Any] = Registry().with_resources(
        (str(resource.id()), resource) for resource in resources
    )
    ordered = extend(
        Draft202012Validator, {"additionalProperties": _additional(Draft202012Validator)}
    )
    return ordered(documents()[name], registry=registry)


def _additional(standard: Any) -> Any:
    """`additionalProperties` in the order of names; `jsonschema`'s is that of the hash seed."""

    def check(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        if not isinstance(wanted, dict) or not isinstance(instance, dict):
            yield from standard.VALIDATORS["additionalProperties"](
                validator, wanted, instance, schema
            )
            return
        for name in sorted(instance.keys() - schema.get("properties", {})):
            yield from validator.descend(instance[name], wanted, path=name)

    return check


def decode(name: str, kind: type[Record], document: object, place: str) -> Record:
    """Return `document`, which must have the form of the schema called `name`, as a `kind`.

    Raises:
        BundleError: as `validate` does.
        ValueError: only the schema takes it: for it, 1.0 is a whole number.
    """
    hint: Any = kind
    try:
        record: Record = decoder(name, hint)(document)
    except NotSureError:
        _explain(name, document, place)
        record = from_json(kind, document)
    except _EXHAUSTED:
        raise BundleError(f"{place}: {_TOO_LARGE}") from None
    return record


def validate(name: str, document: object, place: str) -> None:
    """Check `document` against the schema called `name`; `place` names the document in errors.

    Raises:
        BundleError: the first fault with its place in the document, and how many there are.
    """
    try:
        decoder(name, Any)(document)
    except NotSureError:
        _explain(name, document, place)
    except _EXHAUSTED:
        raise BundleError(f"{place}: {_TOO_LARGE}") from None


def _explain(name: str, document: object, place: str) -> None:
    """Raise what `jsonschema` finds wrong, if anything."""
    try:
        faults = list(islice(validator(name).iter_errors(document), MAXIMUM_ERRORS))
        problem = _problem(faults[0]) if faults else ""
    except _EXHAUSTED:
        raise BundleError(f"{place}: {_TOO_LARGE}") from None
    if faults:
        more = f"; {_count(len(faults))} in all" if len(faults) > 1 else ""
        raise BundleError(f"{place}: {problem}{more}")


def _count(faults: int) -> str:
    return f"{faults} faults" if faults < MAXIMUM_ERRORS else f"{MAXIMUM_ERRORS} faults or more"


def _problem(fault: "ValidationError") -> str:
    """One line from the fault's path and keyword; never the library's text, which is unbounded."""
    return f"{_path(fault)}: {_requirement(fault)}, found {_summary(fault.instance)}"


def _path(fault: "ValidationError") -> str:
    steps = (
        f"[{step}]"
        if isinstance(step, int)
        else f".{step}"
        if step.isidentifier()
        else f"[{shown(step)}]"
        for step in islice(fault.absolute_path, 2 * _SHOWN_ENTRIES)
    )
    return "$" + "".join(steps)


def _requirement(fault: "ValidationError") -> str:
    wanted, instance = fault.validator_value, fault.instance
    match fault.validator:
        case "type":
            names = [wanted] if isinstance(wanted, str) else wanted
            return f"must be of type {' or '.join(names)}"
        case "required":
            return f"must have {_listing([key for key in wanted if key not in instance])}"
        case "additionalProperties":
            known = cast("dict[str, Any]", fault.schema)["properties"]
            extra = [key for key in instance if key not in known]
            return f"must not have {_listing(extra)}"
        case "enum":
            return f"must be one of {_listing(wanted)}"
        case keyword:
            limit = shown(wanted, 120) if isinstance(wanted, str) else json.dumps(wanted)
            return f"must satisfy {keyword} {limit}"


def _listing(entries: list[Any]) -> str:
    texts = [shown(entry) if isinstance(entry, str) else str(entry) for entry in entries]
    more = ", ..." if len(texts) > _SHOWN_ENTRIES else ""
    return ", ".join(texts[:_SHOWN_ENTRIES]) + more


def _summary(value: object) -> str:
    match value:
        case str():
            return shown(value)
        case dict():
            return f"an object of {len(value)} keys"
        case list():
            return f"a list of {len(value)}"
        case _:
            return json.dumps(value)
