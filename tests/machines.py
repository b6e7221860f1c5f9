"""The machines of the honest bundles: one H200, as a real one answered, and an embedded host."""

from kit.evidence import DeviceFacts, Environment, KitVersion, Limits

UUID_HASH = "3f0a51c2d9e8"
H200 = DeviceFacts(
    id=f"gpu-{UUID_HASH}",
    kind="gpu",
    name="NVIDIA H200",
    compute_capability="9.0",
    sm_count=132,
    cache_bytes=62_914_560,
    memory_bytes=150_754_820_096,
    memory_bus_bits=6016,
    maximum_graphics_mhz=1980,
    maximum_memory_mhz=3201,
    vbios_version="96.00.A5.00.1A",
    inforom_version="G520.0282.02.02",
    gsp_version="580.159.04",
    ecc_enabled=True,
    mig_enabled=False,
    persistence_enabled=True,
    compute_mode="default",
    virtualization="passthrough",
    pcie_generation=5,
    pcie_width=16,
    missing={},
)
H200_ENVIRONMENT = Environment(
    kit=KitVersion("0.1.0", "5c1d" * 10, clean=True),
    python="3.12.3",
    packages={
        "jax": "0.11.2",
        "jaxlib": "0.11.2",
        "jax-cuda13-pjrt": "0.11.2",
        "jax-cuda13-plugin": "0.11.2",
        "ml-dtypes": "0.5.3",
        "numpy": "2.3.4",
        "nvidia-ml-py": "13.580.82",
    },
    libraries={
        "cuda_driver": "13.0",
        "cuda_runtime": "13.0",
        "cublas": "13.1.0",
        "nvidia_driver": "580.159.04",
        "nvml": "13.580.159.04",
    },
    settings={"JAX_ENABLE_COMPILATION_CACHE": "0", "PJRT_GPU_ENABLE_ASYNC_DISPATCH": "0"},
    operating_system="Ubuntu 24.04.3 LTS",
    kernel="Linux 6.8.0",
    machine="x86_64",
    cpu_model="Intel Xeon Platinum 8480C",
    cpu_logical_cores=16,
    memory_bytes=137_438_953_472,
    virtualization="kvm",
    devices=(H200,),
)
H200_LIMITS = Limits(
    power_enforced_mw=700_000,
    power_default_mw=700_000,
    power_minimum_mw=200_000,
    power_maximum_mw=700_000,
    other_processes=0,
    ecc_errors=0,
    missing={},
)


NO_GPU = "a CPU host has no such figure"
_NONE = (
    "compute_capability", "sm_count", "memory_bus_bits", "maximum_graphics_mhz",
    "maximum_memory_mhz", "vbios_version", "inforom_version", "gsp_version", "ecc_enabled",
    "mig_enabled", "persistence_enabled", "compute_mode", "virtualization", "pcie_generation",
    "pcie_width",
)  # fmt: skip

CORTEX = DeviceFacts(
    id="cpu",
    kind="cpu",
    name="Arm Cortex-A76",
    cache_bytes=2**20,
    memory_bytes=8_589_934_592,
    missing=dict.fromkeys(_NONE, NO_GPU),
    **dict.fromkeys(_NONE),
)
HOST_ENVIRONMENT = Environment(
    kit=KitVersion("0.1.0", None, None),
    python="3.11.7",
    packages={"jax": "0.10.2", "jaxlib": "0.10.2", "ml-dtypes": "0.5.3", "numpy": "2.3.4"},
    libraries={},
    settings={"JAX_PLATFORMS": "cpu"},
    operating_system="Debian GNU/Linux 12",
    kernel="Linux 6.1.0",
    machine="aarch64",
    cpu_model="Arm Cortex-A76",
    cpu_logical_cores=4,
    memory_bytes=8_589_934_592,
    virtualization=None,
    devices=(CORTEX,),
)
