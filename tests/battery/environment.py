"""The machine called something else, or its settings hidden."""

from dataclasses import replace

from battery.bases import CLOSED
from battery.forging import document, runs, scaled
from battery.registry import manipulation
from battery.timing import _more_launches
from bundles import in_every_run, with_environment, with_plan, with_system, without_column
from kit.evidence import TelemetryRecord
from kit.trace import BUFFERS, CLOCKS, KERNELS, OUTPUTS, WINDOWS


def _known(bundle, name):
    return getattr(bundle.environment, name)


@manipulation(
    "GK101",
    "M26",
    variants={
        "jax": {"name": "jax"},
        "jaxlib": {"name": "jaxlib"},
        "plugin": {"name": "jax-cuda13-plugin"},
        "nvml": {"name": "nvidia-ml-py"},
    },
)
def package_left_out(bundle, name):
    """The version of a package that decides the result is not told."""
    kept = {k: v for k, v in _known(bundle, "packages").items() if k != name}
    return with_environment(bundle, packages=kept)


@manipulation(
    "GK101", "M26", variants={n: {"name": n} for n in ("cublas", "cuda_driver", "cuda_runtime")}
)
def library_left_out(bundle, name):
    """The version of a library that decides the result is not told."""
    kept = {k: v for k, v in _known(bundle, "libraries").items() if k != name}
    return with_environment(bundle, libraries=kept)


@manipulation(
    "GK101",
    "M26",
    variants={
        n: {"name": n}
        for n in (
            "compute_capability",
            "sm_count",
            "memory_bus_bits",
            "vbios_version",
            "gsp_version",
        )
    },
)
def device_fact_left_out(bundle, name):
    """A fact of the device is null without a reason."""
    return with_environment(bundle, **{f"device__{name}": None})


@manipulation("GK101", "M26", variants={"empty": {"model": " "}})
def processor_left_out(bundle, model):
    """The processor has no name."""
    return with_environment(bundle, cpu_model=model)


def _called(bundle, name, **facts):
    changed = with_environment(
        bundle, **{f"device__{k}": v for k, v in {"name": name, **facts}.items()}
    )
    return with_system(changed, accelerator_model_name=name)


@manipulation(
    "GK109",
    "M26",
    base="closed",
    variants={
        "H100 PCIe": {"name": "NVIDIA H100 PCIe"},
        "B200": {"name": "NVIDIA B200"},
        "A100": {"name": "NVIDIA A100-SXM4-80GB"},
        "H100": {"name": "NVIDIA H100 80GB HBM3"},
    },
)
def gpu_renamed(bundle, name):
    """The GPU is called another product in every document; its figures stay an H200's."""
    return _called(bundle, name)


@manipulation("GK104", "M26", base="closed")
def gpu_renamed_in_the_environment_only(bundle):
    """The measured GPU gives itself another name than the declared one."""
    return with_environment(bundle, device__name="NVIDIA H100 PCIe")


@manipulation(
    "GK109",
    "M18",
    base="closed",
    variants={
        "sm_count": {"facts": {"sm_count": 131}},
        "bus": {"facts": {"memory_bus_bits": 5120}},
        "capability": {"facts": {"compute_capability": "10.0"}},
        "bus_gh200": {"facts": {"memory_bus_bits": 6144}},
    },
)
def gpu_unlike_any_product(bundle, facts):
    """A figure of the device is one off, so that no speed of light is known for it."""
    return with_environment(bundle, **{f"device__{k}": v for k, v in facts.items()})


@manipulation(
    "GK502",
    "M18",
    variants={"sm_131": {"facts": {"sm_count": 131}}, "unnamed": {"facts": {"name": "My GPU"}}},
)
def unknown_gpu_ten_times_as_fast(bundle, facts):
    """In the open division: a device that no table knows, and ten times the launches."""
    bundle = _called(
        bundle,
        facts.get("name", "NVIDIA H200"),
        **{k: v for k, v in facts.items() if k != "name"} or {"sm_count": 131},
    )
    return _more_launches(bundle, 10)


