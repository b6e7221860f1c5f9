import errno
import os

import pytest

from kit.system import DeviceAddress
from kit.telemetry import BurstFailedError, host

NOWHERE = DeviceAddress(None, None)
TICKS = 1000 // os.sysconf("SC_CLK_TCK")


def write(root, path, text):
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(f"{text}\n")


def workstation(root):
    """Lay out a machine with two cores and two packages that tells everything."""
    for core, khz in enumerate((3_000_000, 3_500_400)):
        write(root, f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_cur_freq", khz)
    for package, energy in enumerate((900, 5000)):
        folder = f"sys/class/powercap/intel-rapl:{package}"
        write(root, f"{folder}/name", f"package-{package}")
        write(root, f"{folder}/energy_uj", energy)
        write(root, f"{folder}/max_energy_range_uj", 10_000)
        write(root, f"{folder}:0/name", "dram")
        write(root, f"{folder}:0/energy_uj", 1)
    write(root, "sys/class/hwmon/hwmon0/name", "nvme")
    write(root, "sys/class/hwmon/hwmon0/temp1_input", 99_000)
    write(root, "sys/class/hwmon/hwmon1/name", "coretemp")
    write(root, "sys/class/hwmon/hwmon1/temp1_input", 51_600)
    write(root, "sys/class/hwmon/hwmon1/temp1_label", "Package id 0")
    write(root, "sys/class/hwmon/hwmon1/temp2_input", 70_000)
    write(root, "sys/class/hwmon/hwmon1/temp2_label", "Core 0")
    write(
        root, "proc/stat", "cpu  100 20 30 4000 500 6 7 8 90 10\ncpu0 50 10 15 2000 250 3 3 4 45 5"
    )
    return root


def told(source):
    return {m.column: m for m in source.metrics if m.table == "host.csv"}


def test_a_workstation_tells_everything(tmp_path):
    with host.connect(NOWHERE, workstation(tmp_path)) as source:
        assert [metric.status for metric in told(source).values()] == ["ok"] * 5
        busy_ms = (100 + 20 + 30 + 6 + 7) * TICKS
        assert source.readers["host.csv"]() == [3250, 52, 5900, busy_ms, 8 * TICKS]
        write(tmp_path, "sys/class/hwmon/hwmon1/temp1_input", 61_000)
        assert source.readers["host.csv"]()[1] == 61


def test_an_energy_counter_that_wraps_keeps_counting_up(tmp_path):
    with host.connect(NOWHERE, workstation(tmp_path)) as source:
        totals = []
        for first, second in (
            (900, 5000),
            (9_500, 5_500),
            (100, 6_000),
            (200, 7_000),
            (150, 7_000),
        ):
            write(tmp_path, "sys/class/powercap/intel-rapl:0/energy_uj", first)
            write(tmp_path, "sys/class/powercap/intel-rapl:1/energy_uj", second)
            totals.append(source.readers["host.csv"]()[2])
    assert totals == [5_900, 15_000, 16_100, 17_200, 27_150]


def test_a_virtual_machine_tells_its_load_only_and_why(tmp_path):
    write(tmp_path, "proc/stat", "cpu  1 2 3 4 5 6 7 8 0 0")
    write(tmp_path, "proc/cpuinfo", "processor : 0\ncpu MHz : 2500.000")
    with host.connect(NOWHERE, tmp_path) as source:
        assert len(source.readers["host.csv"]()) == 2
    metrics = told(source)
    absent = {name: metrics[name] for name in ("cpu_mhz", "cpu_c", "package_energy_uj")}
    assert {metric.status for metric in absent.values()} == {"not_supported"}
    assert "constant of the hypervisor" in absent["cpu_mhz"].reason
    assert absent["cpu_c"].reason.startswith("/sys/class/hwmon/")
    assert absent["package_energy_uj"].reason.startswith("/sys/class/powercap/")


def test_a_machine_that_tells_nothing_has_no_table(tmp_path):
    with host.connect(NOWHERE, tmp_path) as source:
        assert source.readers == {}
    assert told(source)["busy_ms"].status == "not_found"
    assert told(source)["busy_ms"].reason == "/proc/stat: No such file or directory"


def test_a_counter_for_root_only_is_no_permission_with_its_path(tmp_path, monkeypatch):
    # Tests may run as root, to whom no file mode says no.
    real = os.open

    def refuse(path, *arguments, **options):
        if str(path).endswith("intel-rapl:0/energy_uj"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    with host.connect(NOWHERE, workstation(tmp_path)) as source:
        assert len(source.readers["host.csv"]()) == 4
    energy = told(source)["package_energy_uj"]
    assert energy.status == "no_permission"
    assert energy.reason == "/sys/class/powercap/intel-rapl:0/energy_uj: Permission denied"


@pytest.mark.parametrize(
    ("path", "text", "column"),
    [
        ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "<unknown>", "cpu_mhz"),
        ("sys/class/hwmon/hwmon1/temp1_input", "0", "cpu_c"),
        ("sys/class/hwmon/hwmon1/temp1_input", "-5000", "cpu_c"),
        ("sys/class/powercap/intel-rapl:1/max_energy_range_uj", "", "package_energy_uj"),
        ("proc/stat", "cpu  1 2 3 4", "steal_ms"),
    ],
)
def test_what_is_no_plausible_number_is_absent(tmp_path, path, text, column):
    write(workstation(tmp_path), path, text)
    with host.connect(NOWHERE, tmp_path) as source:
        assert told(source)[column].status != "ok"
        assert told(source)[column].reason.startswith(f"/{path.split('/')[0]}/")


def test_a_value_that_goes_away_fails_the_burst(tmp_path):
    with host.connect(NOWHERE, workstation(tmp_path)) as source:
        write(tmp_path, "sys/class/hwmon/hwmon1/temp1_input", 0)
        with pytest.raises(BurstFailedError, match="temp1_input: 0 is implausible"):
            source.readers["host.csv"]()


def test_a_host_has_no_limits():
    limits = host.limits(NOWHERE)
    assert limits.other_processes is None
    assert "other_processes" in limits.missing
