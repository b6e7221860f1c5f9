"""Small plans that a CPU measures in a second."""

from kit.plan import RunPlan, build_cases


def small_plan(number_format="fp32", m=128, n=128, k=128, **phases):
    """One case; keyword arguments change phases."""
    entry = {
        "workload": {"name": "small", "m": m, "n": n, "k": k, "batch": 1, "layout": "auto"},
        "number_format": number_format,
    }
    return plan_of([entry], **phases)


def plan_of(entries, **phases):
    """A plan of the given cases."""
    cases = build_cases(entries)
    given = {
        "idle_s": 0.1,
        "warm_up_min_launches": 20,
        "warm_up_min_s": 0.1,
        "warm_up_max_s": 120.0,
        "profiling_min_launches": 1000,
        "profiling_min_s": 0.1,
        "cool_down_min_s": 0.1,
        "cool_down_max_s": 1.0,
    }
    return RunPlan.from_json(
        {
            "edition": "2026.1",
            "seed": 7,
            "replicates": 1,
            "devices": "all",
            "timeout_s": 120.0,
            "submission": {
                "submitter": "acme",
                "division": "open",
                "availability": "available",
                "system_id": "box",
                "challenge": None,
            },
            "system": dict.fromkeys(
                ("system_name", "host_processors_per_node", "cooling", "hw_notes", "sw_notes")
            ),
            "test_type": {
                "name": "fixed_power",
                "fill": "uniform",
                "clock_mhz": None,
                "lock": False,
            },
            "backend": {
                "name": "jax_gemm",
                "platform": "cpu",
                "dispatch": "auto",
                "implementation": "library",
                "tuning_attempts": 0,
            },
            "timing": {"method": "host_clock", "windows": 10},
            "telemetry": {
                "source": "host",
                "clock_period_ms": 20,
                "power_period_ms": 50,
                "energy_period_ms": 200,
            },
            "counters": {"tool": "none"},
            "phases": given | phases,
            "evidence": {"kernel_trace": True},
            "cases": [
                {
                    "id": case.id,
                    "workload": {
                        name: getattr(case.workload, name)
                        for name in ("name", "m", "n", "k", "batch", "layout")
                    },
                    "number_format": case.number_format,
                }
                for case in cases
            ],
            "overrides": [],
        }
    )
