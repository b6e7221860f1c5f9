"""What lies around a command cannot change what it does: its folder, its streams, its encoding."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kit
from bundles import honest_cpu, write

ROOT = Path(kit.__file__).parents[1]
HOSTILE = "import pathlib; pathlib.Path('hijacked').touch(); raise SystemExit('hijacked')\n"
MODULES = ("click", "json", "numpy", "jsonschema", "ml_dtypes", "subprocess", "select", "kit_cli")


@pytest.fixture
def folder(tmp_path):
    """A stranger's folder: a bundle, and modules by the names of those that the kit imports."""
    write(honest_cpu(), tmp_path / "bundle")
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(HOSTILE)
    return tmp_path


def run(folder, *command, **environment):
    return subprocess.run(
        [sys.executable, "-m", "kit", *command],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("command", [["check", "bundle"], ["explain", "GK206"], ["--version"]])
def test_nothing_is_imported_from_the_folder_that_it_is_started_in(folder, command):
    done = run(folder, *command)
    assert (done.returncode, done.stderr) == (0, b"")
    assert not (folder / "hijacked").exists()


def test_a_checkout_runs_from_its_own_folder():
    done = subprocess.run(
        [sys.executable, "-m", "kit", "--version"],
        cwd=ROOT, env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("gemm-kit ")


@pytest.mark.parametrize("safe", [{"PYTHONSAFEPATH": "1"}, {}])
def test_a_safe_path_is_left_as_it_is(folder, safe):
    assert run(folder, "check", "bundle", **safe).returncode == 0


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "ascii", "utf-8:surrogateescape"])
def test_any_encoding_of_the_terminal_gives_the_verdict(folder, encoding):
    done = run(folder, "check", "bundle", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode(encoding.partition(":")[0])
    assert text.splitlines()[-1] == "SUMMARY: submission looks OK"


def test_a_folder_whose_name_is_not_utf_8_gives_valid_json(folder):
    try:
        shutil.copytree(os.fsencode(folder / "bundle"), os.fsencode(folder / "tree") + b"/caf\xe9")
    except OSError:
        pytest.fail("the tests need a file system that takes any name")
    done = run(folder, "check", "tree", "--format", "json")
    assert done.returncode == 0
    (entry,) = json.loads(done.stdout)["bundles"]
    entry["name"].encode("utf-8")
    assert entry["name"] == "caf\\xe9"


def test_a_closed_output_is_said_in_one_line(folder):
    shell = f'"{sys.executable}" -m kit check bundle'
    for closed, code, line in (
        (">&-", 2, "gemm-kit: error: standard output is closed (open it, or send it to /dev/null)"),
        (">&- 2>&-", 2, ""),
        ("2>&- >/dev/null", 0, ""),
    ):
        done = subprocess.run(
            f"{shell} {closed}", shell=True, cwd=folder, capture_output=True, text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr.strip()) == (code, line)


def test_a_full_disk_is_said_in_one_line(folder):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kit", "check", "bundle"],
            cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "gemm-kit: error: standard output cannot be written: No space left on device "
        "(make room, or send it elsewhere)\n"
    )


@pytest.mark.parametrize(
    "command", [["explain", "GK702"], ["explain"], ["check", "bundle", "--format", "sarif"]]
)
def test_rules_have_their_texts_where_python_drops_docstrings(folder, command):
    plain, stripped = (run(folder, *command, PYTHONOPTIMIZE=level) for level in ("0", "2"))
    assert (stripped.returncode, stripped.stderr) == (0, b"")
    assert stripped.stdout == plain.stdout


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "text", "github"])
def test_a_folders_name_gives_no_order_to_a_build_system(folder, form):
    name = "##vso[task.complete]"
    (folder / "bundle").rename(folder / name)
    done = run(folder, "check", name, "--format", form)
    assert done.returncode == 0
    assert b"##" not in done.stdout
    if form == "json":
        assert json.loads(done.stdout)["bundles"][0]["name"] == name


def checking(folder):
    """A check that takes seconds, whose worker has started, in a process group of its own."""
    for number in range(60):
        shutil.copytree(folder / "bundle", folder / f"round/{number}")
    process = subprocess.Popen(
        [sys.executable, "-m", "kit", "check", "round", "--jobs", "1"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, start_new_session=True,
    )  # fmt: skip
    tasks = Path(f"/proc/{process.pid}/task")
    while not any(task.read_text() for task in tasks.glob("*/children")):
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.2)  # the worker is a Python by then
    return process


def test_an_interrupt_from_the_terminal_is_one_line(folder):
    """A terminal signals the whole process group."""
    process = checking(folder)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "gemm-kit: interrupted\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_a_job_is_an_interrupt(folder, number):
    process = checking(folder)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "gemm-kit: interrupted\n")


def test_a_worker_whose_parent_is_killed_ends_without_a_word(folder):
    process = checking(folder)
    process.kill()
    out, err = process.communicate(timeout=60)  # both ends are closed when the worker is gone
    assert (process.returncode, out, err) == (-signal.SIGKILL, "", "")


@pytest.mark.parametrize(
    ("command", "code"),
    [(["check", "bundle"], 0), (["check", "missing"], 2), (["explain", "x"], 2)],
)
def test_an_exit_code_stands_though_nobody_can_be_told_why(folder, command, code):
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kit", *command], cwd=folder, stderr=full,
            stdout=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False,
        )  # fmt: skip
    assert done.returncode == code


