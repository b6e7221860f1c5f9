"""The thresholds of every edition, each in one place; the runner's preflight uses the same.

Where a figure was calibrated on recorded H200 runs, the comment names what those runs showed.
"""

from dataclasses import dataclass

from kit.errors import UndecidableError


@dataclass(frozen=True, slots=True)
class Ruleset:
    """The thresholds of one edition. Fractions unless the name carries a unit."""

    edition: str
    # M22: more than 1000 launches at about 4096^3, more for smaller problems.
    minimum_profiling_launches: int = 1000
    # One average-power register spans 1 s, so a fixed-power window below 2 s is mostly warm-up.
    minimum_profiling_s: float = 2.0
    minimum_windows: int = 10
    # M19: clocks were seen to oscillate for about the first 3 s.
    minimum_warm_up_s: float = 3.0
    minimum_cool_down_s: float = 1.0
    # M23: a shorter idle phase could be the tail of the pilot's heat and pass for a baseline.
    minimum_idle_s: float = 1.0
    minimum_replicates: int = 3
    # Stability of the power average: honest H200 runs spread 0.8 % from second 3 on.
    power_halves_difference: float = 0.01
    power_spread: float = 0.03
    # Stability of the clock's moving mean over 1 s, the time over which the device itself averages
    # power: 15 honest H200 tests move by 0.9 %, one by 2.2 %; a step of 6 % or a swing of 4 % at
    # 1.5 s or slower moves it by 3.2 % or more. Over half a second an honest tf32 test moved by
    # 4.7 %. Halves are quieter the longer they are: 2.2 % apart at most over 2 s, 1.2 % over 5 s,
    # 0.5 % over 8 s.
    clock_mean_s: float = 1.0
    clock_halves_difference: float = 0.01
    clock_halves_s: float = 10.0
    clock_mean_range: float = 0.028
    # The runner stops its warm-up as soon as it is steady, at the edge. Profiling begins up to
    # 0.1 s later, when the launch queue has drained: judged there by the same limits, 9 % of
    # replayed H200 warm-ups were refused; by 1.6 times these, none of 450.
    settled_slack: float = 1.75
    # A fixed-frequency clock is held when every sample is within one step.
    clock_step_mhz: int = 15
    minimum_clock_samples: int = 50
    largest_gap_periods: int = 5
    # The sampler doubles its period where a burst would fill it, twice at most.
    longest_period_times_plan: int = 4
    # Idle again: power within a tenth of the baseline (or 10 W), temperature within 12 degrees.
    idle_power_excess: float = 0.10
    idle_power_excess_mw: int = 10_000
    idle_temperature_excess_c: int = 12
    # Independent timings of the same launches.
    control_dlpack_difference: float = 0.005
    # A coarse control: under a power cap, its first span of a second begins on a rested device. On
    # an H200 that made it 0.2 % (bf16) to 3.2 % (int8) slow, where DLPack events agreed within 1e-6
    # and the anchors, host clock over the very same launches, within 1e-5.
    control_host_difference: float = 0.05
    # Below this the host's wake-up is a visible share of the slope.
    control_minimum_s: float = 0.1
    anchor_skew: float = 0.002
    # Two reads of the clock around a drained event: 0.2 ms at most on an H200.
    anchor_width_s: float = 0.05
    # Energy edges against the integrated power: NVML watts of one card, three ways, within 0.7 %.
    energy_power_warn: float = 0.05
    energy_power_fail: float = 0.10
    power_over_limit: float = 0.05
    sol_fail: float = 1.005
    replicate_range: float = 0.02
    # NVML reports a little less than the capacity a part is sold with: 0.4 % on an H200.
    declared_memory_difference: float = 0.02
    dispatch_headroom: float = 0.7
    # JAX lets the host run 32 calls ahead: an H200's windows showed 28 to 31 calls in flight where
    # the host kept up, and 1.5 where it did not.
    calls_ahead: int = 16
    # A call of a device loop is a hundred launches and more, of which the driver queues a thousand:
    # 8.9 calls of 48 GEMMs at 4096^3.
    loop_calls_ahead: int = 2
    # Gaps on an H200: 130 to 160 ns between the kernels of a device loop, 1 to 2 µs between single
    # launches of bf16 and 3.5 µs of fp32, 1.7 µs around the memset of a 4096^3 GEMM, up to 3.4 µs
    # around a loop's addition.
    kernel_gap_median_ns: int = 5_000
    kernel_gap_p99_ns: int = 20_000
    # 2 µs after a kernel of 71 µs, the shortest that is launched singly, are 2.8 %.
    kernel_gap_share: float = 0.03
    # 160 ns after a kernel of 2.2 µs are 7 %, and nothing can be done about them.
    kernel_gap_floor_ns: int = 300
    minimum_traced_gemms: int = 100
    traced_rotations: int = 2
    auxiliary_share: float = 0.01
    # The clock is sampled every 20 ms from a register that steps every 100 ms, and under a power
    # cap it wanders by 3 % within a quarter second; a loop's own work adds up to 1 %.
    kernel_time_tolerance: float = 0.05
    # Bytes read from DRAM over those of A and B. H200, rotated bf16 GEMMs of 1024^3 and 2048^3:
    # 1.0000 to 1.0048; with one buffer set 0.01 to 0.11. What is left for a part of the cache that
    # kept a few lines is 2 %.
    dram_read_least: float = 0.98
    # A kernel reads operands again once they outgrow the cache: 4.5 times at 8192^3 on an H200.
    dram_read_most: float = 32.0
    # A part may hide slices of its L2 from a partition; the table's figure is the whole part's.
    cache_share_of_table: float = 0.95
    # Counts of a random buffer: at 7 standard deviations one honest count in 4e11 is refused, so
    # that a round of a thousand bundles, 3e8 counts, refuses none.
    buffer_sigmas: float = 7.0
    failed_bursts: float = 0.01
    late_bursts: float = 0.05
    # A burst may end this share of a period after the next one began.
    burst_overlap: float = 0.05


EDITIONS = {"2026.1": Ruleset(edition="2026.1")}
CURRENT = "2026.1"


def ruleset(edition: str) -> Ruleset:
    """The thresholds of `edition`.

    Raises:
        UndecidableError: this kit does not know the edition.
    """
    try:
        return EDITIONS[edition]
    except KeyError:
        raise UndecidableError(
            f"edition {edition[:32]!r} is unknown to this kit", hint=f"known: {', '.join(EDITIONS)}"
        ) from None
