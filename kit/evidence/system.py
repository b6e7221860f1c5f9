"""`system.json`: what the submitter declares about the system."""

from dataclasses import dataclass

from kit.plan import Availability, Division


@dataclass(frozen=True, slots=True)
class SystemDescription:
    """What the submitter declares about the system, in MLPerf's field names, typed.

    Null in an optional field means: not declared.
    """

    system_name: str
    submitter: str
    division: Division
    status: Availability
    number_of_nodes: int
    host_processor_model_name: str
    host_processors_per_node: int | None
    host_processor_core_count: int | None
    host_memory_capacity_bytes: int
    accelerator_model_name: str | None
    accelerators_per_node: int
    accelerator_memory_capacity_bytes: int | None
    framework: str
    operating_system: str
    cooling: str | None
    hw_notes: str | None
    sw_notes: str | None
