"""The README's performance table is what its script makes of the stored results."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_table_is_the_scripts():
    script = runpy.run_path(str(ROOT / "tests/benchmarks/readme_table.py"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert script["renewed"](text) == text
    (row,) = [line for line in text.splitlines() if line.startswith("| `guideline_")]
    changed = text.replace(row, row.replace(" µs", "1 µs"))
    assert changed != text
    assert script["renewed"](changed) == text
