"""XLA's options of an executable: what they ask for, and that XLA knows them."""

import jax
import jax.numpy as jnp
import pytest

from kit.backends import Build
from kit.backends.jax_options import cuda_options, recorded
from kit.xla_options import COMPLETE, DUMP, LOAD


def test_each_implementation_turns_the_other_off():
    assert cuda_options(Build("library")) == {"xla_gpu_enable_triton_gemm": "False"}
    assert cuda_options(Build("triton")) == {"xla_gpu_cublas_fallback": "False"}


def test_replayed_results_must_be_complete():
    options = cuda_options(Build("library", load_from="/bundle/data/0a.autotune.txt"))
    assert options[LOAD] == "/bundle/data/0a.autotune.txt"
    assert options[COMPLETE] == "True"
    assert DUMP not in options


def test_records_name_no_folder_of_this_machine():
    build = Build("triton", dump_to="/home/x/1.txt", load_from="/home/x/0a.autotune.txt")
    assert recorded(cuda_options(build)) == {
        "xla_gpu_cublas_fallback": "False",
        DUMP: "1.txt",
        LOAD: "0a.autotune.txt",
        COMPLETE: "True",
    }


@pytest.mark.parametrize("implementation", ["library", "triton"])
def test_xla_takes_every_option(implementation, tmp_path):
    """It refuses names it does not know, on a CPU too."""
    there = str(tmp_path / "x.txt")
    options = cuda_options(Build(implementation, dump_to=there, load_from=there))
    value = jnp.ones(3)
    assert jax.jit(jnp.sum, compiler_options=options)(value) == 3
    with pytest.raises(RuntimeError, match="xla_gpu_no_such_thing"):
        jax.jit(jnp.max, compiler_options=options | {"xla_gpu_no_such_thing": "1"})(value)
