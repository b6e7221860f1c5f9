"""Builds the stub of libnvidia-ml.so.1 and writes the state that drives it.

The real binding, nvidia-ml-py, loads the stub by its name. The dynamic loader reads
LD_LIBRARY_PATH once, at a process's start, so whatever shall meet the stub runs in a child process:
the sampler does so anyway, other code runs through `NvmlStub.evaluate`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from time import monotonic_ns

FOLDER = Path(__file__).parent
CHECKOUT = Path(__file__).resolve().parents[2]
H200 = {
    "pci": "00000000:00:06.0",
    "uuid": "GPU-00000000-0000-0000-0000-000000000001",
    "name": "NVIDIA H200",
}


def build(folder: Path, without: tuple[str, ...] = ()) -> Path:
    """Compile the stub into `folder` without the functions named, as an old driver lacks them."""
    folder.mkdir(parents=True)
    hidden = "".join(f"{name}; " for name in without)
    exports = folder / "exports.map"
    exports.write_text(f"{{ global: nvml*; local: {hidden}*; }};")
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    output = ["-o", str(folder / "libnvidia-ml.so.1"), f"-Wl,--version-script={exports}"]
    sources = sorted(map(str, FOLDER.glob("*.c")))
    subprocess.run([os.environ.get("CC", "cc"), *flags, *sources, *output], check=True)
    return folder


_EVALUATE = """
import json, sys
from kit.errors import KitError
from kit.records import to_json
from kit.system import *
from kit.system.nvml import session
from kit.telemetry import nvml

def connect(pci=None, uuid=None):
    with nvml.connect(DeviceAddress(pci, uuid)) as source:
        rows = {file: read() for file, read in source.readers.items()}
    return {"metrics": to_json(source.metrics), "rows": rows}

def call(name, *arguments):
    with session() as binding:
        try:
            return getattr(binding, name)(binding.nvmlDeviceGetHandleByIndex(0), *arguments)
        except binding.NVMLError as error:
            return {"code": error.value}

try:
    print(json.dumps(to_json(eval(sys.argv[1]))))
except KitError as error:
    print(json.dumps({"error": error.problem, "hint": error.hint}))
"""


class NvmlStub:
    """One machine as the stub shows it. Each method adds a record; the last of a kind may win."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "nvml-calls.log"
        self._state = folder / "nvml-state.txt"
        self._records: list[str] = []
        self._devices = 0
        self.environment = {"LD_LIBRARY_PATH": str(library), "NVML_STUB": str(self._state)}
        self._add("log", file=self.log)

    def system(self, **facts: object) -> "NvmlStub":
        """Versions, and `init`: the return code of nvmlInit."""
        return self._add("system", **facts)

    def device(self, **facts: object) -> "NvmlStub":
        """One more GPU: by default the H200 of the readings; see the C source for the keys."""
        self._devices += 1
        return self._add("device", **{**H200, **facts})

    def trace(self, file: Path, *, started_s: float = 0.0, device: int = 0) -> int:
        """Replay a trace as if it had started `started_s` ago; returns that moment in ns."""
        epoch_ns = monotonic_ns() - int(started_s * 1e9)
        self._add("trace", device=device, file=file, epoch_ns=epoch_ns)
        return epoch_ns

    def call(self, name: str, **rule: int) -> "NvmlStub":
        """Make calls of `name` (or of any, `*`) slow, or fail with a code."""
        return self._add("call", name=name, **rule)

    def field(self, number: int, **rule: int) -> "NvmlStub":
        """Change one field of nvmlDeviceGetFieldValues: its code, value or type tag."""
        return self._add("field", id=number, **rule)

    def evaluate(self, expression: str):
        """Value of an expression over the kit's names, in a child on this machine.

        Beside those of `kit.system` there are `connect(pci, uuid)`, which connects the source and
        takes one burst of each table, and `call(name, ...)` of the binding on the first GPU. An
        error of the kit comes back as `{"error": problem, "hint": hint}`.
        """
        done = subprocess.run(
            [sys.executable, "-c", _EVALUATE, expression],
            env={**os.environ, **self.environment, "PYTHONPATH": str(CHECKOUT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def _add(self, kind: str, **fields: object) -> "NvmlStub":
        self._records.append(
            "\t".join([kind, *(f"{key}={value}" for key, value in fields.items())])
        )
        self._state.write_text("\n".join(self._records) + "\n")
        return self
