"""Attempts hidden, renumbered, moved in time."""

from dataclasses import replace

import honest_gpu
from battery.bases import CLOSED
from battery.forging import columns, document, entries, numbered, runs, time_line, with_runs
from battery.registry import manipulation
from bundles import with_plan
from kit.evidence import ClockLock, JournalEntry, RunOutcome
from kit.trace import ENERGY


def _without_run(bundle, number, *, folder=True, outcome=True, line=True):
    case = bundle.cases[CLOSED]
    kept = tuple(run for run in case.runs if run.document.number != number)
    outcomes = tuple(found for found in case.record.runs if found.number != number)
    changed = replace(
        case,
        runs=kept if folder else case.runs,
        record=replace(case.record, runs=outcomes if outcome else case.record.runs),
    )
    journal = bundle.journal
    if line:
        journal = entries(
            journal, lambda found: [e for e in found if not (e.case == CLOSED and e.run == number)]
        )
    return replace(bundle, cases=bundle.cases | {CLOSED: changed}, journal=journal)


@manipulation(
    "GK004",
    "M26",
    base="closed",
    variants={"1": {"number": 1}, "2": {"number": 2}, "3": {"number": 3}},
)
def attempt_hidden(bundle, number):
    """One replicate is left out of folder, outcomes and journal."""
    return _without_run(bundle, number)


@manipulation(
    "GK004",
    "M26",
    base="closed",
    variants={
        "outcome": {"outcome": True, "line": False},
        "journal": {"outcome": False, "line": True},
    },
)
def attempt_hidden_in_part(bundle, outcome, line):
    """One replicate is left out of its folder and one of the two lists."""
    return _without_run(bundle, 2, outcome=outcome, line=line)


@manipulation("GK003", "M26", base="closed")
def folder_without_an_outcome(bundle):
    """A run's folder lies there, and no outcome speaks of it."""
    return _without_run(bundle, 2, folder=False)


def _renumbered(bundle, slots):
    """The first run of the case as replicates 1 to 3 in these slots of a longer session."""
    case = bundle.cases[CLOSED]
    found = {name: list(held.runs) for name, held in bundle.cases.items() if name != CLOSED}
    length = case.runs[0].document.ended_ns - case.runs[0].document.started_ns + 2 * 10**9
    end = max(run.document.ended_ns for held in found.values() for run in held) + 10**10
    kept = []
    for number, (run, slot) in enumerate(zip(case.runs, slots, strict=True), 1):
        shift = end + slot * length - run.document.started_ns
        kept.append(numbered(bundle, time_line(lambda ns, s=shift: ns + s)(run), number))
    return with_runs(bundle, {CLOSED: kept} | found)


def _with_energy(bundle, hidden_mj):
    """Every run's counter goes on where the last one's ended, and a hidden attempt's energy on."""
    ordered = sorted(
        (run for case in bundle.cases.values() for run in case.runs),
        key=lambda run: run.document.started_ns,
    )
    before, done = None, {}
    for run in ordered:
        document = run.document
        hidden = hidden_mj.get(document.number, 0) if document.case == CLOSED else 0
        more = columns(ENERGY.file, energy_mj=lambda values, mj=hidden: values + mj)
        before = done[run.path] = more(honest_gpu.continued(run, before))
    return runs(bundle, lambda run: done[run.path])


@manipulation(
    "GK414",
    "M26",
    base="closed",
    variants={
        "one": {"slots": (0, 2, 3)},
        "five": {"slots": (0, 3, 7)},
    },
)
def slow_attempts_hidden_and_renumbered(bundle, slots):
    """Attempts between the best ones are left out; those kept are numbered through."""
    energy = bundle.cases[CLOSED].runs[0].tables[ENERGY.file]["energy_mj"]
    # What is drawn between the readings is in `continued`; the attempts' own energy is not.
    own = int(energy[-1] - energy[0]) - honest_gpu.BETWEEN_MW * 60
    hidden = {number: (slots[number - 1] - slots[number - 2] - 1) * own for number in (2, 3)}
    return _with_energy(_renumbered(bundle, slots), hidden)