@manipulation(
    "GK502",
    "M18",
    variants={n: {"name": n} for n in ("graphics_mhz", "memory_mhz")},
)
def clock_left_out_of_ten_times_the_launches(bundle, name):
    """In the open division: no light is known without a clock, and ten times the launches."""
    bundle = in_every_run(bundle, without_column, CLOCKS.file, name)
    return _more_launches(bundle, 10)


@manipulation(
    "GK109",
    "M18",
    variants={"x10": {"sms": 1319, "factor": 10}, "alone": {"sms": 1319, "factor": 1}},
)
def sms_invented(bundle, sms, factor):
    """In the open division: ten times the SMs of its name."""
    bundle = with_environment(bundle, device__sm_count=sms)
    return _more_launches(bundle, factor) if factor > 1 else bundle


@manipulation("GK502", "M18")
def unknown_gpu_with_100000_sms(bundle):
    """In the open division: a name that no table knows, so many SMs, and 500 times the launches."""
    return _more_launches(_called(bundle, "Acme X1", sm_count=100_000), 500)


@manipulation("GK502", "M18", base="cpu")
def cores_invented(bundle):
    """65,535 cores, and a million times the launches."""
    return _more_launches(with_environment(bundle, cpu_logical_cores=65_535), 1_000_000)


def _as_cpu(bundle):
    bundle = with_plan(
        bundle,
        backend__platform="cpu",
        timing__method="host_clock",
        telemetry__source="none",
        backend__tuning_attempts=0,
        backend__implementation="library",
        counters__tool="none",
    )
    kept = (WINDOWS.file, BUFFERS.file, OUTPUTS.file, KERNELS.file)

    def change(run):
        metrics = tuple(
            replace(m, status="not_supported", reason="no telemetry")
            for m in run.document.telemetry.metrics
        )
        run = document(
            timing__method="host_clock",
            timing__controls=(),
            loops__drains=len(run.tables[WINDOWS.file]),
            telemetry=TelemetryRecord("none", "none", metrics, ()),
        )(run)
        return replace(run, tables={n: t for n, t in run.tables.items() if n in kept})

    cases = {
        name: replace(
            case,
            counters={
                device: replace(
                    found,
                    tool="none",
                    status="not_asked",
                    reason="counters=none",
                    version=None,
                    mode=None,
                    rotation_sets=None,
                    counters=(),
                )
                for device, found in case.counters.items()
            },
        )
        for name, case in bundle.cases.items()
    }
    return runs(replace(bundle, cases=cases), change)


@manipulation("GK108", "M12", variants={"alone": {"factor": 1}, "x10": {"factor": 10}})
def gpu_called_a_cpu(bundle, factor):
    """In the open division the GPU's platform is called a CPU, which spares every GPU rule."""
    bundle = _more_launches(bundle, factor) if factor > 1 else bundle
    return _as_cpu(bundle)


@manipulation("GK103", "M26")
def changed_between_runs(bundle):
    """A library was upgraded after the run took its digest."""
    libraries = _known(bundle, "libraries") | {"cublas": "130200"}
    return with_environment(bundle, noticed=False, libraries=libraries)


@manipulation(
    "GK110",
    "M26",
    variants={
        "driver": {"names": ("nvidia_driver",)},
        "nvml": {"names": ("nvml",)},
        "everywhere": {"names": ("nvidia_driver", "nvml"), "firmware": True},
    },
)
def driver_renamed(bundle, names, firmware=False):
    """The driver is told to be another version than NVML and the GPU's firmware belong to."""
    libraries = _known(bundle, "libraries")
    new = {name: libraries[name].replace("580.159.04", "590.44.01") for name in names}
    facts = {"device__gsp_version": "590.44.01"} if firmware else {}
    return with_environment(bundle, libraries=libraries | new, **facts)


