"""The bundle holds a file that has no meaning.

## What it checks
Every payload file is one that the kit's layout knows: the documents, and per case its outcomes,
compiled programs, run documents and tables.

## Why it matters
A file that no rule reads is not evidence. It may be what the submitter believes to be evidence, or
something that should never have left the machine.

## How to fix
Let the kit write the bundle, and keep notes and logs beside it.

## Clause
M26: a result is judged from evidence that everybody reads in the same way.

## Example
Passes: `data/` as the kit wrote it.
Fails: `data/cases/square-bf16-nn/notes.txt`.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.ruleset import Ruleset


@rule("GK002", "file-unknown", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Name every file that nothing reads."""
    for path in bundle.unknown_files:
        yield Finding(path, "a file that the layout does not know", "only files of the layout")