@manipulation(
    "GK613",
    "M26",
    base="closed",
    variants={"between": {"bridged": False}, "in_the_start": {"bridged": True}},
)
def slow_attempt_hidden_on_a_quiet_device(bundle, bridged):
    """An attempt is left out, and the energy counter told as if the device had rested."""
    bundle = _with_energy(_renumbered(bundle, (0, 2, 3)), {})
    if bridged:
        return bundle
    begun = {
        (run.document.case, run.document.number): run.document.started_ns - 5_000_000
        for case in bundle.cases.values()
        for run in case.runs
    }
    return replace(
        bundle,
        journal=entries(
            bundle.journal,
            lambda found: [
                replace(e, t_ns=begun[e.case, e.run]) if e.event == "run_started" else e
                for e in found
            ],
        ),
    )


@manipulation(
    "GK414",
    "M26",
    base="closed",
    variants={
        "energy_tells": {"counters": False},
        "counters_too": {"counters": True},
    },
)
def slow_attempts_hidden_and_time_closed(bundle, counters):
    """Attempts are left out, and all that came after them moves up, the energy too or not."""
    # mJ of a hidden run of a minute at 690 W, before each of the other two
    jump = {} if counters else dict.fromkeys((2, 3), 40_000_000)
    return _with_energy(_renumbered(bundle, (0, 1, 2)), jump)


@manipulation("GK602", "M26", base="closed")
def failed_attempt_planned_away(bundle):
    """The slowest replicate is left out and the plan asks for one fewer."""
    return with_plan(_without_run(bundle, 3), replicates=2)


@manipulation("GK004", "M26", base="closed")
def measured_run_called_timed_out(bundle):
    """A slow run is called timed out in the outcomes only."""
    bundle = _without_run(bundle, 3, outcome=False, line=False)
    case = bundle.cases[CLOSED]
    outcomes = tuple(
        replace(r, status="timed_out", reason="slow") if r.number == 3 else r
        for r in case.record.runs
    )
    changed = replace(case, record=replace(case.record, runs=outcomes))
    return replace(bundle, cases=bundle.cases | {CLOSED: changed})


@manipulation("GK602", "M26", base="closed")
def slow_run_called_timed_out_everywhere(bundle):
    """A slow run is called timed out in the outcomes and in the journal."""
    bundle = measured_run_called_timed_out(bundle)

    def change(found):
        return [
            replace(e, status="timed_out", reason="slow")
            if e.case == CLOSED and e.run == 3 and e.event == "run_ended"
            else e
            for e in found
        ]

    return replace(bundle, journal=entries(bundle.journal, change))


@manipulation(
    "GK004",
    "M26",
    base="closed",
    variants={
        "gap": {"change": lambda n: n + (n > 4)},
        "from_one": {"change": lambda n: n + 1},
        "twice": {"change": lambda n: min(n, 5)},
    },
)
def sequence_broken(bundle, change):
    """Entries are not numbered 0, 1, 2 and so on."""
    found = tuple(replace(e, sequence=change(e.sequence)) for e in bundle.journal.entries)
    return replace(bundle, journal=replace(bundle.journal, entries=found))


@manipulation(
    "GK004",
    "M26",
    variants={
        "first": {"keep": slice(1, None)},
        "last": {"keep": slice(None, -1)},
        "start": {"keep": slice(None, None, 2)},
        "all": {"keep": slice(0, 0)},
    },
)
def entries_left_out(bundle, keep):
    """Entries of the journal are missing."""
    return replace(bundle, journal=entries(bundle.journal, lambda found: found[keep]))


@manipulation("GK004", "M26")
def time_goes_back(bundle):
    """An entry is older than the one before it."""
    return replace(
        bundle,
        journal=entries(
            bundle.journal,
            lambda found: [replace(e, t_ns=1) if e.event == "bundle_ended" else e for e in found],
        ),
    )


@manipulation("GK004", "M26")
def run_outside_its_entries(bundle):
    """The run is told to have begun before the journal opened it."""
    return replace(
        bundle,
        journal=entries(
            bundle.journal,
            lambda found: [
                replace(e, t_ns=e.t_ns + 2 * 10**10) if e.event == "run_started" else e
                for e in found
            ],
        ),
    )


