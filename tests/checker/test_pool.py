import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

import kit
from bundles import honest_cpu, write
from kit.bundle.reader import Auditor
from kit.checker import pool, process
from kit.checker.judge import judge
from kit.checker.pool import judge_all
from kit.checker.tree import Candidate
from kit.checker.verdict import Waiver

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(kit.__file__).parents[1])}

# A worker whose judge does what the bundle's name says, in place of judging it.
_ACTING = """
import contextlib, mmap, os, signal, sys, threading, time
sys.path = sys.argv[1:]
import kit.checker.judge as module
from kit.checker.verdict import Verdict
honest = module.judge

def judge(path, *, auditor, name, **options):
    if name == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if name == "leave":
        os._exit(3)
    if name == "hang":
        time.sleep(60)
    if name == "deep":
        for _ in range(6):
            time.sleep(0.5)
            auditor.going_on()
    if name == "chatter":
        print("noise on stdout", flush=True)
    if name == "eat":
        bytearray(2**40)
    if hasattr(module, "spoilt"):
        return module.spoilt
    verdict = honest(path, auditor=auditor, name=name, **options)
    if name == "spoil":
        module.spoilt = Verdict("x", None, None, "refused", "not its fault", None, (), ())
    if name == "hoard":
        module.hoard = []
        for size in (2**28, 2**24, 2**18):  # addresses alone: no page is touched
            with contextlib.suppress(OSError):
                while True:
                    module.hoard.append(mmap.mmap(-1, size))
    if name == "mortal":
        threading.Timer(0.02, os._exit, [9]).start()
    return verdict

module.judge = judge
from kit.checker.worker import serve
serve()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(honest_cpu(), tmp_path_factory.mktemp("pool") / "honest")


def judged(folder, names, **options):
    candidates = [Candidate(folder, name) for name in names]
    return [(verdict.name, verdict.judgement) for verdict in judge_all(candidates, **options)]


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_in_the_order_given(folder, jobs):
    names = ["c", "a", "b"]
    assert judged(folder, names, jobs=jobs) == [(name, "compliant") for name in names]


def test_a_candidate_with_a_problem_needs_no_worker(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "start", lambda: pytest.fail("a process was started"))
    (verdict,) = judge_all([Candidate(tmp_path, "x", "no bundle here")])
    assert (verdict.judgement, verdict.problem) == ("refused", "no bundle here")


def test_auditor_and_waivers_arrive(folder):
    (asked,) = judge_all([Candidate(folder, "x")], challenge="ab" * 16)
    assert [rule.code for rule in asked.rules if rule.outcome == "fail"] == ["GK605"]
    waiver = Waiver("GK605", asked.digest, "asked too late")
    (waived,) = judge_all([Candidate(folder, "x")], challenge="ab" * 16, waivers=[waiver])
    assert (waived.judgement, waived.waivers) == ("compliant", (waiver,))


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(("name", "problem"), [("crash", "signal 11"), ("leave", "exit code 3")])
def test_a_dying_worker_takes_no_other_bundle_along(folder, monkeypatch, jobs, name, problem):
    monkeypatch.setattr(process, "_START", _ACTING)
    candidates = [Candidate(folder, each) for each in ("a", name, "b", "c")]
    verdicts = list(judge_all(candidates, jobs=jobs))
    assert [verdict.judgement for verdict in verdicts] == [
        "compliant",
        "internal_error",
        "compliant",
        "compliant",
    ]
    assert verdicts[1].problem == f"the process that judged it ended ({problem})"


def test_a_bundle_that_takes_too_long(folder, monkeypatch):
    monkeypatch.setattr(process, "_START", _ACTING)
    monkeypatch.setattr(pool, "LIMIT_S", 2.0)
    started = time.monotonic()
    assert judged(folder, ["hang", "a"]) == [("hang", "refused"), ("a", "compliant")]
    assert time.monotonic() - started < 20


def test_going_deep_lifts_no_limit_but_that_of_recomputing(folder, monkeypatch):
    """A worker that says that it goes on may take longer; one that says nothing may not."""
    monkeypatch.setattr(process, "_START", _ACTING)
    monkeypatch.setattr(pool, "LIMIT_S", 2.0)
    started = time.monotonic()
    found = judged(folder, ["deep", "hang", "a"], deep=True)
    assert found == [("deep", "compliant"), ("hang", "refused"), ("a", "compliant")]
    assert time.monotonic() - started < 20


def test_a_deep_check_says_that_it_goes_on(folder):
    said = []
    verdict = judge(folder, auditor=Auditor(deep=True, going_on=lambda: said.append(1)))
    assert verdict.judgement == "compliant"
    assert len(said) >= 8  # a part of every input buffer at least


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1:strict", "ascii:strict"])
def test_the_encoding_of_the_terminal_is_not_that_of_the_pipes(folder, monkeypatch, encoding):
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    assert judged(folder, ["a\xfcb"]) == [("a\xfcb", "compliant")]


def test_a_name_that_is_not_utf_8_is_escaped(folder):
    name = os.fsdecode(b"caf\xe9")
    bad = Candidate(folder, name, "no bundle here")
    (verdict, refused) = judge_all([Candidate(folder, name), bad])
    assert (verdict.name, verdict.judgement) == ("caf\\xe9", "compliant")
    assert refused.name == verdict.name


def test_memory_is_bounded(folder, monkeypatch):
    monkeypatch.setattr(process, "_START", _ACTING)
    (verdict,) = judge_all([Candidate(folder, "eat")])
    assert verdict.judgement == "internal_error"


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", ["hoard", "mortal", "spoil"])
def test_no_bundle_answers_for_what_another_did_to_the_worker(folder, monkeypatch, jobs, name):
    monkeypatch.setattr(process, "_START", _ACTING)
    names = [name, "a", "b", name, "c", "d"]
    assert judged(folder, names, jobs=jobs) == [(each, "compliant") for each in names]


def test_what_is_refused_is_refused_once(folder, tmp_path):
    named = [("a", folder), ("bad", tmp_path), ("b", folder), ("worse", tmp_path)]
    verdicts = list(judge_all([Candidate(path, name) for name, path in named]))
    found = [(verdict.name, verdict.judgement) for verdict in verdicts]
    assert found == [
        ("a", "compliant"), ("bad", "refused"), ("b", "compliant"), ("worse", "refused"),
    ]  # fmt: skip


def test_a_worker_that_was_dead_before_it_was_asked_costs_nothing(folder):
    with process.started() as first:
        first.kill()
        assert judged(folder, ["a", "b"], first=first) == [("a", "compliant"), ("b", "compliant")]


def test_many_workers_have_high_descriptors(folder):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert judged(folder, ["a"]) == [("a", "compliant")]
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_is_printed_is_no_verdict(folder, monkeypatch):
    monkeypatch.setattr(process, "_START", _ACTING)
    assert judged(folder, ["chatter"]) == [("chatter", "compliant")]


def test_workers_end_with_the_caller(folder):
    verdicts = judge_all([Candidate(folder, str(number)) for number in range(50)], jobs=2)
    next(verdicts)
    children = _children()
    assert children
    verdicts.close()
    assert not _children() & children


def _children():
    """Ids of this process's living children."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = entry.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z":
                found.add(entry.parent.name)
    return found


def test_nothing_is_imported_from_the_working_folder(folder, tmp_path):
    (tmp_path / "numpy.py").write_text("raise SystemExit('imported from the working folder')")
    code = (
        "from pathlib import Path; from kit.checker.pool import judge_all;"
        "from kit.checker.tree import Candidate;"
        f"print([v.judgement for v in judge_all([Candidate(Path({str(folder)!r}), 'x')])])"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "['compliant']\n"


def test_interrupt_leaves_no_process(folder):
    code = f"""
from pathlib import Path
from kit.checker.pool import judge_all
from kit.checker.tree import Candidate
candidates = [Candidate(Path({str(folder)!r}), str(n)) for n in range(10_000)]
for verdict in judge_all(candidates, jobs=2):
    print(verdict.name, flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as checking:
        assert checking.stdout.readline() == "0\n"
        checking.send_signal(signal.SIGINT)
        checking.stdout.read()
        assert checking.wait(20) != 0
    with pytest.raises(ProcessLookupError):
        os.killpg(checking.pid, 0)
