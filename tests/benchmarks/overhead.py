"""How close a bundle's periods come to its kernels' own times, and its replicates to one another.

    python tests/benchmarks/overhead.py BUNDLE... [--json FILE]

Reads bundles, measures nothing. `÷ kernel` is the mean period over the median kernel of the trace,
each at the clock that it met, and the largest of all runs. Gaps between kernels, their median and
their share of the time, are those of the first run's trace. Other figures are those that `check`
shows. Of a case in several bundles the last one given counts.
"""

import argparse
import json
from pathlib import Path

from kit.bundle.reader import parse, read_container
from kit.checker.headline import headline
from kit.checker.recomputed import recompute
from kit.errors import BundleError
from kit.kernels import kernel_figures


def rows(path):
    """A row for each case of the bundle that was measured."""
    try:
        bundle = parse(read_container(path))
    except BundleError as error:
        raise SystemExit(f"{path}: {error}") from None
    devices = {device.id: device.name for device in bundle.environment.devices}
    shown_by_check = {figures.id: figures for figures in headline(bundle).cases}
    for case in recompute(bundle):
        runs = [entry.metrics for entry in case.runs if entry.metrics is not None]
        if not runs:
            continue
        figured = shown_by_check[case.case.id]
        document, evidence = case.runs[0].run.document, case.runs[0].run.evidence
        kernels = kernel_figures(evidence.trace, evidence.tables)
        yield {
            "case": case.case.id,
            "device": devices[runs[0].device],
            "dispatch": document.dispatch.mode,
            "implementation": document.executable.implementation,
            "sets": document.rotation.sets,
            "runs": len(runs),
            "period_us": figured.period_ns / 1e3,
            "tflops": figured.flops_per_s / 1e12,
            "sol_fraction": figured.sol_fraction,
            "clock_mhz": figured.graphics_mhz,
            "power_w": scaled(figured.power_mw, 1e-3),
            "period_over_kernel": max(
                (run.period_over_kernel for run in runs if run.period_over_kernel is not None),
                default=None,
            ),
            "replicate_range": figured.replicate_range,
            "kernel": kernels and kernels.gemm_name,
            "gap_us": kernels and kernels.gap_median_ns / 1e3,
            "gap_share": kernels and kernels.gap_share,
        }


def scaled(value, factor):
    """The product, or None of nothing."""
    return None if value is None else value * factor


def shown(value, form):
    """The value in a format, or a dash."""
    return "-" if value is None else format(value, form)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("bundles", type=Path, nargs="+")
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    found = {row["case"]: row for path in given.bundles for row in rows(path)}
    print(
        f"{'case':38} {'dispatch':12} {'runs':>4} {'µs':>10} {'÷ kernel':>9} {'range %':>8} "
        f"{'gap µs':>7} {'gaps %':>7}"
    )
    for row in found.values():
        print(
            f"{row['case']:38} {row['dispatch']:12} {row['runs']:4} {row['period_us']:10.3f} "
            f"{shown(row['period_over_kernel'], '9.4f'):>9} "
            f"{shown(scaled(row['replicate_range'], 100), '8.2f'):>8} "
            f"{shown(row['gap_us'], '7.3f'):>7} {shown(scaled(row['gap_share'], 100), '7.2f'):>7}"
        )
    if given.json:
        given.json.write_text(json.dumps({"rows": list(found.values())}, indent=1) + "\n")


if __name__ == "__main__":
    main()
