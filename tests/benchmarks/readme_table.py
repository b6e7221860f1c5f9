"""The README's performance table from the JSON files of `overhead.py` and `against_torch.py`.

    python tests/benchmarks/readme_table.py [--write]

Reads `tests/benchmarks/results/h200-*.json`. With `--write` it replaces what stands between the two
marks in README.md; otherwise it prints the table. A ratio that was measured with another kernel
than the bundle's is marked.
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
        f"| {columns} | torch {version}, graph ÷ kit | eager ÷ kit | torch's kernel |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --- |",
    ]
    for row in overhead["rows"]:
        theirs = ratios.get(row["case"], {})
        mark = "†" if theirs.get("kernel", row["kernel"]) != row["kernel"] else ""
        lines.append(
            f"| `{row['case']}` | {row['period_us']:.5g} µs | {row['tflops']:.4g} "
            f"| {shown(row['sol_fraction'], '.1%')} | {shown(row['period_over_kernel'], '.3f')} "
            f"| {shown(row['replicate_range'], '.2%')} of {row['runs']} "
            f"| {shown(theirs.get('graph_ratio'), '.3f')}{mark} "
            f"| {shown(theirs.get('eager_ratio'), '.3f')}{mark} | {kernel_of_torch(theirs)} |"
        )
    means = (
        f"{geometric_mean(row[f'{way}_ratio'] for row in torch['rows']):.3f}"
        for way in ("graph", "eager")
    )
    return "\n".join([*lines, f"| geometric mean | | | | | | {' | '.join(means)} | |"])


def kernel_of_torch(row):
    """Whether torch launched the kernel that the kit did."""
    if not row:
        return "-"
    return "the kit's" if row["torch_kernel"] == row["kernel"] else "another"


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
