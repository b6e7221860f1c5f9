"""Measure what a configuration or a frozen plan asks for: one bundle.

The only module that knows Hydra. A frozen plan (`--plan`) is measured without it, on machines that
do not have it.
"""

import os
import re
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from kit.cli import report, run_command
from kit.cli._faults import explained
from kit.cli._signals import interrupt_on_termination
from kit.cli._telling import tell
from kit.errors import KitError, UsageError
from kit.nearest import did_you_mean
from kit.plan import RunPlan
from kit.records import to_json
from kit.resources import CONFIGS
from kit.settings import Settings, refuse_resolvers, require_keys, settings, with_place

if TYPE_CHECKING:
    from omegaconf import DictConfig

_CONFIG = "run"
_PLAN_REMEDY = "gemm-kit plan --out writes a plan"


def main(arguments: Sequence[str]) -> int:
    """Measure; returns the exit code, the worst one of a sweep.

    Raises:
        KitError: nothing was measured.
    """
    if any(word.split("=")[0] == "--plan" for word in arguments):
        return run_command(_frozen, "run", list(arguments))
    if not _has_hydra() and not {"-h", "--help"}.isdisjoint(arguments):
        return run_command(_frozen, "run", ["--help"])
    return _configured(arguments)


_MORE_HELP = """\b
Without --plan, `gemm-kit run [GROUP=OPTION | KEY=VALUE]...` measures what a
configuration asks for. That needs hydra-core: pip install '.[run]' in the checkout;
--help then lists groups and keys.

\b
Exit status: 0 measured and compliant, 1 measured but not compliant, 2 wrong use,
or standard output could not be written (stderr then names the bundle), 4 internal
error, 6 could not measure, 130 interrupted before anything was measured or before
the verdict on it, or a sweep that was interrupted."""


@click.command(epilog=_MORE_HELP)
@click.option(
    "--plan",
    "path",
    metavar="PLAN.json",
    type=click.Path(exists=True, path_type=Path),
    required=True,
    help="What to measure.",
)
@click.option(
    "--output",
    default="submissions",
    show_default=True,
    type=click.Path(file_okay=False),
    help="Folder of the submission tree.",
)
@click.option("--name", help="Name of the bundle's own folder.")
def _frozen(path: Path, output: str, name: str | None) -> int:
    """Measure the frozen plan that `gemm-kit plan --out` wrote."""
    return _measure(with_place(read_plan(path), output, name))


def read_plan(path: Path) -> RunPlan:
    """Read a frozen plan as strictly as a bundle's.

    Raises:
        UsageError: the file cannot be read, or is no plan.
    """
    from kit.bundle.documents import parse_document
    from kit.bundle.strict_json import read_bounded
    from kit.errors import BundleError

    try:
        return parse_document(RunPlan, read_bounded(path), str(path))
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
        raise UsageError(problem, hint="name a file that can be read") from None
    except BundleError as error:
        raise UsageError(error.problem, hint=error.hint or _PLAN_REMEDY) from None


def _measure(asked: Settings, job: str = "") -> int:
    """Measure; `job` is what a sweep's job is told by."""
    from kit.runner.launcher import measure

    def announce(bundle: Path) -> None:
        try:
            print(f"bundle: {bundle}", flush=True)
        except OSError:  # what was measured must be found all the same
            tell(f"gemm-kit: {bundle} is measured, but not judged")
            raise
        if job:
            tell(f"gemm-kit: {bundle} is the bundle of {job}")

    interrupt_on_termination()  # here too: a sweep may call this in another process
    outcome = measure(asked.plan, Path(asked.output), asked.name, announce)
    if outcome.exit_code:
        why = f"gemm-kit check {outcome.bundle} says why"
        tell(f"gemm-kit: measured, but not compliant ({why})")
    if job and outcome.interrupted:
        raise KeyboardInterrupt  # ends the sweep; only its other jobs are lost
    return outcome.exit_code


