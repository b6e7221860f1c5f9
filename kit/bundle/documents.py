"""Which dataclass each JSON document is, and the way from one to the other through its schema."""

from typing import TypeVar

from kit.bundle import schema, strict_json
from kit.counters import DeviceCounters
from kit.errors import BundleError, UsageError
from kit.evidence import (
    CaseRecord,
    Environment,
    Journal,
    KernelTrace,
    Results,
    Run,
    SystemDescription,
)
from kit.plan import RunPlan
from kit.records import to_json

Record = TypeVar("Record")

SCHEMA_OF: dict[type, str] = {
    RunPlan: "plan",
    SystemDescription: "system",
    Environment: "environment",
    Journal: "journal",
    CaseRecord: "case",
    Run: "run",
    KernelTrace: "trace",
    DeviceCounters: "counters",
    Results: "results",
}


def parse_document(kind: type[Record], data: bytes, place: str) -> Record:
    """Read one document; `place` names it in errors.

    Raises:
        BundleError: not strict JSON, not of the schema's form, or not a sound plan.
    """
    value = strict_json.loads(data, place)
    try:
        record = schema.decode(SCHEMA_OF[kind], kind, value, place)
        if isinstance(record, RunPlan):
            record.validate()
    except UsageError as error:
        raise BundleError(f"{place}: {error.problem}", hint=error.hint) from None
    except ValueError as error:
        raise BundleError(f"{place}: {error}") from None
    return record


def format_document(record: object, place: str) -> bytes:
    """Return the document's bytes, after reading them back as the checker will.

    Raises:
        BundleError: the checker would refuse this document.
    """
    try:
        data = strict_json.dumps(to_json(record))
    except (TypeError, ValueError) as error:
        raise BundleError(f"{place}: {error}") from None
    parse_document(type(record), data, place)
    return data
