import pytest

from kit.system import scrub, settings, uuid_hash

UUID = "GPU-8f4a1c2e-0b3d-4e5f-a6b7-c8d9e0f1a2b3"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JAX_PLATFORMS", "cuda,cpu"),
        ("JAX_ENABLE_X64", "True"),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.90"),
        ("XLA_PYTHON_CLIENT_ALLOCATOR", "platform"),
        ("NVIDIA_TF32_OVERRIDE", "0"),
        ("CUBLAS_WORKSPACE_CONFIG", ":4096:8"),
        ("CUDA_VISIBLE_DEVICES", "1,0"),
        ("CUDA_VISIBLE_DEVICES", ""),
        ("XLA_FLAGS", "--xla_gpu_enable_triton_gemm=false --xla_gpu_autotune_level=4"),
        ("XLA_FLAGS", "--xla_gpu_enable_command_buffer=FUSION,CUBLAS --xla_gpu_deterministic_ops"),
        ("XLA_FLAGS", "--xla_disable_hlo_passes=dot-merger,gemm_rewriter"),
    ],
)
def test_a_value_of_its_form_is_told(name, value):
    assert settings({name: value}) == {name: value}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("JAX_PLATFORMS", "alice", "<hidden>"),
        ("JAX_COMPILATION_CACHE_DIR", "/home/alice/cache", "<hidden>"),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9;hf_abcdefghijklmnop", "<hidden>"),
        ("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9\n", "<hidden>"),
        ("LD_PRELOAD", "/home/alice/hook.so", "<hidden>"),
        ("XLA_FLAGS", "--xla_dump_to=/home/alice", "--xla_dump_to=<hidden>"),
        ("XLA_FLAGS", "--xla_dump_to=results-alice", "--xla_dump_to=<hidden>"),
        ("XLA_FLAGS", "--xla_disable_hlo_passes=/home/alice", "--xla_disable_hlo_passes=<hidden>"),
        ("XLA_FLAGS", "secret --Xla=1", "<hidden> <hidden>"),
        ("CUDA_VISIBLE_DEVICES", UUID, f"gpu-{uuid_hash(UUID)}"),
        ("CUDA_VISIBLE_DEVICES", "0,alice", "0,<hidden>"),
    ],
)
def test_that_a_value_is_hidden_is_told(name, value, told):
    assert settings({name: value}) == {name: told}


def test_what_is_not_listed_is_not_even_named():
    hostile = {
        "AWS_SECRET_ACCESS_KEY": "x", "HF_TOKEN": "x", "USER": "alice", "HOME": "/home/alice",
        "HOSTNAME": "node17", "JAX_COORDINATOR_ADDRESS": "node17:1234", "PATH": "/home/alice/bin",
        "XLA_ALICE": "x", "JAX_TOKEN": "x", "jax_platforms": "cpu",
    }  # fmt: skip
    assert settings(hostile) == {}


def test_the_process_environment_is_the_default(monkeypatch):
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")
    assert settings()["NVIDIA_TF32_OVERRIDE"] == "1"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("13.0.2", "13.0.2"),
        ("PJRT C API\ncuda 13000", "PJRT C API\ncuda 13000"),
        ("12.8 at /home/alice/lib/libcublas.so", "12.8 at <hidden>"),
        ("dir=/home/alice,x", "dir=<hidden>,x"),
        ("~/x C:\\Users\\alice alice@node17", "<hidden> <hidden> <hidden>"),
        ("/mnt/a)b: full (see /mnt/a)", "<hidden>: full (see <hidden>)"),
        (f"device {UUID}", f"device gpu-{uuid_hash(UUID)}"),
    ],
)
def test_scrubbed_text_holds_no_path_address_or_uuid(text, told):
    assert scrub(text) == told
