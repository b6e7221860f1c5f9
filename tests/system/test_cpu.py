import pytest

from kit.errors import MeasurementError
from kit.system import cpu_facts
from kit.system.cpu import cache_bytes, cpu_model, memory_bytes, virtualization

MIB = 1024**2


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(f"{text}\n")


def cache(root, cpu, index, level, size, shared, kind="Unified"):
    folder = f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
    for name, text in (
        ("level", level), ("size", size), ("shared_cpu_list", shared), ("type", kind),
    ):  # fmt: skip
        write(root, f"{folder}/{name}", text)


def test_every_last_level_cache_counts_once(tmp_path):
    # Four cores in two complexes of 32 MiB: a GEMM on all of them can keep 64 MiB.
    for cpu, shared in ((0, "0-1"), (1, "0-1"), (2, "2-3"), (3, "2-3")):
        cache(tmp_path, cpu, 0, 1, "32K", str(cpu), "Data")
        cache(tmp_path, cpu, 1, 1, "32K", str(cpu), "Instruction")
        cache(tmp_path, cpu, 2, 2, "1024K", str(cpu))
        cache(tmp_path, cpu, 3, 3, "32768K", shared)
    assert cache_bytes(tmp_path) == 64 * MIB


def test_a_machine_without_a_third_level_counts_its_second(tmp_path):
    for cpu in (0, 1):
        cache(tmp_path, cpu, 0, 1, "64K", str(cpu), "Data")
        cache(tmp_path, cpu, 2, 2, "2M", str(cpu))
    assert cache_bytes(tmp_path) == 4 * MIB


def test_cpuinfo_stands_in_on_intel(tmp_path):
    blocks = [
        f"vendor_id\t: GenuineIntel\nphysical id\t: {socket}\ncache size\t: 36608 KB"
        for socket in (0, 0, 1, 1)
    ]
    write(tmp_path, "proc/cpuinfo", "\n\n".join(blocks))
    assert cache_bytes(tmp_path) == 2 * 36608 * 1024


@pytest.mark.parametrize("cpuinfo", ["", "vendor_id\t: AuthenticAMD\ncache size\t: 512 KB"])
def test_an_unknown_cache_is_an_error_and_no_guess(tmp_path, cpuinfo):
    write(tmp_path, "proc/cpuinfo", cpuinfo)
    with pytest.raises(MeasurementError, match="last-level cache") as caught:
        cache_bytes(tmp_path)
    assert "/sys/devices/system/cpu" in caught.value.hint


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("sys/class/dmi/id/product_name", "KVM", "kvm"),
        ("sys/class/dmi/id/sys_vendor", "QEMU", "qemu"),
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2", "amazon-ec2"),
        ("sys/class/dmi/id/product_name", "VMware20,1 VMW-42-serial", "vmware"),
        ("sys/hypervisor/type", "xen", "xen"),
        ("proc/cpuinfo", "flags\t: fpu hypervisor sse", "unknown hypervisor"),
        ("proc/cpuinfo", "flags\t: fpu sse", None),
        ("sys/class/dmi/id/product_name", "PowerEdge SN 12345", None),
    ],
)
def test_virtualization_is_a_name_of_a_fixed_list(tmp_path, path, text, expected):
    write(tmp_path, path, text)
    assert virtualization(tmp_path) == expected


def test_hyper_v_is_told_from_microsofts_own_machines(tmp_path):
    write(tmp_path, "sys/class/dmi/id/sys_vendor", "Microsoft Corporation")
    write(tmp_path, "sys/class/dmi/id/product_name", "Surface")
    assert virtualization(tmp_path) is None
    write(tmp_path, "sys/class/dmi/id/product_name", "Virtual Machine")
    assert virtualization(tmp_path) == "hyper-v"


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        ("processor\t: 0\nmodel name\t: AMD EPYC 9654\n\nmodel name\t: other", "AMD EPYC 9654"),
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd4f", "Arm implementer 0x41 part 0xd4f"),
    ],
)
def test_the_model_is_what_the_processor_calls_itself(tmp_path, cpuinfo, model):
    write(tmp_path, "proc/cpuinfo", cpuinfo)
    assert cpu_model(tmp_path) == model


def test_memory_is_that_of_meminfo(tmp_path):
    write(tmp_path, "proc/meminfo", "MemTotal:       24684084 kB\nMemFree: 1 kB")
    assert memory_bytes(tmp_path) == 24684084 * 1024
    with pytest.raises(MeasurementError, match="no MemTotal"):
        memory_bytes(tmp_path / "nowhere")


def test_this_host_is_a_device():
    facts = cpu_facts()
    assert (facts.id, facts.kind) == ("cpu", "cpu")
    assert facts.cache_bytes >= 64 * 1024
    assert facts.memory_bytes >= 2**28
    assert facts.sm_count is None
    assert "sm_count" in facts.missing
