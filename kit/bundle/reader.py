"""A hostile directory becomes a `Bundle`, or one `BundleError`."""

from dataclasses import dataclass
from pathlib import Path

from kit.evidence import (
    CaseRecord,
    Environment,
    Journal,
    Results,
    Run,
    SystemDescription,
)
from kit.plan import RunPlan
from kit.trace import Table


@dataclass(frozen=True, slots=True)
class IntegrityFault:
    """A payload file that is not what the sealed manifest says: altered, missing or unlisted."""

    path: str
    kind: str
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Container:
    """Every file of a bundle as bytes, read once; `digest` is the bundle's identity."""

    name: str
    digest: str
    files: dict[str, bytes]
    faults: tuple[IntegrityFault, ...]


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """One measured run: its document and its tables by file name (absent tables are absent)."""

    path: str
    document: Run
    tables: dict[str, Table]


@dataclass(frozen=True, slots=True)
class CaseEvidence:
    """One case: its outcomes, its HLO texts by file name, its measured runs in order."""

    path: str
    record: CaseRecord
    hlo: dict[str, str]
    runs: tuple[RunEvidence, ...]


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle whose every document has its schema's form. Nothing in it is believed yet."""

    container: Container
    plan: RunPlan
    system: SystemDescription
    environment: Environment
    journal: Journal
    claims: Results
    cases: dict[str, CaseEvidence]
    unknown_files: tuple[str, ...]


def read_container(path: Path) -> Container:
    """Read every file of the bundle at `path` once, without following or opening anything unsafe.

    Raises:
        BundleError: not a sealed bundle of the strict profile, or unsafe to read.
    """
    raise NotImplementedError


def parse(container: Container) -> Bundle:
    """Parse every document and table.

    Raises:
        BundleError: names the file and the place in it that has not the documented form.
    """
    raise NotImplementedError
