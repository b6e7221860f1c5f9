"""The compiled program differs between replicates, or is not the one that was tuned.

## What it checks
All runs of a case on one device launched the same program: their normalised HLO, which names the
selected algorithm or Triton configuration, has one digest, and they replayed one file of autotune
results. On a GPU that file is there, the compiler was told to replay it and not to tune, and the
program is the one that the tuner's candidates make the fastest without work beside its GEMMs. The
kernels are those of the implementation that the plan asks for, by the compiler's options, by the
HLO and, where a traced GEMM's name tells, by the kernel trace. The open division may leave the
tuner out, and is warned.

## Why it matters
Left alone, XLA settles on other kernels in each process, several per cent apart. Replicates of
different programs say nothing about how reproducible either is, and the best of many tunings must
not be picked by its result.

## How to fix
Let the tuner run: `backend.tuning_attempts` of 1 or more. If XLA refuses the stored results, look
at the status `untuned` of the run: driver, library or device may have changed under the bundle.

## Clause
M26: results are reproducible. M05: the implementation is chosen as it will be used.

## Example
Passes: three runs with `17cf5d8db6d2b408.hlo.txt` and one autotune file.
Fails: a run in the closed division that tuned for itself.
"""

from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle, CaseEvidence
from kit.candidates import choose
from kit.checker.programs import program
from kit.checker.rule import Finding, Severity, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.plan import Implementation
from kit.ruleset import Ruleset
from kit.xla_options import COMPLETE, KERNELS, LOAD

_FOREIGN: dict[Implementation, tuple[str, ...]] = {
    "library": ("fusion", "triton"),
    "triton": ("cublas", "cutlass", "nvjet", "xmma"),
}
"""Words in the names of the other implementation's kernels; other names tell nothing."""
_PRODUCTS: dict[Implementation, str] = {"library": "__cublas", "triton": "fusion"}


@rule("GK607", "executable-differs", clauses=("M05", "M26"), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare the runs of each case and device, then each run with its tuning."""
    severity = methodology_severity(bundle)
    for folder, case in bundle.cases.items():
        yield from _differences(folder, case, severity)
    planned = bundle.plan.backend.implementation

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        if bundle.plan.backend.platform != "cuda":
            return
        yield from _pinned(run, severity)
        yield from _chosen(run, severity)
        found = run.document.executable.implementation
        if planned not in ("best", found):
            yield Finding(run.at("executable.implementation"), found, f"{planned}, as planned")
        yield from _kernels(run)
        yield from _traced(run)

    yield from judge_runs(bundle, judge)


def _differences(folder: str, case: CaseEvidence, severity: Severity) -> Iterator[Finding]:
    for device in sorted({run.document.device for run in case.runs}):
        here = [run.document.executable for run in case.runs if run.document.device == device]
        for what, names in (
            ("programs", sorted({executable.hlo for executable in here})),
            ("tunings", sorted({executable.autotune or "none" for executable in here})),
        ):
            if len(names) > 1:
                found = f"{len(names)} {what} on {device}: {', '.join(names)}"
                required = "the same in every run of a case and device"
                yield Finding(layout.case_file(folder), found, required, severity)


def _pinned(run: MeasuredRun, severity: Severity) -> Iterator[Finding]:
    executable = run.document.executable
    if executable.autotune is None:
        found = f"none: {executable.autotune_reason or 'no reason given'}"
        required = "the tuner's results, replayed"
        yield Finding(run.at("executable.autotune"), found, required, severity)
        return
    for name, required in ((LOAD, executable.autotune), (COMPLETE, "True")):
        found = executable.options.get(name, "not set")
        if found != required:
            yield Finding(run.at(f"executable.options.{name}"), found, required)


def _chosen(run: MeasuredRun, severity: Severity) -> Iterator[Finding]:
    executable = run.document.executable
    if executable.autotune is None:
        return
    best = choose(run.document.dispatch.candidates)
    if best is None:
        found = "no candidate that was timed"
        yield Finding(run.at("dispatch.candidates"), found, "those that the tuner timed", severity)
    elif (best.hlo, best.implementation) != (executable.hlo, executable.implementation):
        found = f"{executable.implementation} {executable.hlo}"
        required = f"{best.implementation} {best.hlo}, the tuner's fastest without extra work"
        yield Finding(run.at("executable"), found, required, severity)


def _kernels(run: MeasuredRun) -> Iterator[Finding]:
    executable = run.document.executable
    option, value = KERNELS[executable.implementation]
    found = executable.options.get(option, "not set")
    if found != value:
        required = f"{value}, for implementation {executable.implementation}"
        yield Finding(run.at(f"executable.options.{option}"), found, required)
    compiled = program(run)
    kernels = _PRODUCTS[executable.implementation]
    others = sorted(kind for kind in compiled.census.gemms if not kind.startswith(kernels))
    if others:
        required = f"{kernels}, for implementation {executable.implementation}"
        yield Finding(f"{compiled.place}: products", ", ".join(others), required)


def _traced(run: MeasuredRun) -> Iterator[Finding]:
    trace, implementation = run.evidence.trace, run.document.executable.implementation
    name = "" if trace is None else trace.gemm_name or ""
    if any(word in name.lower() for word in _FOREIGN[implementation]):
        required = f"a kernel of implementation {implementation}, as the program"
        yield Finding(run.at("gemm_name", layout.TRACE), name, required)
