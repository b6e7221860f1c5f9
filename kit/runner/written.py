"""What a worker wrote of a run into the unsealed bundle, read back as the checker will read it."""

from pathlib import Path

from kit.bundle import layout
from kit.bundle.documents import parse_document
from kit.bundle.tables import load
from kit.evidence import Run, RunOutcome
from kit.trace import TABLES, Table


def read_run(bundle: Path, case: str, outcome: RunOutcome) -> tuple[Run, dict[str, Table], str]:
    """The run's document, its tables by file name, and its program's text."""
    folder = bundle / layout.run_folder(case, outcome.device, outcome.number)
    place = folder.name
    document = parse_document(Run, (folder / layout.RUN).read_bytes(), f"{place}/{layout.RUN}")
    tables = {
        file: load(contract, (folder / file).read_bytes(), f"{place}/{file}")
        for file, contract in TABLES.items()
        if (folder / file).exists()
    }
    program = bundle / layout.hlo_file(case, document.executable.hlo)
    return document, tables, program.read_text(encoding="utf-8")
