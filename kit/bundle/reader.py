"""A hostile directory becomes a `Bundle`, or one `BundleError`."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kit.bundle.container import Container, IntegrityFault, read_container
from kit.bundle.documents import parse_document
from kit.bundle.layout import (
    CASES,
    ENVIRONMENT,
    JOURNAL,
    PAYLOAD,
    PLAN,
    RESULTS,
    RUN,
    SYSTEM,
    TRACE,
    autotune_file,
    case_file,
    case_folder,
    counters_file,
    hlo_file,
)
from kit.bundle.tables import Source, load, load_all
from kit.counters import DeviceCounters
from kit.errors import BundleError
from kit.evidence import (
    CaseRecord,
    Environment,
    Journal,
    KernelTrace,
    Results,
    Run,
    SystemDescription,
)
from kit.plan import MOST_RUNS, RunPlan
from kit.signature import Signature, Signers
from kit.trace import TABLES, Table

__all__ = [
    "Auditor",
    "Bundle",
    "CaseEvidence",
    "Container",
    "IntegrityFault",
    "RunEvidence",
    "parse",
    "read_container",
]

Record = TypeVar("Record")
MAXIMUM_DOCUMENT_BYTES = 64 * 2**20
"""Of all JSON documents together: five times those of a thousand H200 runs."""
MAXIMUM_HLO_BYTES = 8 * 2**20
MAXIMUM_HLO_TOTAL_BYTES = 4 * MAXIMUM_HLO_BYTES
"""Of all programs together: twelve times what those squares have."""
MAXIMUM_HLO_LINES = 300_000
"""Lines of all programs together: those of the four smallest squares on an H200 have 9,810."""
MAXIMUM_AUTOTUNE_BYTES = 2**20
MAXIMUM_CELLS = 48_000_000
"""Numbers in all tables together, eight bytes each: those of a thousand H200 runs of 48,000."""

_FIXED = frozenset((PLAN, SYSTEM, ENVIRONMENT, JOURNAL, RESULTS))
_CASE_PATH = re.compile(
    rf"{CASES}/(?P<case>[^/]+)/(?:case\.json|(?P<hlo>[0-9a-f]{{16}}\.hlo\.txt)"
    r"|(?P<autotune>[0-9a-f]{16}\.autotune\.txt)"
    r"|counters/(?P<counted>cpu|gpu-[0-9a-f]{12})\.json"
    r"|runs/(?P<run>(?:cpu|gpu-[0-9a-f]{12})-[0-9]{2})/(?P<file>[^/]+))"
)


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """One measured run: its folder, its document and its tables by file name.

    Absent tables are absent; `trace` is None where `trace.json` is. The document may contradict its
    folder's name; rules compare them.
    """

    path: str
    document: Run
    tables: dict[str, Table]
    trace: KernelTrace | None = None


@dataclass(frozen=True, slots=True)
class CaseEvidence:
    """One case: folder, outcomes, HLO texts and autotune results by file name, measured runs.

    `counters` are its hardware counters by the device that their file is named after.
    """

    path: str
    record: CaseRecord
    hlo: dict[str, str]
    autotune: dict[str, str]
    runs: tuple[RunEvidence, ...]
    counters: dict[str, DeviceCounters] = field(default_factory=dict)


def _nothing() -> None:
    """Nobody waits for a sign of life."""


@dataclass(frozen=True, slots=True)
class Auditor:
    """What the auditor brings: the challenge that was asked for, and whether to spend more time.

    A rule that does spend it calls `going_on` at least every few seconds.

    `signers` says whom to trust to sign; null: signatures are not looked at.
    """

    challenge: str | None = None
    deep: bool = False
    going_on: Callable[[], None] = _nothing
    signers: Signers | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle whose every document has its schema's form. Nothing in it is believed yet.

    `cases` is keyed by folder name. `unknown_files` are payload paths without a meaning.
    `auditor` does not come from the bundle: rules that compare it with the evidence read it there.
    Nor does `signature`, which is what the auditor's signers make of the bundle's; null: not asked.
    `known` is for `kit.remembered`.
    """

    container: Container
    plan: RunPlan
    system: SystemDescription
    environment: Environment
    journal: Journal
    claims: Results
    cases: dict[str, CaseEvidence]
    unknown_files: tuple[str, ...]
    auditor: Auditor = Auditor()
    signature: Signature | None = None
    known: dict[tuple[Any, ...], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )


@dataclass(slots=True)
class _CaseFiles:
    """The names found in one case's folder: programs, tuning, counted devices, each run's files."""

    hlo: list[str] = field(default_factory=list)
    autotune: list[str] = field(default_factory=list)
    counted: list[str] = field(default_factory=list)
    runs: dict[str, list[str]] = field(default_factory=dict)


def parse(container: Container) -> Bundle:
    """Parse every document and table.

    Raises:
        BundleError: names the file and the place in it that has not the documented form.
    """
    files = container.files
    found, unknown = _sort(files)
    _bound_runs(found.values())
    _bound_documents([data for path, data in files.items() if path.endswith(".json")])
    _bound_programs([data for path, data in files.items() if path.endswith(".hlo.txt")])
    _bound_cells([files[path] for path in files if path.endswith(".csv")])
    tables = load_all(_tables(found, files))
    return Bundle(
        container=container,
        plan=_document(RunPlan, files, PLAN),
        system=_document(SystemDescription, files, SYSTEM),
        environment=_document(Environment, files, ENVIRONMENT),
        journal=_document(Journal, files, JOURNAL),
        claims=_document(Results, files, RESULTS),
        cases={case: _parse_case(case, names, files, tables) for case, names in found.items()},
        unknown_files=tuple(unknown),
    )


