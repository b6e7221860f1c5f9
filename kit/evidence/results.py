"""`derived/results.json`: the figures that the submitter claims."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """The headline figures of one run, derived by `kit.metrics` and stored as claims.

    Periods in ns per launch, rate in FLOP/s. `spread` is the standard deviation of the windows'
    periods over their mean. `executed` is the arithmetic that the program's products ran in,
    `native` whether it is the number format's own, with no other work beside the products
    (`kit.execution`). Telemetry figures are means over exactly the profiling interval;
    null where the series is missing or the interval holds too few samples. `kernel_ns` is the
    median device time of one GEMM with its own helper kernels, by the kernel trace; null without.

    `sol_fraction` is the guideline's: at the sampled clocks, which are the locked ones in a test
    at a fixed frequency. The shares of speed of light at the device's maximum clocks and of the
    data sheet's dense rate stand beside it and judge nothing. Energy is that between the energy
    counter's edges.
    """

    device: str
    number: int
    launches: int
    mean_period_ns: float
    median_period_ns: float
    spread: float
    flops_per_s: float
    executed: str
    native: bool
    graphics_mhz: float | None
    memory_mhz: float | None
    power_average_mw: float | None
    power_instant_mw: float | None
    power_energy_mw: float | None
    gpu_c: float | None
    memory_c: float | None
    sol_row: str | None
    sol_ns: float | None
    sol_fraction: float | None
    kernel_ns: float | None
    period_over_kernel: float | None
    sol_fraction_at_maximum_clock: float | None
    datasheet_fraction: float | None
    energy_per_gemm_j: float | None
    flops_per_s_per_watt: float | None


@dataclass(frozen=True, slots=True)
class CaseMetrics:
    """A case's headline: the median over its runs, and their range over that median."""

    id: str
    runs: tuple[RunMetrics, ...]
    period_ns: float | None
    flops_per_s: float | None
    replicate_range: float | None


@dataclass(frozen=True, slots=True)
class Results:
    """`derived/results.json`: what the submitter claims. The checker recomputes all of it."""

    edition: str
    cases: tuple[CaseMetrics, ...]
