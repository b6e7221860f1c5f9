import pytest

from bundles import (
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_field,
)

CODE = "GK102"


def with_identity(name, value):
    return with_field(honest_gpu(), GUIDELINE, 2, f"identity.{name}", value)


def test_honest():
    assert outcome(CODE, honest_gpu()) == "pass"
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("nvml_uuid_hash", "000000000000"),
        ("cuda_pci_bus_id", "0000:01:06.0"),
        ("nvml_pci_bus_id", "00000001:00:06.0"),
        ("nvml_pci_bus_id", "10000000:00:06.0"),
    ],
)
def test_two_devices(name, value):
    broken = with_identity(name, value)
    assert changed(broken) == {CODE: "fail"}
    (finding,) = findings(CODE, broken)
    assert "-02/run.json: identity.cuda_" in finding.place
    assert value in finding.found + finding.required


@pytest.mark.parametrize("value", ["00:06.0", "0000:00:06.0", "00000000:00:06.0"])
def test_width_and_case_of_the_domain_do_not_matter(value):
    honest = {"0000:00:06.0": "pass", "00000000:00:06.0": "pass", "00:06.0": "fail"}
    assert outcome(CODE, with_identity("cuda_pci_bus_id", value)) == honest[value]


def test_device_called_by_another_uuid():
    broken = with_field(honest_gpu(), GUIDELINE, 2, "identity.cuda_uuid_hash", "0123456789ab")
    places = {finding.place.rpartition(": ")[2] for finding in findings(CODE, broken)}
    assert places == {"identity.cuda_uuid_hash", "device"}


@pytest.mark.parametrize("name", ["nvml_uuid_hash", "nvml_pci_bus_id", "cuda_pci_bus_id"])
def test_null_proves_nothing(name):
    assert changed(with_identity(name, None)) == {CODE: "unproven"}
