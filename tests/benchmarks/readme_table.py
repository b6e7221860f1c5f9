"""The README's performance table from the JSON files of `overhead.py` and `against_torch.py`.

    python tests/benchmarks/readme_table.py [--write]

Reads `tests/benchmarks/results/h200-*.json`. With `--write` it replaces what stands between the two
marks in README.md; otherwise it prints the table.
"""

import json
import sys
from pathlib import Path
from statistics import geometric_mean

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
START, END = "<!-- performance table -->", "<!-- end of performance table -->"


def table():
    """The table as Markdown."""
    overhead = json.loads((HERE / "results/h200-overhead.json").read_text())
    torch = json.loads((HERE / "results/h200-torch.json").read_text())
    ratios = {row["case"]: row for row in torch["rows"]}
    (version,) = {row["torch"] for row in torch["rows"]}
    columns = "case | mean time | TFLOP/s | of SOL | period ÷ kernel | range of runs"
    lines = [
        f"| {columns} | torch {version}, graph ÷ kit | eager ÷ kit |",
        "| --- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for row in overhead["rows"]:
        theirs = ratios.get(row["case"], {})
        lines.append(
            f"| `{row['case']}` | {row['period_us']:.5g} µs | {row['tflops']:.4g} "
            f"| {shown(row['sol_fraction'], '.1%')} | {shown(row['period_over_kernel'], '.3f')} "
            f"| {shown(row['replicate_range'], '.2%')} of {row['runs']} "
            f"| {shown(theirs.get('graph_ratio'), '.3f')} "
            f"| {shown(theirs.get('eager_ratio'), '.3f')} |"
        )
    means = (
        f"{geometric_mean(row[f'{way}_ratio'] for row in torch['rows']):.3f}"
        for way in ("graph", "eager")
    )
    return "\n".join([*lines, f"| geometric mean | | | | | | {' | '.join(means)} |"])


def shown(value, form):
    """The value in a format, or a dash."""
    return "-" if value is None else format(value, form)


def renewed(text):
    """The README with its table made anew."""
    before, rest = text.split(START)
    _, after = rest.split(END)
    return f"{before}{START}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        README.write_text(renewed(README.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table())
