import pytest

from bundles import changed, findings, honest_cpu, honest_gpu, outcome, result, with_environment

CODE = "GK110"
LIBRARIES = honest_gpu().environment.libraries


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed")])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize(
    ("name", "version"), [("nvidia_driver", "590.44.01"), ("nvml", "13.590.44.01"), ("nvml", "13")]
)
def test_library_and_driver_are_of_one_release(name, version):
    bundle = with_environment(honest_gpu(), libraries=LIBRARIES | {name: version})
    assert outcome(CODE, bundle) == "fail"
    assert findings(CODE, bundle)[0].place.endswith("libraries.nvml")


@pytest.mark.parametrize("virtualization", ["none", "passthrough"])
def test_firmware_comes_with_the_driver(virtualization):
    bundle = with_environment(
        honest_gpu(), device__gsp_version="590.44.01", device__virtualization=virtualization
    )
    assert changed(bundle) == {CODE: "fail"}


def test_a_part_of_a_device_runs_the_hosts_firmware():
    bundle = with_environment(
        honest_gpu(), device__gsp_version="590.44.01", device__virtualization="vgpu"
    )
    assert outcome(CODE, bundle) == "pass"


def test_under_wsl_the_driver_is_that_of_windows():
    bundle = with_environment(
        honest_gpu(),
        kernel="Linux 6.6.87.2-microsoft-standard-WSL2",
        libraries=LIBRARIES | {"nvml": "13.580.102"},
    )
    assert outcome(CODE, bundle) == "not_applicable"


@pytest.mark.parametrize("name", ["nvml", "nvidia_driver"])
def test_without_a_version_nothing_is_proven(name):
    left = {key: value for key, value in LIBRARIES.items() if key != name}
    assert result(CODE, with_environment(honest_gpu(), libraries=left)).outcome == "unproven"
