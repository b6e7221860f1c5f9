"""Running the command line as a user does: in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Stands in for the measurement alone, which takes seconds and which `tests/runner` covers. It puts
# the plan that it was asked to measure beside the bundle that it claims to have written.
FAKE_LAUNCHER = """
import sys, types
from pathlib import Path
from kit.bundle.documents import format_document
from kit.cli import main
from kit.errors import MeasurementError

def measure(plan, output, name, sealed):
    print(f"progress {plan.seed}", file=sys.stderr)
    if plan.seed == 6:
        raise MeasurementError("nothing was measured", hint="free the GPU")
    if plan.seed == 4:
        raise RuntimeError("a bug\\x1b[31m\\nin two lines")
    if plan.seed == 130:
        raise KeyboardInterrupt
    bundle = Path(output) / (name or f"seed-{plan.seed}")
    bundle.mkdir(parents=True)
    (bundle / "plan.json").write_bytes(format_document(plan, "plan"))
    sealed(bundle)
    if plan.seed == 131:
        raise KeyboardInterrupt
    code, interrupted = int(plan.seed in (1, 132)), plan.seed == 132
    return types.SimpleNamespace(bundle=bundle, exit_code=code, interrupted=interrupted)

launcher = types.ModuleType("kit.runner.launcher")
launcher.measure = measure
sys.modules["kit.runner.launcher"] = launcher
sys.exit(main())
"""


@pytest.fixture
def start(tmp_path):
    """Run Python with the kit of this checkout in an empty working directory."""

    def run(*arguments, environment=(), stdin=None, stdout=subprocess.PIPE):
        return subprocess.run(
            [sys.executable, "-W", "error", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), **dict(environment)},
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def gemm_kit(start):
    """Run the real command."""

    def run(*arguments, **options):
        return start("-m", "kit", *arguments, **options)

    return run


@pytest.fixture
def unmeasured(start):
    """Run the command with a measurement that only writes down its plan.

    Modules named in `hidden` cannot be imported, as if they were not installed.
    """

    def run(*arguments, hidden=(), **options):
        hide = f"import sys; sys.modules.update(dict.fromkeys({hidden!r}))"
        return start("-c", hide + FAKE_LAUNCHER, *arguments, **options)

    return run