class _JobError(KitError):
    """One job of a sweep ended with an exit code other than 0."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(f"a job of the sweep ended with exit code {exit_code}")
        self.exit_code = exit_code

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return type(self), (self.exit_code,)


def _configured(arguments: Sequence[str]) -> int:
    _need_hydra()
    _check(arguments)
    import hydra
    from hydra.plugins.sweeper import Sweeper

    codes: list[int] = []
    faults: list[Exception] = []
    here = os.getpid()

    def job(config: "DictConfig") -> None:
        # A plain run hands its fault around Hydra, which would print lines of its own. A sweep
        # reports it, and from another process hands the code to this one through Hydra.
        in_sweep = False
        try:
            in_sweep, overrides = _job_facts()
            job_name = " ".join(overrides) if in_sweep else ""
            codes.append(_measure(_settings(config, overrides), job_name))
        except Exception as error:  # noqa: BLE001 - raised below, or reported
            faults.append(error)
            if not in_sweep:
                return
            codes.append(report(error))
        if os.getpid() != here and codes[-1]:
            raise _JobError(codes[-1])

    # Every sweeper calls this with the jobs that it is about to launch; Hydra's own composes them.
    Sweeper.validate_batch_is_legal = _refuse_impossible_jobs  # type: ignore[method-assign,assignment]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # lets exceptions reach the code below
    sys.argv = ["gemm-kit run", *arguments]
    try:
        hydra.main(version_base="1.3", config_path=str(CONFIGS), config_name=_CONFIG)(job)()
    except SystemExit as ended:  # --help, --hydra-help
        return ended.code if isinstance(ended.code, int) else 0
    except Exception as error:  # noqa: BLE001 - told apart there
        _raise_explained(error)
    if faults and not codes:
        raise faults[0]
    return max(codes, default=0)


def _job_facts() -> tuple[bool, list[str]]:
    """Whether this job is one of a sweep, and its overrides."""
    from hydra.core.hydra_config import HydraConfig
    from hydra.types import RunMode

    facts = HydraConfig.get()
    return facts.mode == RunMode.MULTIRUN, _words(facts.overrides.task)


def _words(overrides: Any) -> list[str]:
    """Overrides as they were written; iterating over them would interpolate."""
    from omegaconf import OmegaConf

    words: Any = OmegaConf.to_container(overrides, resolve=False)
    return [str(word) for word in words]


def _refuse_impossible_jobs(sweeper: Any, batch: Sequence[Sequence[str]]) -> None:
    """Refuse a batch of a sweep before its first job is measured.

    It is the whole sweep, unless `hydra.sweeper.max_batch_size` says otherwise.

    Raises:
        UsageError: a job asks for what cannot be, or for the place of another one's bundle.
    """
    taken: set[Path] = set()
    for overrides in batch:
        job = " ".join(overrides)
        try:
            loader = sweeper.hydra_context.config_loader
            config = loader.load_sweep_config(sweeper.config, list(overrides))
            place = _possible_place(_own_settings(config))
        except Exception as error:
            fault = explained(error)
            if not isinstance(fault, UsageError):
                raise
            raise UsageError(f"{job}: {fault.problem}", hint=fault.hint) from None
        if place is None:
            continue
        if place in taken:
            problem = f"{job}: another job would write {place} too"
            raise UsageError(problem, hint="give each its own name, or none")
        taken.add(place)


def _possible_place(asked: Settings) -> Path | None:
    """Where the bundle of what can be measured would lie; None where the time will name it."""
    from kit.bundle.durable import require_writable
    from kit.bundle.writer import require_free
    from kit.runner.preflight import refuse_impossible

    refuse_impossible(asked.plan)
    parent = Path(asked.output, asked.plan.submission.folder)
    require_writable(parent)
    if asked.name is None:
        return None
    require_free(parent, asked.name)
    return parent / asked.name


def _own_settings(config: "DictConfig") -> Settings:
    """The settings of a configuration that still holds Hydra's own part."""
    from omegaconf import OmegaConf

    own = [str(key) for key in config if key != "hydra"]
    return _settings(OmegaConf.masked_copy(config, own), _words(config.hydra.overrides.task))


def _settings(config: "DictConfig", overrides: Sequence[str]) -> Settings:
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    composed: Any = OmegaConf.to_container(config, resolve=False)
    refuse_resolvers(composed, "")
    require_keys(composed)
    try:
        resolved: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        raise explained(error) from None
    asked = settings(composed, resolved, overrides)
    _require_document(asked.plan)
    return asked


