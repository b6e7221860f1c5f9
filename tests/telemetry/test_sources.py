import pytest

from kit.errors import UsageError
from kit.system import DeviceAddress
from kit.telemetry import source, sources
from kit.trace import TELEMETRY_TABLES

NOWHERE = DeviceAddress(None, None)
COLUMNS = [
    (table.file, column.name)
    for table in TELEMETRY_TABLES
    for column in table.columns
    if column.optional
]


def test_the_sources_are_the_modules_of_the_package():
    assert sources() == ("host", "none", "nvml")


@pytest.mark.parametrize(
    "name", ["os", "../x", "nvml.os", "kit.telemetry.nvml", "", "sampler", "__init__", "nvml\n"]
)
def test_only_a_module_of_the_package_is_a_source(name):
    with pytest.raises(UsageError, match="known: host, none, nvml") as caught:
        source(name)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", sources())
def test_a_source_offers_what_a_member_must(name):
    member = source(name)
    assert set(member.TABLES) <= set(TELEMETRY_TABLES)
    assert callable(member.connect)
    assert callable(member.limits)


@pytest.mark.parametrize("name", ["host", "none"])
def test_a_source_accounts_for_every_column(name):
    with source(name).connect(NOWHERE) as connected:
        assert [(metric.table, metric.column) for metric in connected.metrics] == COLUMNS
        assert all(metric.reason for metric in connected.metrics if metric.status != "ok")
        for file, read in connected.readers.items():
            available = [m for m in connected.metrics if m.table == file and m.status == "ok"]
            assert len(read()) == len(available) > 0


def test_none_reads_nothing_and_says_so():
    with source("none").connect(NOWHERE) as connected:
        assert connected.readers == {}
        assert {metric.reason for metric in connected.metrics} == {"telemetry=none"}
    limits = source("none").limits(NOWHERE)
    assert limits.power_enforced_mw is None
    assert set(limits.missing.values()) == {"telemetry=none"}
