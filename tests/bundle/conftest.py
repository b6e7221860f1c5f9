"""A small valid bundle, written by the kit's own writer from records made by hand."""

import hashlib
import shutil
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from kit.bundle import layout
from kit.bundle.writer import BundleWriter
from kit.evidence import (
    Anchor,
    Candidate,
    CaseMetrics,
    CaseRecord,
    Control,
    DeviceFacts,
    Dispatch,
    Environment,
    Executable,
    Identity,
    Journal,
    JournalEntry,
    KitVersion,
    Limits,
    Loops,
    Metric,
    PhaseMarks,
    Results,
    Rotation,
    Run,
    RunMetrics,
    RunOutcome,
    SamplerHealth,
    SystemDescription,
    TelemetryRecord,
    TimingRecord,
    no_trace,
)
from kit.plan import (
    Backend,
    Case,
    Counters,
    Declaration,
    EvidencePlan,
    KindOfTest,
    Phases,
    RunPlan,
    Submission,
    Telemetry,
    Timing,
)
from kit.trace import BUFFERS, HOST, OUTPUTS, WINDOWS
from kit.workload import Workload

CASE = "square_64-fp32-nn"
DEVICE = "cpu"
HLO = "HloModule jit_gemm\n\nENTRY %main (a: f32[64,64], b: f32[64,64]) -> f32[64,64] {\n}\n"
AUTOTUNE = 'entries {\n  value {\n    optimal_backend_version: "v1"\n  }\n}\n'
SECOND = 10**9


def plan():
    return RunPlan(
        edition="2026.1",
        seed=7,
        replicates=2,
        devices="all",
        timeout_s=60.0,
        submission=Submission("acme", "open", "available", "host-1", None),
        system=Declaration("Host 1", 1, None, "Gerät im Büro", None),
        test_type=KindOfTest("fixed_power", "uniform", None, lock=False),
        backend=Backend("jax_gemm", "cpu", "auto", "library", 0),
        timing=Timing("host_clock", 3),
        counters=Counters("none"),
        telemetry=Telemetry("host", 20, 100, 200),
        phases=Phases(0.5, 10, 0.1, 2.0, 100, 0.1, 1.0, 5.0),
        evidence=EvidencePlan(kernel_trace=True),
        cases=(Case(CASE, Workload("square_64", 64, 64, 64, 1, "nn"), "fp32"),),
        overrides=("workload=square_64",),
    )


def system():
    return SystemDescription(
        system_name="Host 1",
        submitter="acme",
        division="open",
        status="available",
        number_of_nodes=1,
        host_processor_model_name="Example Processor",
        host_processors_per_node=1,
        host_processor_core_count=2,
        host_memory_capacity_bytes=8 * 2**30,
        accelerator_model_name=None,
        accelerators_per_node=0,
        accelerator_memory_capacity_bytes=None,
        framework="JAX 0.10.2",
        operating_system="Linux 6.1",
        cooling=None,
        hw_notes="Gerät im Büro",
        sw_notes=None,
    )


def environment():
    unknown = dict.fromkeys(
        [
            "compute_capability",
            "sm_count",
            "memory_bus_bits",
            "maximum_graphics_mhz",
            "maximum_memory_mhz",
            "vbios_version",
            "inforom_version",
            "gsp_version",
            "ecc_enabled",
            "mig_enabled",
            "persistence_enabled",
            "compute_mode",
            "virtualization",
            "pcie_generation",
            "pcie_width",
        ]
    )
    host = DeviceFacts(
        id=DEVICE,
        kind="cpu",
        name="Example Processor",
        cache_bytes=2**25,
        memory_bytes=8 * 2**30,
        missing={"sm_count": "a CPU has none"},
        **unknown,
    )
    return Environment(
        kit=KitVersion("0.1.0", "ab" * 20, clean=True),
        python="3.11.7",
        packages={"jax": "0.10.2", "jaxlib": "0.10.2"},
        libraries={},
        settings={"JAX_PLATFORMS": "cpu", "jax_enable_x64": "False"},
        operating_system="Linux",
        kernel="6.1.0",
        machine="x86_64",
        cpu_model="Example Processor",
        cpu_logical_cores=2,
        memory_bytes=8 * 2**30,
        virtualization=None,
        devices=(host,),
    )