def _require_document(plan: RunPlan) -> None:
    """Refuse, before anything is measured, a plan that no bundle could hold.

    Raises:
        UsageError: names the value's place, as far as one value is at fault.
    """
    from kit.bundle.documents import format_document
    from kit.bundle.schema import validate
    from kit.errors import BundleError

    place = "plan"
    try:
        validate(place, to_json(plan), place)  # first: it tells the place of a huge number too
        format_document(plan, place)
    except BundleError as error:
        problem = error.problem.removeprefix(f"{place}: ").removeprefix("$.")
        raise UsageError(problem, hint="schemas/plan.schema.json says what may be given") from None


def compose(overrides: Sequence[str], config_dir: Path | str | None = None) -> Settings:
    """Compose what `gemm-kit run` would measure under the same overrides, and measure nothing.

    Raises:
        UsageError: an override or a configuration file is wrong.
    """
    _need_hydra()
    _check(overrides)
    import hydra

    words = list(overrides)
    if config_dir is not None:
        _require_folder(config_dir)
        words.append(f"hydra.searchpath=['file://{Path(config_dir).resolve()}']")
    try:
        with hydra.initialize_config_dir(str(CONFIGS), job_name="plan", version_base="1.3"):
            config = hydra.compose(_CONFIG, words, return_hydra_config=True)
    except Exception as error:  # noqa: BLE001 - told apart there
        _raise_explained(error)
    return _own_settings(config)


def _raise_explained(error: Exception) -> NoReturn:
    fault = explained(error)
    if fault is error:
        raise error
    raise fault from error


def _has_hydra() -> bool:
    from importlib.util import find_spec

    return find_spec("hydra") is not None


def _need_hydra() -> None:
    if not _has_hydra():
        raise UsageError(
            "this command composes configurations with hydra-core, which is not installed",
            hint="pip install '.[run]' in the checkout, or measure a frozen plan with run --plan",
        )


def _check(arguments: Sequence[str]) -> None:
    """Refuse what Hydra would answer with several lines, and what must not be done at all."""
    from hydra._internal.utils import get_args_parser

    complaint = StringIO()
    try:
        with redirect_stderr(complaint):
            flags = get_args_parser().parse_args(arguments)
    except SystemExit as ended:
        if not ended.code:
            raise
        problem = complaint.getvalue().strip().rsplit("error: ", 1)[-1]
        raise UsageError(problem, hint=_remedy(arguments)) from None
    if flags.config_dir is not None:
        _require_folder(flags.config_dir)
    for flag in ("experimental_rerun", "config_path", "config_name"):
        if getattr(flags, flag) is not None:
            raise UsageError(
                f"--{flag.replace('_', '-')} is not offered here", hint="use --config-dir or --plan"
            )
    for override in flags.overrides:
        refuse_resolvers(override, "override")
        _require_option(override)


def _remedy(arguments: Sequence[str]) -> str:
    """What to write instead of an option that goes with --plan alone."""
    option = re.search(r"(?:^| )--(output|name)[ =](\S+)", " ".join(arguments))
    return f"without --plan write {option[1]}={option[2]}" if option else "see gemm-kit run --help"


def _require_folder(config_dir: Path | str) -> None:
    if not os.path.isdir(config_dir):  # noqa: PTH112 - a Path of "" is the folder one is in
        raise UsageError(
            f"--config-dir {str(config_dir)!r} is no folder", hint="name one with group options"
        )


def _require_option(override: str) -> None:
    """Refuse for a group's option what is no name; Hydra would not say whose, or break down."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    try:
        (parsed,) = OverridesParser.create().parse_overrides([override])
    except Exception as error:  # noqa: BLE001 - told apart there
        _raise_explained(error)
    folder = CONFIGS / parsed.key_or_group
    if parsed.is_delete() or not os.path.isdir(folder):  # noqa: PTH112 - a name may be too long
        return
    options = [path.stem for path in folder.glob("*.yaml")]
    value = parsed.value()
    for name in value if isinstance(value, list) else [value]:
        if name is None or isinstance(name, int | float | list | dict):
            problem = f"{override}: {parsed.key_or_group} takes the name of an option"
            raise UsageError(problem, hint=did_you_mean(str(name), options))
