import pytest

from bundles import changed, findings, honest_cpu, honest_gpu, outcome, with_environment

CODE = "GK107"


def with_setting(bundle, name, value):
    return with_environment(bundle, settings=bundle.environment.settings | {name: value})


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_cpu()])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("XLA_FLAGS", "--xla_gpu_autotune_level=0"),
        ("XLA_FLAGS", "<hidden>"),
        ("XLA_PYTHON_CLIENT_ALLOCATOR", "platform"),
        ("XLA_PYTHON_CLIENT_ALLOCATOR", "address"),
        ("TF_GPU_ALLOCATOR", "<hidden>"),
        ("PJRT_GPU_ENABLE_ASYNC_DISPATCH", "1"),
    ],
)
def test_forbidden(bundle, name, value):
    broken = with_setting(bundle, name, value)
    assert changed(broken) == {CODE: "fail"}
    (finding,) = findings(CODE, broken)
    assert finding.place == f"data/environment.json: settings.{name}"
    assert finding.found == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("XLA_FLAGS", " "),
        ("XLA_PYTHON_CLIENT_ALLOCATOR", "bfc"),
        ("XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async"),
        ("XLA_PYTHON_CLIENT_ALLOCATOR", "vmm"),
        ("TF_GPU_ALLOCATOR", "cuda_malloc_async"),
        ("PJRT_GPU_ENABLE_ASYNC_DISPATCH", "0"),
        ("XLA_CLIENT_MEM_FRACTION", "0.9"),
    ],
)
def test_allowed(name, value):
    assert changed(with_setting(honest_gpu(), name, value)) == {}