def run(number):
    start = number * 10 * SECOND
    no_limits = Limits(None, None, None, None, None, None, {"ecc_errors": "a CPU has none"})
    return Run(
        case=CASE,
        device=DEVICE,
        number=number,
        started_utc="2026-11-29T20:00:00Z",
        started_ns=start,
        ended_ns=start + 9 * SECOND,
        fill_seed="0123456789abcdef",
        sample_seed="fedcba9876543210",
        environment_sha256="cd" * 32,
        identity=Identity(None, None, None, None),
        executable=Executable(
            f"{'0a' * 8}.hlo.txt", {"xla_cpu_enable": "True"}, 1, 16384, 0,
            "library", f"{'0b' * 8}.autotune.txt", "",
        ),
        dispatch=Dispatch("single", "the kernel is longer than a call", 40_000, 90_000, (
            Candidate(1, "library", "single", f"{'0a' * 8}.hlo.txt",
                      {"__cublas$lt$matmul": 1}, {}, 90_000.5, ""),
            Candidate(2, "triton", "single", None, {}, {}, None, "XlaRuntimeError: no config"),
        )),
        rotation=Rotation(2048, 2**25, 32768, 16384),
        loops=Loops(0, "disallow", 3, None, {"bytes_in_use": 100, "num_allocs": 7}),
        timing=TimingRecord(
            "host_clock",
            Anchor(start + SECOND, start + SECOND + 100),
            Anchor(start + 2 * SECOND, start + 2 * SECOND + 100),
            (Control("host_slope", 100, 9_000_000),),
        ),
        phases=PhaseMarks(
            start, start + SECOND, 10, "seconds", 90,
            start + 2 * SECOND, start + 8 * SECOND, "seconds",
        ),
        telemetry=TelemetryRecord(
            "host",
            "spawned",
            (
                Metric("host.csv", "cpu_mhz", "ok", "", "cpufreq", "now, mean of the cores"),
                Metric("host.csv", "cpu_c", "not_found", "no hwmon here", "hwmon", ""),
            ),
            (SamplerHealth("host.csv", 100_000_000, 90, 0, 0, 0),),
        ),
        limits_before=no_limits,
        limits_after=no_limits,
    )  # fmt: skip


def tables(number):
    start = number * 10 * SECOND
    launches = np.arange(0, 100, 10, dtype=np.int64)
    times = start + np.arange(90, dtype=np.int64) * 100_000_000
    operand = np.repeat(np.arange(3, dtype=np.int64), 4)
    address = np.arange(12, dtype=np.int64) * 16384
    return {
        WINDOWS: {
            "phase": (launches >= 10).astype(np.int64),
            "first_launch": launches,
            "launches": np.full_like(launches, 10),
            "duration_ns": 900_000 + launches,
            "enqueue_start_ns": start + SECOND + launches * 1000,
            "enqueue_end_ns": start + SECOND + launches * 1000 + 500,
        },
        HOST: {
            "t_ns": times,
            "burst_ns": np.full_like(times, 12_345),
            "cpu_mhz": np.full_like(times, 2_500),
        },
        BUFFERS: {
            "operand": operand,
            "set": np.tile(np.arange(4, dtype=np.int64), 3),
            "address_before": address,
            "address_after": address,
            "zeros": np.zeros_like(operand),
            "checksum": np.where(operand < 2, 123_456_789, 0),
            **{f"bin_{i}": np.where(operand < 2, 256, 0) for i in range(16)},
        },
        OUTPUTS: {
            "set": np.repeat(np.arange(4, dtype=np.int64), 2),
            "batch": np.zeros(8, dtype=np.int64),
            "row": np.arange(8, dtype=np.int64),
            "column": np.arange(8, dtype=np.int64)[::-1].copy(),
            "bits_high": np.zeros(8, dtype=np.int64),
            "bits_low": np.full(8, 2**32 - 1, dtype=np.int64),
        },
    }


def journal():
    entries = [JournalEntry(0, 0, "bundle_started", None, None, None, None, None)]
    for number in (1, 2):
        start = number * 10 * SECOND
        entries += [
            JournalEntry(2 * number - 1, start, "run_started", CASE, DEVICE, number, None, None),
            JournalEntry(
                2 * number, start + 9 * SECOND, "run_ended", CASE, DEVICE, number, "measured", ""
            ),
        ]
    entries.append(JournalEntry(5, 30 * SECOND, "bundle_ended", None, None, None, None, None))
    return Journal("2026-11-29T20:00:00Z", tuple(entries), ())


