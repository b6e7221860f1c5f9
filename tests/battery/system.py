"""The declared system against the measured one."""

from battery.registry import manipulation
from bundles import with_plan, with_system


@manipulation(
    "GK104",
    "M26",
    base="closed",
    variants={
        "accelerator": {"changes": {"accelerator_model_name": "NVIDIA B200"}},
        "no_accelerator": {"changes": {"accelerator_model_name": None}},
        "memory": {"changes": {"accelerator_memory_capacity_bytes": 192 * 10**9}},
        "no_memory": {"changes": {"accelerator_memory_capacity_bytes": None}},
        "none_a_node": {"changes": {"accelerators_per_node": 0}},
        "framework": {"changes": {"framework": "jax 0.12.0"}},
        "operating_system": {"changes": {"operating_system": "Debian 12"}},
        "processor": {"changes": {"host_processor_model_name": "AMD EPYC 9965"}},
        "cores": {"changes": {"host_processor_core_count": 192}},
        "host_memory": {"changes": {"host_memory_capacity_bytes": 2**42}},
    },
)
def declared_otherwise(bundle, changes):
    """The declaration names another system than the measured one."""
    return with_system(bundle, **changes)


@manipulation(
    "GK003",
    "M26",
    base="formats",
    variants={
        "submitter": {"changes": {"submitter": "somebody-else"}},
        "division": {"changes": {"division": "closed"}},
        "status": {"changes": {"status": "preview"}},
    },
)
def unlike_the_plan(bundle, changes):
    """The declaration and the plan tell different submissions."""
    return with_system(bundle, **changes)


@manipulation(
    "GK104",
    "M26",
    base="cpu",
    variants={
        "operating_system": {"changes": {"operating_system": "Ubuntu 24.04"}},
        "framework": {"changes": {"framework": "torch 2.9"}},
        "processor": {"changes": {"host_processor_model_name": "Intel Xeon 6980P"}},
        "cores": {"changes": {"host_processor_core_count": 128}},
        "host_memory": {"changes": {"host_memory_capacity_bytes": 2**42}},
    },
)
def host_declared_otherwise(bundle, changes):
    """A CPU host is declared as another machine than the measured one."""
    return with_system(bundle, **changes)


@manipulation("GK003", "M26")
def submission_of_another(bundle):
    """The plan's submitter is another than the declaration's."""
    return with_plan(bundle, submission__submitter="somebody-else")