@manipulation(
    "GK107",
    "M26",
    variants={
        "XLA_FLAGS": {"name": "XLA_FLAGS", "value": "--xla_gpu_enable_fast_min_max=true"},
        "allocator": {"name": "XLA_PYTHON_CLIENT_ALLOCATOR", "value": "platform"},
        "gpu_allocator": {"name": "TF_GPU_ALLOCATOR", "value": "address"},
        "async": {"name": "PJRT_GPU_ENABLE_ASYNC_DISPATCH", "value": "1"},
    },
)
def forbidden_setting(bundle, name, value):
    """JAX ran under a setting that changes what is measured."""
    return with_environment(bundle, settings=_known(bundle, "settings") | {name: value})


@manipulation("GK105", "M26", base="closed")
def kit_modified(bundle):
    """The kit that measured had been changed."""
    return with_environment(bundle, kit__clean=False)


@manipulation(
    "GK105",
    "M26",
    variants={
        "version": {"fields": {"kit__version": "9.9.9"}},
        "commit": {"fields": {"kit__commit": "0" * 40, "kit__clean": True}},
    },
)
def kit_invented(bundle, fields):
    """The kit is told to be a version or a commit that never was."""
    return with_environment(bundle, **fields)


@manipulation("GK106", "M10", base="closed")
def partitioned(bundle):
    """The GPU was partitioned by MIG."""
    return with_environment(bundle, device__mig_enabled=True)


@manipulation(
    "GK106",
    "M10",
    base="closed",
    variants={
        "before": {"when": "limits_before"},
        "after": {"when": "limits_after"},
    },
)
def shared(bundle, when):
    """Another process computed on the GPU."""
    return runs(bundle, document(**{f"{when}__other_processes": 1}))


@manipulation("GK106", "M10", base="closed")
def processes_not_counted(bundle):
    """Nobody looked who else computes on the GPU."""
    fields = {}
    for when in ("limits_before", "limits_after"):
        fields[f"{when}__other_processes"] = None
        fields[f"{when}__missing"] = {"other_processes": "no permission"}
    return runs(bundle, document(**fields))


@manipulation("GK106", "M26")
def memory_errors(bundle):
    """The GPU's count of uncorrected errors grew during the run."""
    return runs(bundle, document(limits_after__ecc_errors=3))


@manipulation("GK003", "M26", variants={"same": {"twice": True}, "none": {"twice": False}})
def devices_miscounted(bundle, twice):
    """The measured device stands twice in the environment, or not at all."""
    devices = bundle.environment.devices * 2 if twice else ()
    environment = replace(bundle.environment, devices=devices)
    return replace(bundle, environment=environment)


@manipulation(
    "GK102",
    "M12",
    variants={
        "uuid": {"fields": {"identity__nvml_uuid_hash": "0123456789ab"}},
        "pci": {"fields": {"identity__nvml_pci_bus_id": "00000000:86:00.0"}},
        "cuda": {"fields": {"identity__cuda_uuid_hash": "0123456789ab"}},
    },
)
def another_gpu_watched(bundle, fields):
    """CUDA and NVML mean different devices."""
    return runs(bundle, document(**fields))


@manipulation(
    "GK102",
    "M12",
    base="closed",
    variants={
        "uuid": {"name": "identity__nvml_uuid_hash"},
        "pci": {"name": "identity__cuda_pci_bus_id"},
    },
)
def identity_left_out(bundle, name):
    """One view of the device's identity is missing."""
    return runs(bundle, document(**{name: None}))


@manipulation("GK109", "M18", base="closed")
def maximum_clock_raised(bundle):
    """The device's maximum clock is told higher, and the sampled clocks with it."""
    return runs(
        with_environment(bundle, device__maximum_graphics_mhz=2100),
        scaled(CLOCKS.file, 1.05, "graphics_mhz", "sm_mhz"),
        case=CLOSED,
    )


@manipulation("GK307", "M24", base="closed")
def cache_half_as_large(bundle):
    """The device's cache is told to be half as large as the product's."""
    bundle = with_environment(bundle, device__cache_bytes=31_457_280)
    return runs(bundle, document(rotation__cache_bytes=31_457_280))
