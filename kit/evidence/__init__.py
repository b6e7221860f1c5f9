"""The documents of a bundle beside its plan and raw series: one module and one schema each.

The runner fills them, the checker judges them. Every time is in nanoseconds of CLOCK_MONOTONIC
since the bundle's start, so documents and series of one bundle share one time line. A value that
the machine could not supply is null, and `missing` says why.
"""

from kit.evidence.case import CaseRecord, RunOutcome
from kit.evidence.environment import DeviceFacts, Environment, KitVersion, environment_digest
from kit.evidence.journal import ClockLock, Journal, JournalEntry, JournalEvent
from kit.evidence.results import CaseMetrics, Results, RunMetrics
from kit.evidence.run import (
    Anchor,
    Candidate,
    Control,
    CoolDownStop,
    Dispatch,
    Executable,
    Identity,
    Limits,
    Loops,
    Metric,
    PhaseMarks,
    Rotation,
    Run,
    SamplerHealth,
    StopReason,
    TelemetryRecord,
    TimingRecord,
)
from kit.evidence.status import MetricStatus, Status
from kit.evidence.system import SystemDescription
from kit.evidence.trace import KernelTrace, TraceStatus, no_trace

__all__ = [
    "Anchor",
    "Candidate",
    "CaseMetrics",
    "CaseRecord",
    "ClockLock",
    "Control",
    "CoolDownStop",
    "DeviceFacts",
    "Dispatch",
    "Environment",
    "Executable",
    "Identity",
    "Journal",
    "JournalEntry",
    "JournalEvent",
    "KernelTrace",
    "KitVersion",
    "Limits",
    "Loops",
    "Metric",
    "MetricStatus",
    "PhaseMarks",
    "Results",
    "Rotation",
    "Run",
    "RunMetrics",
    "RunOutcome",
    "SamplerHealth",
    "Status",
    "StopReason",
    "SystemDescription",
    "TelemetryRecord",
    "TimingRecord",
    "TraceStatus",
    "environment_digest",
    "no_trace",
]
