"""Fixtures that several test folders share."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from nvml_stub.stub import NvmlStub, build


def pytest_configure():
    """A shell starts what runs in its background with SIGINT ignored, and children inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_locks(tmp_path_factory, monkeypatch):
    """Device locks of this session only: whoever else measures here is not in its way."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.getbasetemp()))


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory) -> Callable[..., Path]:
    """Folder of the compiled stub without the functions named; each is built once."""
    built: dict[tuple[str, ...], Path] = {}

    def library(*without: str) -> Path:
        if without not in built:
            built[without] = build(tmp_path_factory.mktemp("nvml") / "lib", without)
        return built[without]

    return library


@pytest.fixture
def nvml_machine(tmp_path, monkeypatch, nvml_library) -> Callable[..., NvmlStub]:
    """A machine with NVML and no GPU yet, as the children of this test see it."""

    def machine(*without: str) -> NvmlStub:
        stub = NvmlStub(nvml_library(*without), tmp_path)
        for name, value in stub.environment.items():
            monkeypatch.setenv(name, value)
        return stub

    return machine


@pytest.fixture(scope="session")
def h200_traces() -> Path:
    """Folder of telemetry recorded on one NVIDIA H200."""
    return Path(__file__).with_name("data") / "h200"
