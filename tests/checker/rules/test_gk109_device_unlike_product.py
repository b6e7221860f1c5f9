import pytest

from bundles import (
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_environment,
    with_system,
)
from kit.gpu_table import rows_named

CODE = "GK109"


@pytest.mark.parametrize("division", ["open", "closed"])
def test_honest(division):
    assert outcome(CODE, honest_gpu(division)) == "pass"
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("sm_count", 131),
        ("sm_count", 133),
        ("memory_bus_bits", 6144),
        ("maximum_memory_mhz", 3300),
        ("compute_capability", "9.1"),
    ],
)
def test_a_figure_of_no_product_departs(division, severity, fact, value):
    bundle = with_environment(honest_gpu(division), **{f"device__{fact}": value})
    assert outcome(CODE, bundle) == severity
    (finding,) = findings(CODE, bundle)
    assert "H200 SXM: 9.0, 132 SMs, 6016 bits, 3201 and 1980 MHz" in finding.required


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize("name", ["NVIDIA H100 PCIe", "NVIDIA B200", "NVIDIA A100-SXM4-80GB"])
def test_another_products_name_contradicts_the_figures(division, name):
    bundle = with_environment(honest_gpu(division), device__name=name)
    bundle = with_system(bundle, accelerator_model_name=name)
    found = changed(bundle)
    assert found[CODE] == "fail"
    (finding,) = findings(CODE, bundle)
    assert finding.required.endswith("; the figures are those of H200 SXM")


@pytest.mark.parametrize("name", ["NVIDIA Nobody", "NVIDIA H2000", "H200X"])
def test_a_name_that_the_table_lacks_says_nothing(name):
    assert outcome(CODE, with_environment(honest_gpu(), device__name=name)) == "pass"


@pytest.mark.parametrize(
    ("name", "products"),
    [
        ("NVIDIA H200", {"H200 SXM", "H200 NVL"}),
        ("NVIDIA H100 80GB HBM3", {"H100 PCIe", "H100 SXM5", "H100 NVL"}),
        ("NVIDIA GB200", {"GB200"}),
        ("NVIDIA L40S", {"L40S"}),
        ("NVIDIA L40", {"L40"}),
        ("Tesla V100-SXM2-16GB", {"V100-SXM2-16/32GB", "V100-PCIE-16/32GB"}),
        ("NVIDIA GeForce RTX 4090", {"GeForce RTX 4090"}),
        ("NVIDIA RTX 6000 Ada Generation", {"RTX 6000 Ada"}),
        ("Quadro RTX 6000", set()),
        ("NVIDIA A10G", set()),
    ],
)
def test_products_are_found_by_the_names_that_nvml_gives(name, products):
    assert {row.product for row in rows_named(name)} == products


@pytest.mark.parametrize(("sms", "severity"), [(145, "warn"), (146, "fail"), (1319, "fail")])
def test_no_variant_has_more_sms_than_the_die(sms, severity):
    """An H200 has 132 of the 144 on a GH100."""
    assert outcome(CODE, with_environment(honest_gpu(), device__sm_count=sms)) == severity
