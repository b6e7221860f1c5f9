"""The thresholds of every edition, each in one place; the runner's preflight uses the same.

Where a figure was calibrated on recorded H200 runs, the comment names what those runs showed.
"Committed" are the 57 under `submissions/`, whose extremes `tests/margins.py` prints. What no
edition decides stands beside its use: how much this kit recomputes, and what a round, whose bundles
may be of several editions, is held to.
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
    # The spread of the periods and the search for copied runs need a series. The kit's own
    # presets cut 20 windows on a CPU and 40 on a GPU.
    minimum_windows: int = 10
    # M19: clocks were seen to oscillate for about the first 3 s.
    minimum_warm_up_s: float = 3.0
    # M22 asks for a cool-down of 1 s beside 10,000 and 4,000 launches. It is also the stretch over
    # which the device averages power, and twice the 0.5 s that an H200 takes back to idle.
    minimum_cool_down_s: float = 1.0
    # M23: a shorter idle phase could be the tail of the pilot's heat and pass for a baseline.
    minimum_idle_s: float = 1.0
    # Two runs have a range and no middle; of three, one that went astray can be told.
    minimum_replicates: int = 3
    # Stability of the power average: honest H200 runs spread 0.8 % from second 3 on, committed ones
    # 1.8 % at most while profiling.
    power_halves_difference: float = 0.01
    power_spread: float = 0.03
    # Stability of the clock's moving mean over 1 s, the time over which the device itself averages
    # power: 15 honest H200 tests move by 0.9 %, one by 2.2 %, committed ones by 1.8 % at most; a
    # step of 6 % or a swing of 4 % at 1.5 s or slower moves it by 3.2 % or more. Over half a second
    # an honest tf32 test moved by 4.7 %. Halves are quieter the longer they are: 2.2 % apart at
    # most over 2 s, 1.2 % over 5 s, 0.5 % over 8 s.
    clock_mean_s: float = 1.0
    clock_halves_difference: float = 0.01
    clock_halves_s: float = 10.0
    clock_mean_range: float = 0.028
    # The runner stops its warm-up as soon as it is steady, at the edge. Profiling begins up to
    # 0.1 s later, when the launch queue has drained: judged there by the same limits, 9 % of
    # replayed H200 warm-ups were refused; by 1.6 times these, none of 450. A little more is left.
    settled_slack: float = 1.75
    # A fixed-frequency clock is held when every sample is within one step.
    clock_step_mhz: int = 15
    # A second of samples every 20 ms, or ten steps of a register of 100 ms.
    minimum_clock_samples: int = 50
    # As long as the registers themselves stand still, 100 ms. The longest stretch in 21 H200 tests
    # was 1.03 periods, in committed ones 1.25 of the clocks' 20 ms and 3.0 of power's 50 ms; where
    # four GPUs of one host were measured at once, calls waited for one another and samples 20 ms
    # apart were missing for 120 ms in one of 39 tests.
    largest_gap_periods: int = 5
    largest_gap_s: float = 0.25
    # Samples in profiling over those that its length and their period make: 0.958 and more in 48
    # H200 tests, some of which shared their host with others.
    samples_least: float = 0.85
    # The kit plans 20 and 50 ms. Clocks twice a register's step of 100 ms, so that each value is
    # seen; power often enough to tell the register's steps (power_step_sampling).
    longest_clock_period_ms: int = 50
    longest_power_period_ms: int = 60
    # The middle distance of two samples over the sampler's period: 5e-5 apart at most in 80 H200
    # tests, 1.1e-4 in committed ones. Samples that come late by half a millisecond on average,
    # 20 ms apart, move it by 0.2 %.
    sampling_difference: float = 0.005
    # The sampler doubles a period of which a burst would take more than a fifth, and again up to
    # below 2 s. Of clocks and power in a test two such doublings are allowed (GK401).
    longest_period_times_plan: int = 4
    # The kit plans profiling this much over its least seconds, by the host's estimate of the period
    # over the warm-up, and rounds up to whole calls in each window: so in 80 H200 tests, or a call
    # a window less.
    profiling_margin: float = 1.05
    # The idle phase lasted the plan's time and 7 ms more at most in 147 H200 tests, never less.
    idle_beyond_plan_s: float = 0.1
    idle_short_of_plan_s: float = 0.001
    # Idle again: power within a tenth of the baseline (or 10 W), temperature within 12 degrees.
    idle_power_excess: float = 0.10
    idle_power_excess_mw: int = 10_000
    idle_temperature_excess_c: int = 12
    # Independent timings of the same launches.
    control_dlpack_difference: float = 0.005
    # A coarse control: 1.1 % off at most in 100 H200 tests, 1.6 % in committed ones. DLPack events
    # agreed within 2e-6, and the anchors, host clock over the very same launches, within 1e-5.
    control_host_difference: float = 0.025
    # Below this the host's wake-up is a visible share of the slope, which beside events lasts a
    # second (slope_s): 0.984 to 1.017 s in 39 H200 tests, up to 1.024 s in committed ones.
    control_minimum_s: float = 0.1
    # A GPU's timer against CLOCK_MONOTONIC: 1e-5 apart at most in 21 H200 tests. A time service
    # slews the host's by up to 5e-4.
    anchor_skew: float = 0.001
    # Two reads of the clock around a drained event: 0.21 ms at most in 21 H200 tests. A host that
    # is taken away in between makes an anchor wide, which is not wrong, but explains no more.
    anchor_width_s: float = 0.001
    # The host's own clock is the only one on a CPU, and its machine may be a busy one.
    anchor_width_host_s: float = 0.05
    # Cycles per launch of warm-up after its first second against profiling: 0.8 % apart at most in
    # 59 H200 tests, and any two stretches of 2 s of one test 1.5 %. What a clock that changed may
    # explain, for a kernel bound by memory, left 0.7 % of the latter. In one more test, of 256^3,
    # each GEMM took 43 of its 2,860 ns longer: a gap between two kernels may be another one.
    cycles_difference: float = 0.015
    cycles_gap_ns: float = 60.0
    cycles_after_s: float = 1.0
    # What heats up gets no faster than a capped clock wanders: the mean clock of the warm-up over
    # the profiling's is 0.994 at least in 80 H200 tests at a fixed power, 0.991 in committed ones.
    cycles_rise: float = 0.01
    # The first second: its mean period is at most 1.6 % over the profiling's, or what the clock
    # explains, and its slowest window, often the first one, 1.157 times it, in 48 H200 tests; 1.9 %
    # and 1.184 times in committed ones.
    early_difference: float = 0.03
    early_window: float = 1.3
    # Shorter stretches hold too few samples of a clock that swings once a second.
    cycles_stretch_s: float = 1.0
    # Of launches planned by the host's time over the warm-up: a call off at most in 80 H200 tests.
    planned_launches_difference: float = 0.003
    # The host slope launches N whole calls that last a second by the windows' mean period. In less
    # a power-capped clock wanders by 3 %. It takes four such spans: N to wake the device, N, and
    # 2N.
    slope_s: float = 1.0
    slope_spans: int = 4
    # From the last window to the cool-down nothing runs but the slope: 37 ms apart at most in 135
    # H200 tests, and 103 ms in twelve of 128^3, whose calls take 78 ms each. Beside these a call's
    # own time is allowed, and a host that is halted between two spans; what a forger could hide so
    # GK321 bounds by the energy.
    slope_gap_difference: float = 0.01
    slope_gap_s: float = 0.1
    # From the idle phase's end to the first launch: 11 ms at most in 80 H200 tests, 19.4 in
    # committed ones, where 5,760 buffers were waited for; twice as many, by a host half as fast,
    # take 78.
    idle_to_start_s: float = 0.1
    # Power rises and falls at the load's ends: seen 32 to 163 ms after the first launch and 26 ms
    # before to 109 ms after the cool-down's start in 25 H200 tests and the committed ones, in
    # samples 50 and 60 ms apart of a register of 100 ms. A step early and two steps late are
    # allowed, and this much.
    power_edge_s: float = 0.05
    # How long the load lasted by the energy counter, over how long by its marks, and over what its
    # windows and the slope take: 0.06 s apart at most in 126 H200 tests of 13 to 49 s, 0.07 in one
    # whose counter ran ahead for a while. A load that draws little over the device at rest is known
    # as much worse: 0.17 s at most in twelve tests of 128^3.
    load_length_s: float = 0.1
    load_rest_difference: float = 0.01
    # The power at rest, before the load: by the counter's steps and by its own register 0.3 % apart
    # at most in 221 H200 tests, and at most a fifth of the default limit. Behind a load a device at
    # rest drew up to 5.5 % more than before it.
    rest_energy_difference: float = 0.01
    rest_limit_share: float = 0.35
    rest_later_more: float = 0.06
    # Seconds of the counter's steps that tell the power under load beside each edge.
    load_near_s: float = 2.0
    # Such steps lie so long after the load's start, when its power has risen.
    load_rises_s: float = 1.0
    # Such steps lie so long before the load's end: the next one may lie beyond it.
    load_tail_s: float = 0.3
    # The device is at rest so long after the load's end.
    load_falls_s: float = 0.5
    # Where the load draws less than this over idle, its edges drown: at rest a device drew up to
    # 5 % more at one moment than at another. 256^3 draws 31 to 33 % more.
    power_edge_share: float = 0.2
    # Energy tells the length of a weaker load too: 128^3 draws 9 to 15 % more.
    load_energy_share: float = 0.08
    # Less than this over idle neither warms a device for certain nor tells of tests between runs.
    # GK321 leaves such a load unproven where the device draws much more behind it than before it,
    # or nearly as much on one side as under it.
    load_share: float = 0.5
    # The bit of the power cap: never in the half second before the first launch, and until 577 ms
    # after the cool-down's start at most, in 33 H200 tests that their cap held and in as many
    # committed ones. The idle phase may begin with the bit of the pilot's load.
    cap_bit_before_s: float = 0.5
    cap_bit_after_s: float = 0.8
    cap_bit_stray: float = 0.05
    # Where the load draws half as much again as the idle phase, an H200 grew warmer by 4 to 24 °C
    # within 8.7 s and more, in 45 tests.
    temperature_rise_c: float = 1.0
    temperature_load_s: float = 5.0
    # A run's energy counter to that of the next: 126 to 527 W on an H200 that traces, tunes and
    # counts meanwhile and rests at 118 to 138 W. Without a process, parts draw less than at rest.
    between_idle_least: float = 0.25
    # What is drawn over idle meanwhile, over that of the run itself: 0.61 at most in 27 H200 tests
    # without tuning (0.90 of 128^3, which is too small a load to be judged), and up to 2.68 in
    # committed ones where eight attempts tuned, and a final.
    between_work: float = 0.95
    # For every attempt of the tuner before a case: with eight of them 2.15 in all, of which
    # committed H200 tests took 1.45 at most once the final's allowance is taken off.
    between_work_per_attempt: float = 0.15
    # The tuner's final: three programs, three times 1.8 s each, and a tenth more.
    between_final_s: float = 18.0
    # From the end of an attempt to the next: 0.02 s after 37 H200 attempts, and 13.6 s where
    # hardware counters were read, which `timeout_s` bounds.
    journal_silence_s: float = 10.0
    # From an attempt's start to that of its process: 0.61 s at most in 37 attempts that tuned
    # nothing, on a GPU's host and on a CPU of two cores. A busy host takes longer.
    attempt_start_s: float = 30.0
    # As many steps of the average-power register are needed to know how often it steps.
    minimum_power_steps: int = 10
    # Steps of the average-power register: 98.6 to 109.5 ms on average in 64 H200 tests for a
    # register of 100 ms. Two equal values hide a step, the more often the steadier the power is.
    power_step_early: float = 0.03
    power_step_late: float = 0.25
    # A register of 100 ms shows in samples that are at least 1.5 times as frequent.
    power_step_sampling: float = 0.65
    # The share of clock samples that may lie off the device's steps: none did, in 100,000.
    clock_off_steps: float = 0.01
    # The hardware slowdown's bit flashes as the performance state changes: one sample may show it.
    bare_slowdown_samples: int = 1
    # No processor works below 1 °C (a sensor that does not answer reads 0) or above 125 °C, where
    # silicon is shut down.
    temperature_least_c: int = 1
    temperature_most_c: int = 125
    # The average looks back over a second: under so much load it moves at least once.
    moving_power_s: float = 2.0
    moving_power_samples: int = 20
    # A counter of ns was read 43 ms ahead of its next reading in one of 39 H200 tests, and 93 ms in
    # one of the committed ones: less than its register's step of 100 ms, and a little is left.
    counter_back_s: float = 0.12
    # No counter of ns runs faster than time. Read late it jumps: by 0.2 s at most in 21 H200 tests.
    counter_ahead_s: float = 0.4
    # Two registers that show one domain, read one after the other: 99.9 % equal on an H200.
    clock_domains_equal: float = 0.95
    # The share of samples with the bit of the power cap against the growth of its counter: 0.03
    # apart at most in 21 H200 tests.
    power_cap_difference: float = 0.1
    # From this share of samples with that bit on, the cap held the device.
    power_cap_held: float = 0.9
    # A clock this far below its maximum has a reason in every sample of 21 H200 tests.
    clock_below_maximum: float = 0.02
    # Bits that neither clock nor cap explains may be set in stray samples, up to this share.
    unexplained_clock: float = 0.05
    # Samples of a clock below its maximum: 0.61 of them and more where 26 H200 tests drew 0.987 of
    # their limit and more (committed ones from 0.986 on), 0.12 at most where they drew less or were
    # near it.
    clock_low_share: float = 0.5
    # A clock under the cap changes from one sample to the next in 7 to 16 % of them, in 31 H200
    # tests with uniform operands, and in 3 to 17 % in committed ones. Multiplying zeros it stood
    # still in one of two.
    clock_changes_least: float = 0.01
    # An H200's memory clock is at its maximum of 3201 MHz, or reads 3199 MHz, in all of 48 tests.
    memory_clock_below: float = 0.002
    # At the limit within this, a clock below its maximum cannot be without a reason.
    at_power_limit: float = 0.97
    # What the energy counter grew by against the integrated power: three registers of one H200
    # agree within 0.8 %.
    energy_power_warn: float = 0.05
    energy_power_fail: float = 0.10
    # The average of the first seconds under load overshot by 2.0 % at most in 25 H200 tests, by
    # 2.1 % in committed ones.
    power_over_limit: float = 0.04
    # The sampled clock errs by less than 0.3 % over 2 s of samples, and the best GEMM of an H200
    # reached 95 %; more is wrong clocks, time or work.
    sol_fail: float = 1.005
    # Three processes that tuned for themselves on one H200: 0.4 % apart at 4096^3, 0.7 % at 1024^3,
    # and 1.0 % at most, at 16384^3, in committed cases. Two H200 differ by 1 %.
    replicate_range: float = 0.02
    # Where memory lies decides 1 x 4096 x 4096: windows of one process agree within 0.03 %, three
    # and six processes were 2.3 and 3.1 % apart. Their mean is what more of them make sure.
    replicate_range_wide: float = 0.05
    replicate_error: float = 0.005
    # Part of the default limit that may differ from the table's TDP before it is remarked on.
    default_limit_difference: float = 0.01
    # Fewer windows or readings may agree by chance, and a clock that stands still, or moves between
    # a few levels, does so honestly.
    copied_windows: int = 3
    copied_readings: int = 21
    copied_values: int = 5
    # Two windows of a run agree in 0.1 % of all pairs at most in 5,700 windows of 56 runs, of which
    # no two neighbours agreed with two others: four in a row would in one of 10^8 runs.
    repeated_windows: int = 4
    # Copied runs keep the order of ups and downs, whatever noise is put on them, and where they are
    # moved: of four series of windows, clock and power, the second most alike correlates by 0.74 at
    # most in 580 pairs of real runs of one case, at any shift up to 6 s either way, by 0.87 at most
    # in 4,851 pairs of 99 series of their spectra, and by 0.95 and more in jittered and rolled
    # copies. Pairs of 256^3 and 128^3 did by up to 0.91 and 0.92, whose power swings every 0.7 to
    # 0.9 s: each run is about as much like itself at other shifts.
    run_correlation: float = 0.9
    run_correlation_beyond_own: float = 0.03
    # Beyond this no swing excuses it. Of single series two real runs correlated by 0.94 at most.
    run_correlation_certain: float = 0.97
    # How far a copy may have been moved, either way, and is still found: further than profiling
    # lasts at least by the kit's standard phases, 5.25 s.
    run_lag_s: float = 6.0
    # UTC against the time line, both in whole seconds: less than 1 s apart in 11 H200 runs.
    utc_difference_s: int = 3
    # The kit seals as soon as it has measured: the same day in 7 bundles. Midnight may lie between.
    bagging_days: int = 1
    # What a processor's core can do in a cycle, generously: matrix units 4,096 operations on types
    # of 16 bits and less, vector units 256 on wider ones. No core runs faster than 6.5 GHz.
    core_operations_narrow: int = 4096
    core_operations_wide: int = 256
    core_ghz: float = 6.5
    # Logical cores of one host: 1,920 of 16 sockets of 60 cores, two threads each. A call into a
    # compiled program takes microseconds: 437 a GEMM is the least of the committed CPU runs.
    most_cores: int = 2048
    least_call_ns: float = 1_000.0
    # A product that the table lacks: twice the SMs of the largest, 188. A generation added 15 % at
    # most. Overclocked cards run 10 % over the clock that the table has; the highest is 3,105 MHz.
    unknown_sms: int = 2
    unknown_clock: float = 1.25
    # A variant has no more SMs than the die: 144 of a GH100, 9 % over the 132 of an H100 or H200.
    sms_beyond_product: float = 0.1
    # NVML reports a little less than the capacity a part is sold with: 0.4 % on an H200.
    declared_memory_difference: float = 0.02
    # The host's cost of a call varies twofold between calls and hosts (42 to 70 µs in 8 H200 tests,
    # up to 86 µs in committed ones); what is left keeps the device busy meanwhile.
    dispatch_headroom: float = 0.7
    # The pilot's GEMMs meet a rested device or one just awake: 0.85 to 1.03 times the windows'
    # period in 135 H200 tests. The fastest of the tuner's programs took 0.87 to 1.09 times it.
    pilot_period_least: float = 0.5
    pilot_period_most: float = 1.3
    # JAX lets the host run 32 calls ahead, the driver a thousand launches: an H200's windows showed
    # 28 GEMMs and more in flight where the host kept up (455 at 4096^3 in a device loop, each with
    # a memset), and 1.5 where it did not.
    launches_ahead: int = 16
    # How far ahead of the device the host gets: what this share of the windows keep below. On a
    # disturbed host its lead fell from 27.8 calls to 18 and back, 24.2 in the middle, in one of 92
    # H200 tests.
    lead_share: float = 0.9
    # JAX's own limit of 32, the call that waits for it, and 2 % of clock from one to the next: 32.6
    # at most in 92 H200 tests; calls of a loop, 28.4.
    most_calls_ahead: int = 34
    most_loops_ahead: int = 33
    # In no window, of the warm-up neither, is the host much further ahead than JAX lets it run: by
    # 38.7 calls at most in 147 H200 tests, as calls in flight slow down where the power cap first
    # lowers the clock.
    most_calls_ever_ahead: int = 48
    # The driver's queue holds a thousand: 872 to 990 kernels and memsets in 28 H200 tests of loops
    # whose GEMMs have a memset each and gaps of 1.7 µs; none of those was made a graph.
    most_kernels_ahead: int = 1_100
    streamed_gap_ns: int = 1_000
    # Gaps on an H200: 130 to 160 ns between the kernels of a device loop, or none where they
    # overlap, 1 to 2.8 µs between single launches of bf16 and 3.2 to 3.5 µs of fp64 and fp32, 1.6
    # to 1.8 µs around the memset of a 4096^3 GEMM, up to 3.4 µs around a loop's addition.
    kernel_gap_median_ns: int = 5_000
    kernel_gap_p99_ns: int = 20_000
    # What gaps take of the time: 2 µs after a kernel of 71 µs are 2.8 %. A memset before each GEMM
    # makes two gaps: at 4096^3 two committed cases of float8 with float32 out took 3.0 and 3.1 %.
    kernel_gap_share: float = 0.04
    # 160 ns after a kernel of 2.2 µs are 7 %, and nothing can be done about them.
    kernel_gap_floor_ns: int = 300
    # The 99th percentile of gaps is one of them, not the longest; and every set comes round twice.
    minimum_traced_gemms: int = 100
    traced_rotations: int = 2
    # A device loop's additions and its copy; the kit adds sets until they stay below this.
    auxiliary_share: float = 0.01
    # A Hopper kernel may begin before the one ahead has ended (programmatic dependent launch): by
    # 32 ns in the middle of decode, and by 1.8 µs at most, in 48 traces of H200; one kernel of a
    # committed trace, of tf32, did by 7.3 µs.
    kernel_overlap_median_ns: int = 250
    # The clock is sampled every 20 ms from a register that steps every 100 ms, and under a power
    # cap it wanders by 3 % within a quarter second; a loop's own work adds up to 1 %.
    kernel_time_tolerance: float = 0.05
    # The clock while tracing over that of the windows, which explains a difference: 0.995 to 1.14
    # in 9 H200 tests, 0.990 to 1.020 in committed ones. A rested device is faster at first; one at
    # its cap wanders by a per cent, either way.
    trace_clock_least: float = 0.97
    trace_clock_most: float = 1.25
    # Bytes read from DRAM over those of A and B. H200, rotated bf16 GEMMs of 1024^3 and 2048^3:
    # 1.0000 to 1.0048; with one buffer set 0.01 to 0.11. What is left for a part of the cache that
    # kept a few lines is 2 %.
    dram_read_least: float = 0.98
    # A kernel reads operands again once they outgrow the cache: 4.5 times at 8192^3 on an H200.
    dram_read_most: float = 32.0
    # Bytes written to DRAM over those of D, which the cache can hold back once: 1.0001 to 1.0011 in
    # 8 counted H200 cases whose outputs outgrow it.
    dram_write_least: float = 0.98
    # All buffers lie in one pool: 3.9 GB apart at most, of the 150 GB of an H200, in 48 tests. A
    # pool that grew in pieces may have holes.
    address_span_most: float = 4.0
    # The cache that a device reports over the whole part's, which the table has: a part may hide
    # slices of its L2.
    cache_share_of_table: float = 0.95
    # Counts of a random buffer: at 7 standard deviations one honest count in 4e11 is refused, so
    # that a round of a thousand bundles, 3e8 counts, refuses none.
    buffer_sigmas: float = 7.0
    # Counts allowed beside those deviations: where next to none are expected, they are not normal.
    buffer_small_count: int = 6
    # None of 38,000 bursts on an H200 failed or was late. A late one still reads a true value, and
    # GK401 bounds what may be missing in one place; a driver that fails oftener is not to be
    # trusted.
    failed_bursts: float = 0.01
    late_bursts: float = 0.05
    # A burst may end this share of a period after the next one began.
    burst_overlap: float = 0.05


# In the order of their time. A new edition is `replace(EDITIONS[...], edition=..., ...)`; an old
# one never changes, because the bundles of its time are judged by it (tests/data/golden).
EDITIONS = {"2026.1": Ruleset(edition="2026.1")}
CURRENT = "2026.1"


def is_in_force(since: str, edition: str) -> bool:
    """Whether a rule that came with edition `since` judges bundles of `edition`."""
    order = list(EDITIONS)
    return order.index(since) <= order.index(edition)


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
