"""The system description of a bundle: what the submitter declared, completed by what was found."""

from kit.evidence import Environment, SystemDescription
from kit.plan import RunPlan


def describe(plan: RunPlan, found: Environment) -> SystemDescription:
    """Fill MLPerf's system fields from the plan's declaration and the measured environment."""
    declared, submission = plan.system, plan.submission
    gpus = [device for device in found.devices if device.kind == "gpu"]
    return SystemDescription(
        system_name=declared.system_name or submission.system_id,
        submitter=submission.submitter,
        division=submission.division,
        status=submission.availability,
        number_of_nodes=1,
        host_processor_model_name=found.cpu_model,
        host_processors_per_node=declared.host_processors_per_node,
        host_processor_core_count=found.cpu_logical_cores,
        host_memory_capacity_bytes=found.memory_bytes,
        accelerator_model_name=gpus[0].name if gpus else None,
        accelerators_per_node=len(gpus),
        accelerator_memory_capacity_bytes=gpus[0].memory_bytes if gpus else None,
        framework=f"jax {found.packages.get('jax', 'unknown')}",
        operating_system=found.operating_system,
        cooling=declared.cooling,
        hw_notes=declared.hw_notes,
        sw_notes=declared.sw_notes,
    )