def results():
    figures = [
        RunMetrics(
            device=DEVICE,
            number=number,
            launches=90,
            mean_period_ns=90_003.5,
            median_period_ns=90_005.0,
            spread=0.000123,
            flops_per_s=5.8e9,
            **dict.fromkeys(
                [
                    "graphics_mhz",
                    "memory_mhz",
                    "power_average_mw",
                    "power_instant_mw",
                    "power_energy_mw",
                    "gpu_c",
                    "memory_c",
                    "sol_row",
                    "sol_ns",
                    "sol_fraction",
                    "kernel_ns",
                    "period_over_kernel",
                    "sol_fraction_at_maximum_clock",
                    "datasheet_fraction",
                    "energy_per_gemm_j",
                    "flops_per_s_per_watt",
                ]
            ),
        )
        for number in (1, 2)
    ]
    return Results("2026.1", (CaseMetrics(CASE, tuple(figures), 90_003.5, 5.8e9, 0.0),))


def fill(writer):
    """Write everything that the small bundle holds."""
    writer.write_record(layout.PLAN, plan())
    writer.write_record(layout.SYSTEM, system())
    writer.write_record(layout.ENVIRONMENT, environment())
    outcomes = tuple(RunOutcome(DEVICE, number, "measured", "") for number in (1, 2))
    writer.write_record(layout.case_file(CASE), CaseRecord(CASE, outcomes))
    writer.write_text(layout.hlo_file(CASE, f"{'0a' * 8}.hlo.txt"), HLO)
    writer.write_text(layout.autotune_file(CASE, f"{'0b' * 8}.autotune.txt"), AUTOTUNE)
    for number in (1, 2):
        folder = layout.run_folder(CASE, DEVICE, number)
        for contract, columns in tables(number).items():
            writer.write_table(folder, contract, columns)
        writer.write_record(f"{folder}/run.json", run(number))
        writer.write_record(f"{folder}/trace.json", no_trace("not_applicable", "a CPU host"))
    writer.write_record(layout.JOURNAL, journal())
    writer.write_record(layout.RESULTS, results())
    return writer


@dataclass(frozen=True, slots=True)
class Sample:
    """The records of the small bundle, the ways to write it, and the names in it."""

    plan: RunPlan
    system: SystemDescription
    environment: Environment
    journal: Journal
    results: Results
    run: Run
    tables: dict
    fill: object
    hlo: str = HLO
    autotune: str = AUTOTUNE
    case: str = CASE
    run_folder: str = layout.run_folder(CASE, DEVICE, 1)


@pytest.fixture(scope="session")
def sample():
    return Sample(plan(), system(), environment(), journal(), results(), run(1), tables(1), fill)


@pytest.fixture(scope="session")
def pristine(tmp_path_factory):
    """The sealed bundle; tests that change it take `bundle`."""
    writer = BundleWriter(tmp_path_factory.mktemp("sealed"), "small", date(2026, 11, 29))
    return fill(writer).seal()


@pytest.fixture
def bundle(pristine, tmp_path):
    """A copy of the sealed bundle to spoil."""
    return Path(shutil.copytree(pristine, tmp_path / "small"))


def reseal_bundle(root):
    """Make the manifests true again, as somebody would who edits a bundle and knows how."""
    payload = sorted(path for path in (root / "data").rglob("*") if path.is_file())
    lines = {path.relative_to(root).as_posix(): path.read_bytes() for path in payload}
    _write_manifest(root / "manifest-sha256.txt", lines)
    info = (root / "bag-info.txt").read_text("ascii").splitlines()[:-1]
    octets = sum(map(len, lines.values()))
    info.append(f"Payload-Oxum: {octets}.{len(lines)}\n")
    (root / "bag-info.txt").write_text("\n".join(info), "ascii")
    retag_bundle(root)


def retag_bundle(root):
    """Make only the tag manifest true again."""
    names = ("bag-info.txt", "bagit.txt", "manifest-sha256.txt")
    _write_manifest(
        root / "tagmanifest-sha256.txt", {name: (root / name).read_bytes() for name in names}
    )


def _write_manifest(path, contents):
    rows = (f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in sorted(contents))
    path.write_text("".join(rows), "ascii")


@pytest.fixture(scope="session")
def reseal():
    return reseal_bundle


@pytest.fixture(scope="session")
def retag():
    return retag_bundle