def _sort(files: dict[str, bytes]) -> tuple[dict[str, _CaseFiles], list[str]]:
    """Return the files of each case, and the payload files that have no meaning."""
    found: dict[str, _CaseFiles] = {}
    unknown = []
    for path in sorted(files):
        if path in _FIXED or not path.startswith(f"{PAYLOAD}/"):
            continue
        match = _CASE_PATH.fullmatch(path)
        if match is None or match["file"] not in (None, RUN, TRACE, *TABLES):
            unknown.append(path)
            continue
        names = found.setdefault(match["case"], _CaseFiles())
        if match["hlo"]:
            names.hlo.append(match["hlo"])
        elif match["autotune"]:
            names.autotune.append(match["autotune"])
        elif match["counted"]:
            names.counted.append(match["counted"])
        elif match["run"]:
            names.runs.setdefault(match["run"], []).append(match["file"])
    return found, unknown


def _bound_runs(cases: Iterable[_CaseFiles]) -> None:
    """Refuse more runs than any plan asks for: every one of them is compared with others."""
    runs = sum(len(names.runs) for names in cases)
    if runs > MOST_RUNS:
        raise BundleError(f"it holds {runs} runs; {MOST_RUNS} are allowed")


def _bound_documents(texts: list[bytes]) -> None:
    """Refuse documents that would become ten times their size in memory, and seconds of work."""
    octets = sum(map(len, texts))
    if octets > MAXIMUM_DOCUMENT_BYTES:
        raise BundleError(
            f"its documents have {octets} bytes; {MAXIMUM_DOCUMENT_BYTES} are allowed"
        )


def _bound_programs(texts: list[bytes]) -> None:
    """Refuse programs whose instructions take more memory and time than honest ones ever do."""
    octets = sum(map(len, texts))
    if octets > MAXIMUM_HLO_TOTAL_BYTES:
        raise BundleError(
            f"its programs have {octets} bytes; {MAXIMUM_HLO_TOTAL_BYTES} are allowed"
        )
    lines = sum(text.count(b"\n") + 1 for text in texts)
    if lines > MAXIMUM_HLO_LINES:
        raise BundleError(f"its programs have {lines} lines; {MAXIMUM_HLO_LINES} are allowed")


def _bound_cells(tables: list[bytes]) -> None:
    """Refuse tables of a few bytes a number, which take four times their own size when parsed."""
    if sum(map(len, tables)) <= 2 * MAXIMUM_CELLS:  # a cell and what ends it
        return
    cells = sum(table.count(b",") + table.count(b"\n") for table in tables)
    if cells > MAXIMUM_CELLS:
        raise BundleError(f"its tables hold {cells} numbers; {MAXIMUM_CELLS} are allowed")


def _tables(found: dict[str, _CaseFiles], files: dict[str, bytes]) -> list[Source]:
    """Every table of every run."""
    places = (
        (f"{case_folder(case)}/runs/{run}/{name}", TABLES[name])
        for case, names in found.items()
        for run, run_files in names.runs.items()
        for name in run_files
        if name in TABLES
    )
    return [(contract, files[path], path) for path, contract in places]


def _parse_case(
    case: str, names: _CaseFiles, files: dict[str, bytes], tables: dict[str, Table]
) -> CaseEvidence:
    record = _document(CaseRecord, files, case_file(case))
    hlo = {name: _text(files, hlo_file(case, name), MAXIMUM_HLO_BYTES) for name in names.hlo}
    autotune = {
        name: _text(files, autotune_file(case, name), MAXIMUM_AUTOTUNE_BYTES)
        for name in names.autotune
    }
    folder = case_folder(case)
    runs = (
        _parse_run(f"{folder}/runs/{run}", run_files, files, tables)
        for run, run_files in names.runs.items()
    )
    counters = {
        device: _document(DeviceCounters, files, counters_file(case, device))
        for device in names.counted
    }
    return CaseEvidence(folder, record, hlo, autotune, tuple(runs), counters)


def _parse_run(
    folder: str, names: list[str], files: dict[str, bytes], tables: dict[str, Table]
) -> RunEvidence:
    """Put a run together; if there are no `tables`, one of the bundle's has a fault."""
    document = _document(Run, files, f"{folder}/{RUN}")
    own = {}
    for name in names:
        path = f"{folder}/{name}"
        if name in TABLES:
            own[name] = tables[path] if tables else load(TABLES[name], files[path], path)
    trace = _document(KernelTrace, files, f"{folder}/{TRACE}") if TRACE in names else None
    return RunEvidence(folder, document, own, trace)


def _document(kind: type[Record], files: dict[str, bytes], path: str) -> Record:
    if path not in files:
        raise BundleError(f"{path}: is missing")
    return parse_document(kind, files[path], path)


def _text(files: dict[str, bytes], path: str, maximum: int) -> str:
    data = files[path]
    if len(data) > maximum:
        raise BundleError(f"{path}: has {len(data)} bytes; {maximum} are allowed")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BundleError(f"{path}: not UTF-8 at byte {error.start}") from None
