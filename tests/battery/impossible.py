"""What no reader of one sealed bundle can tell, in principle: why not, and what does.

Every entry is also a manipulation of this battery, so that the list cannot claim too much: once a
rule catches one, `make battery` says that the entry is out of date.
"""

IMPOSSIBLE = {
    "timing/everything_inflated_consistently-x1.1": (
        (
            "A run that is invented as a whole, a tenth faster in every figure, is one of a better"
            " part; speed of light, 6 to 32 % above honest H200 results at 4096 cubed and further"
            " above those of small problems, is the only bound."
        ),
        "audit; GK502 beyond that.",
    ),
    "environment/driver_renamed-everywhere": (
        (
            "A version is a text that the vendor's machine gives. Where NVML, driver and firmware"
            " tell the same other version, nothing in the bundle contradicts it."
        ),
        "audit: the same driver on another machine gives other figures, or it does not.",
    ),
    "environment/kit_invented-version": (
        "A vendor who changed the kit can have it name any version.",
        "audit, with the published kit and the auditor's challenge.",
    ),
    "environment/kit_invented-commit": (
        "A commit's existence is not in the bundle; a changed kit can name an honest one.",
        "audit, with the published kit and the auditor's challenge.",
    ),
    "identity/device_renamed-uuid": (
        "One part of a product is as good as the next, and the bundle holds a hash of its UUID.",
        "audit on the device that the vendor names.",
    ),
    "identity/taken_from_another-submitter": (
        "Unsigned, a bundle says nothing about who made it.",
        "the signature (verify), the round (two bundles with one series), the auditor's challenge.",
    ),
    "journal/slow_attempts_hidden_and_time_closed-counters_too": (
        (
            "Attempts that were cut out with all their time and energy leave runs that could have"
            " followed each other."
        ),
        "audit: the median of many runs is not that of the best ones.",
    ),
    "division/slow_case_never_planned": (
        (
            "What was never run has no time and no energy. A suite may be shared out among bundles,"
            " so that GK614 warns of a case that is not in this one, and cannot refuse it."
        ),
        "GK614's warning, for whoever asks where the other cases are.",
    ),
    "clocks/clocks_scaled_on_the_grid-x0.95": (
        "A lower clock at the same power is a better part; speed of light is the only bound.",
        "audit; GK502 once the clock is too low for the figure.",
    ),
    "clocks/clocks_scaled_on_the_grid-x0.9": (
        "A lower clock at the same power is a better part; speed of light is the only bound.",
        "audit; GK502 once the clock is too low for the figure.",
    ),
    "power/power_over_rest_scaled-x0.95": (
        (
            "Where no cap holds it, a device draws what it draws: less at the same clock is a"
            " thriftier part."
        ),
        "audit; GK411 where the cap holds, GK414 once tests between runs draw too much for it.",
    ),
    "windows/telemetry_cut_to_fit_with_its_slope-x0.9": (
        (
            "Time that was cut out of windows, slope, registers and counters alike leaves a run of"
            " as many launches on a faster part; speed of light is the only bound."
        ),
        "audit; GK502 beyond that.",
    ),
    "telemetry/thinned_with_the_period-fourth": (
        (
            "The sampler chooses its period by trial bursts before the run, which no bundle holds:"
            " one honest H200 run kept twice the planned period for bursts of a fiftieth of it."
        ),
        "audit; nothing is gained by it, for every mean stays what it was.",
    ),
}
