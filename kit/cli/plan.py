"""Show what `run` would measure and take, or freeze it into a file.

No device is touched. The estimate is for the product given by --device, or for this host's
processor when the backend runs there.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from kit.cli._files import is_stream, write_file
from kit.cli._telling import tell
from kit.errors import MeasurementError, UnwritableError, UsageError
from kit.estimate import CaseEstimate, Estimate, Target, estimate, planned_mode
from kit.plan import RunPlan
from kit.records import to_json
from kit.rotation import most_sets

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024


@click.command()
@click.argument("overrides", nargs=-1)
@click.option("--out", metavar="FILE", help="Write the frozen plan to this file.")
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--device", help="Product to estimate for, such as 'H200 SXM'.")
@click.option("--json", "as_json", is_flag=True, help="Print the estimate as JSON.")
@click.option("--config-dir", metavar="DIR", help="Folder with further group options.")
def command(  # noqa: PLR0913, PLR0917 - one for each option
    overrides: tuple[str, ...],
    out: str | None,
    force: bool,
    device: str | None,
    as_json: bool,
    config_dir: str | None,
) -> int:
    """Show what `gemm-kit run OVERRIDES` would measure and take; touch no device."""
    from kit.cli.run import compose
    from kit.runner.preflight import refuse_impossible

    plan = compose(overrides, config_dir).plan
    refuse_impossible(plan)
    taken = estimate(plan, _target(plan, device))
    if out is not None:
        path = Path(out)
        if path.is_dir() or path.name == "-":
            raise UsageError(f"--out {out!r} is no file", hint="name a file in a folder of yours")
        if path.exists() and not force and not is_stream(path):
            raise UsageError(f"{path} exists", hint="--force replaces it")
        _write(plan, path)
        tell(f"wrote {path}")
    if as_json:
        print(json.dumps(to_json(taken), indent=1, sort_keys=True))
    else:
        print("\n".join(_table(plan, taken)))
    return 0


def _write(plan: RunPlan, path: Path) -> None:
    from kit.bundle.documents import format_document
    from kit.bundle.durable import require_outside_bundles

    require_outside_bundles(path)
    try:
        write_file(path, format_document(plan, "plan"))
    except UnwritableError as error:
        raise UsageError(f"--out {error.problem}", hint="give --out another place") from None


def _target(plan: RunPlan, device: str | None) -> Target:
    from kit.gpu_table import rows, rows_named

    if device is not None:
        by_name = {row.product.lower(): row for row in rows()}
        row = by_name.get(device.lower())
        if row is None:
            from kit.nearest import did_you_mean

            # `NVIDIA H200`, as the driver calls it, may be one of several products.
            meant = " or ".join(sorted(row.product for row in rows_named(device)))
            known = [row.product for row in rows()]
            hint = f"did you mean {meant}?" if meant else did_you_mean(device, known)
            raise UsageError(f"device {device!r} is unknown", hint=hint)
        return Target(row.product, row.l2_bytes, row.memory_bytes, row)
    if plan.backend.platform == "cpu":
        return _host()
    return Target("a GPU not named by --device", None, None, None)


def _host() -> Target:
    from kit.system.cpu import cache_bytes, memory_bytes

    try:
        return Target("this host's processor", cache_bytes(), memory_bytes(), None)
    except MeasurementError:
        return Target("this host's processor", None, None, None)


def _table(plan: RunPlan, taken: Estimate) -> list[str]:
    head = ("case", "sets", "inputs/set", "output/set", "all sets", "launches", "SOL", "one run")
    cells = [head, *(_row(case) for case in taken.cases)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(head))]
    lines = ["  ".join(_aligned(row, widths)).rstrip() for row in cells]
    cache = "cache unknown" if taken.cache_bytes is None else f"{_size(taken.cache_bytes)} cache"
    clock = f", SOL at {taken.graphics_mhz} MHz" if taken.graphics_mhz else ""
    per_device = "" if plan.backend.platform == "cpu" else " on each device"
    cases, runs_each = len(taken.cases), plan.replicates
    runs = f"{_counted(cases, 'case')}, {_counted(runs_each, 'run')} each"
    least = f"at least {taken.shortest_s:.0f} s"
    lines += ["", f"For {taken.device}: {cache}{clock}."]
    if plan.backend.platform == "cpu" and taken.graphics_mhz:
        lines.append("The plan itself runs on a processor: backend=cuda measures a GPU.")
    lines.append(f"{runs}{per_device}, {least},")
    beside = "" if plan.backend.platform == "cpu" else ", tuning, tracing and counting"
    lines.append(f"and what filling and compiling{beside} take.")
    if taken.cache_bytes is None:
        lines.append("What is - depends on the GPU: --device 'H200 SXM' estimates for that one.")
    if any(case.sets != case.most_sets for case in taken.cases):
        lines.append("How many sets a device loop takes depends on the GEMM's own time.")
    allowed = most_sets(planned_mode(plan))
    return [*lines, *filter(None, (_misfit(case, allowed) for case in taken.cases))]


def _misfit(case: CaseEstimate, allowed: int) -> str:
    """The line about a case that takes too many sets, or more memory than there may be; else ""."""
    if case.sets is not None and case.sets > allowed:
        return f"{case.id} is too small to measure: {case.sets} sets, and {allowed} are the most."
    if case.fits is False:
        least = "" if case.sets == case.most_sets else "at least "
        return f"{case.id} does not fit: {least}{_size(case.pool_bytes)} for {case.sets} sets."
    if case.fits is None and case.most_pool_bytes is not None:
        most = f"at most {_size(case.most_pool_bytes)} for {case.most_sets} sets"
        return f"{case.id} may not fit: {most}."
    return ""


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _row(case: CaseEstimate) -> tuple[str, ...]:
    return (
        case.id,
        _sets(case),
        _size(case.input_bytes_per_set),
        _size(case.output_bytes_per_set),
        _pool(case),
        f"{case.warm_up_launches}+{case.profiling_launches}",
        "-" if case.sol_ns is None else f"{case.sol_ns / 1e3:.2f} µs",
        f"{case.shortest_s:.1f} s",
    )


def _sets(case: CaseEstimate) -> str:
    if case.sets is None:
        return "-"
    if case.most_sets is None:
        return f"{case.sets} or more"
    return str(case.sets) if case.sets == case.most_sets else f"{case.sets} to {case.most_sets}"


def _pool(case: CaseEstimate) -> str:
    """What all sets take: the least, the most or both."""
    if case.sets == case.most_sets:
        return _size(case.pool_bytes)
    if case.most_pool_bytes is None:
        return f"at least {_size(case.pool_bytes)}"
    return f"at most {_size(case.most_pool_bytes)}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
    return [row[0].ljust(len(first)), *others]


def _size(count: int | None) -> str:
    """Bytes in the largest binary unit of which there is at least one."""
    if count is None:
        return "-"
    value, unit = float(count), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.4g} {_UNITS[unit]}"