@manipulation("GK004", "M26", base="closed")
def runs_overlap(bundle):
    """Two replicates ran on one device at the same time."""
    case = bundle.cases[CLOSED]
    shift = case.runs[1].document.started_ns - case.runs[0].document.started_ns - 10**9
    found = {name: list(held.runs) for name, held in bundle.cases.items()}
    found[CLOSED][1] = time_line(lambda ns: ns - shift)(found[CLOSED][1])
    return with_runs(bundle, found)


@manipulation("GK004", "M26")
def attempt_without_an_outcome(bundle):
    """The journal speaks of a second attempt that nothing else knows."""

    def change(found):
        run = next(e for e in found if e.event == "run_started")
        end = found[-1].t_ns
        more = [
            replace(run, t_ns=end, run=2),
            replace(run, t_ns=end, run=2, event="run_ended", status="crashed"),
        ]
        return [*found[:-1], *more, found[-1]]

    return replace(bundle, journal=entries(bundle.journal, change))


@manipulation("GK004", "M26")
def outcome_without_an_attempt(bundle):
    """The outcomes speak of a second attempt that the journal does not know."""
    (name,) = bundle.cases
    case = bundle.cases[name]
    device = case.record.runs[0].device
    more = (*case.record.runs, RunOutcome(device, 2, "crashed", "an error"))
    changed = replace(case, record=replace(case.record, runs=more))
    return replace(with_plan(bundle, replicates=2), cases={name: changed})


@manipulation("GK004", "M26")
def status_differs(bundle):
    """The journal says that the measured run crashed."""
    return replace(
        bundle,
        journal=entries(
            bundle.journal,
            lambda found: [
                replace(e, status="crashed") if e.event == "run_ended" else e for e in found
            ],
        ),
    )


@manipulation("GK408", "M08")
def lock_that_nobody_planned(bundle):
    """The journal tells of a locked clock; the test was one at a fixed power."""
    device = bundle.environment.devices[0].id
    lock = ClockLock(device, 1500, 1, "ok", "", 10**12, "ok", "", "guard")
    return replace(bundle, journal=replace(bundle.journal, clock_locks=(lock,)))


@manipulation("GK408", "M08", base="held")
def lock_planned_but_not_made(bundle):
    """The kit was to lock the clock, and the journal holds no lock."""
    return with_plan(bundle, test_type__lock=True)


@manipulation(
    "GK612",
    "M26",
    base="closed",
    variants={
        "1985": {"utc": "1985-10-26T01:21:00Z"},
        "later": {"utc": "2027-01-01T00:00:00Z"},
    },
)
def run_of_another_day(bundle, utc):
    """The run's own date is not that of the journal."""
    return runs(bundle, document(started_utc=utc))


@manipulation("GK612", "M26", base="closed", variants={"1999": {"utc": "1999-01-01T00:00:00Z"}})
def journal_of_another_day(bundle, utc):
    """The journal's date is not that of its runs."""
    return replace(bundle, journal=replace(bundle.journal, started_utc=utc))


@manipulation(
    "GK612", "M26", base="closed", variants={"past": {"year": 2024}, "next": {"year": 2027}}
)
def all_dates_of_another_year(bundle, year):
    """The dates of the journal and of every run moved together; the seal's day was left."""

    def move(utc):
        return f"{year}{utc[4:]}"

    journal = replace(bundle.journal, started_utc=move(bundle.journal.started_utc))
    return runs(replace(bundle, journal=journal), document(started_utc=move))


@manipulation("GK613", "M26")
def long_silence(bundle):
    """Two hours between the end of the run and the end of the bundle: time for other attempts."""
    return replace(
        bundle,
        journal=entries(
            bundle.journal,
            lambda found: [
                replace(e, t_ns=e.t_ns + 7200 * 10**9) if e.event == "bundle_ended" else e
                for e in found
            ],
        ),
    )


@manipulation("GK004", "M26")
def second_bundle_inside(bundle):
    """The journal opens a bundle twice."""

    def change(found):
        first = found[0]
        return [
            first,
            JournalEntry(0, first.t_ns, "bundle_started", None, None, None, None, None),
            *found[1:],
        ]

    return replace(bundle, journal=entries(bundle.journal, change))