def test_a_table_goes_through_pipes_and_links(folder):
    os.mkfifo(folder / "pipe")
    with subprocess.Popen(["cat", "pipe"], cwd=folder, stdout=subprocess.PIPE) as reader:
        assert run(folder, "check", "bundle", "--csv", "pipe").returncode == 0
        through, _ = reader.communicate(timeout=60)
    assert (folder / "pipe").is_fifo()
    (folder / "table.csv").write_text("an older one")
    (folder / "link.csv").symlink_to("table.csv")
    assert run(folder, "check", "bundle", "--csv", "link.csv").returncode == 0
    assert (folder / "link.csv").is_symlink()
    assert (folder / "table.csv").read_bytes() == through
    both = run(folder, "check", "bundle", "--csv", "/dev/stdout").stdout
    assert both.startswith(through)
    assert both.endswith(b"SUMMARY: submission looks OK\n")


@pytest.mark.parametrize(
    "command",
    [
        ("check", "bundle", "--csv", "loop"),
        ("check", "bundle", "--index", "loop"),
        ("plan", "--out", "loop"),
        ("plan", "--out", "loop/plan.json"),
        ("run", "phases=quick", "output=loop"),
        ("run", "phases=quick", "output=loop/here"),
        ("run", "-m", "phases=quick", "seed=1,2", "output=loop"),
    ],
)
def test_links_in_a_circle_lead_nowhere(folder, command):
    (folder / "loop").symlink_to("loop")
    done = run(folder, *command)
    assert done.returncode == 2
    *_, last = done.stderr.decode().splitlines()
    assert last.startswith("gemm-kit: error: ")
    assert "loop" in last
    assert b"Traceback" not in done.stderr
    assert (folder / "loop").is_symlink()


def test_a_table_after_what_stdout_holds_already(folder):
    log = folder / "log"
    log.write_text("earlier\n")
    with log.open("ab") as out:
        done = subprocess.run(
            [sys.executable, "-m", "kit", "check", "bundle", "--csv", "/dev/stdout"], cwd=folder,
            stdout=out, stderr=subprocess.PIPE, check=False,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    first, second, *_, last = log.read_text().splitlines()
    assert (first, last) == ("earlier", "SUMMARY: submission looks OK")
    assert second.startswith('"Organization",')


def test_a_stream_that_takes_no_table_costs_no_verdict(folder):
    done = run(folder, "check", "bundle", "--csv", "/dev/full")
    assert done.returncode == 2
    assert done.stdout.splitlines()[-1] == b"SUMMARY: submission looks OK"
    assert b"--csv /dev/full: cannot be written: No space left" in done.stderr


def test_no_planted_link_is_written_through(folder):
    """A name beside the table that the submitter could foresee leads somewhere else."""
    (folder / "victim").write_text("mine")
    for pid in range(os.getpid(), os.getpid() + 400):
        (folder / f".table.csv.{pid}").symlink_to("victim")
    (folder / ".table.csv").symlink_to("victim")
    assert run(folder, "check", "bundle", "--csv", "table.csv").returncode == 0
    assert (folder / "victim").read_text() == "mine"
    assert not (folder / "table.csv").is_symlink()


def test_no_table_is_written_into_another_bundle(folder):
    shutil.copytree(folder / "bundle", folder / "other")
    done = run(folder, "check", "bundle", "--csv", "other/table.csv")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"would lie in the bundle" in done.stderr


@pytest.mark.parametrize("option", ["--csv", "--index"])
def test_a_dash_is_no_file(folder, option):
    done = run(folder, "check", "bundle", option, "-")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(f"gemm-kit: error: {option} - is no file".encode())
    assert not (folder / "-").exists()


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "suite=quick", "--out", "bundle/x.json"],
        ["run", "suite=quick", "output=bundle/data"],
    ],
)
def test_nothing_is_written_below_a_bundle(folder, command):
    for name in MODULES:
        (folder / f"{name}.py").unlink()
    done = run(folder, *command)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"would lie in the bundle" in done.stderr.splitlines()[-1]
    assert run(folder, "check", "bundle").returncode == 0


@pytest.mark.parametrize("option", ["--csv", "--index"])
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
def test_a_file_that_finds_no_room_costs_no_verdict(folder, option):
    disk = folder / "disk"
    disk.mkdir()
    script = (
        f"mount -t tmpfs -o size=8k none {disk} && head -c 8192 /dev/zero > {disk}/full;"
        f" exec {sys.executable} -m kit check bundle {option} {disk}/file"
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script], cwd=folder, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout.splitlines()[-1] == "SUMMARY: submission looks OK"
    line = done.stderr.splitlines()[-1]
    assert line.startswith(f"gemm-kit: error: {option} {disk}/file: cannot be written: ")
    assert line.endswith("(free some space or choose another place; the verdict stands)")


def test_a_place_that_takes_no_file_costs_no_verdict(folder):
    done = run(folder, "check", "bundle", "--csv", "/proc/x.csv")
    assert done.returncode == 2
    assert done.stdout.splitlines()[-1] == b"SUMMARY: submission looks OK"
    assert b"--csv /proc/x.csv: cannot be written: " in done.stderr
