"""Writing: whole and sealed under its name, or not there; nothing that the reader refuses."""

import errno
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import textwrap
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import numpy as np
import pytest

from kit.bundle import layout, secret_scan
from kit.bundle.reader import parse, read_container
from kit.bundle.writer import BundleWriter, write_document, write_table
from kit.errors import BundleError, KitError, MeasurementError, UsageError
from kit.trace import HOST, WINDOWS

DAY = date(2026, 11, 29)


@pytest.fixture
def writer(tmp_path):
    return BundleWriter(tmp_path / "out", "small", DAY)


def test_sealed_bundle_is_read_without_a_fault(writer, sample):
    path = sample.fill(writer).seal()
    assert path == writer.path
    assert not writer.partial.exists()
    assert [entry.name for entry in path.parent.iterdir()] == ["small"]
    container = read_container(path)
    assert container.faults == ()
    assert parse(container).unknown_files == ()


def test_same_records_same_identity(tmp_path, pristine, sample):
    again = sample.fill(BundleWriter(tmp_path, "small", DAY)).seal()
    assert read_container(again).digest == read_container(pristine).digest
    other_day = sample.fill(BundleWriter(tmp_path / "b", "small", date(2026, 11, 30))).seal()
    before, after = (read_container(path).files for path in (again, other_day))
    changed = [name for name in before if before[name] != after[name]]
    assert changed == ["bag-info.txt", "tagmanifest-sha256.txt"]


def test_date_is_todays_by_default(tmp_path, sample):
    days = [datetime.now(UTC).date()]
    path = sample.fill(BundleWriter(tmp_path, "small")).seal()
    days.append(datetime.now(UTC).date())
    info = (path / "bag-info.txt").read_text()
    assert any(f"Bagging-Date: {day}\n" in info for day in days)


def test_modes_do_not_depend_on_the_mask(writer, sample):
    previous = os.umask(0o077)
    try:
        path = sample.fill(writer).seal()
    finally:
        os.umask(previous)
    for entry in (path, *path.rglob("*")):
        expected = 0o755 if entry.is_dir() else 0o644
        assert stat.S_IMODE(entry.stat().st_mode) == expected, entry


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "Upper", ".partial-x", "a" * 65, "con"])
def test_name_that_will_not_do(tmp_path, name):
    with pytest.raises(UsageError, match="will not do"):
        BundleWriter(tmp_path, name)
    assert list(tmp_path.iterdir()) == []


def test_existing_bundle_is_not_touched(tmp_path, pristine, sample):
    sample.fill(BundleWriter(tmp_path, "small", DAY)).seal()
    with pytest.raises(UsageError, match="exists"):
        BundleWriter(tmp_path, "small", DAY)
    assert read_container(tmp_path / "small") == read_container(pristine)


def test_bundle_being_written_is_not_touched(writer):
    with pytest.raises(UsageError, match="a run is writing it or did not finish it"):
        BundleWriter(writer.path.parent, "small")


def test_bundle_that_appears_meanwhile_is_not_touched(writer, sample):
    sample.fill(writer)
    writer.path.mkdir()
    with pytest.raises(MeasurementError, match="exists"):
        writer.seal()
    assert list(writer.path.iterdir()) == []


def test_parent_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(MeasurementError) as caught:
        BundleWriter(tmp_path / "file", "small")
    problem = "cannot be written: File exists (move away what is there)"
    assert str(caught.value) == f"{tmp_path}/file: {problem}"


def test_abandoned(writer, sample):
    sample.fill(writer).abandon()
    assert not writer.path.parent.exists()


def test_abandoning_leaves_the_folders_that_were_there_or_hold_more(tmp_path):
    (tmp_path / "there").mkdir()
    BundleWriter(tmp_path / "there/new", "small").abandon()
    assert list((tmp_path / "there").iterdir()) == []
    writer = BundleWriter(tmp_path / "new/box", "small")
    (tmp_path / "new/note").touch()
    writer.abandon()
    assert [entry.name for entry in (tmp_path / "new").iterdir()] == ["note"]


def test_empty_folders_are_dropped(writer, sample):
    sample.fill(writer).folder("data/cases/never-ran/runs/cpu-01")
    path = writer.seal()
    assert not (path / "data/cases/never-ran").exists()


@pytest.mark.parametrize(
    "relative", ["plan.json", "/etc/x.json", "data/../x.json", "data/X.json", "data/a/../x.json"]
)
def test_paths_outside_the_payload(writer, sample, relative):
    with pytest.raises(KitError, match="is not a path of a bundle's payload"):
        writer.write_record(relative, sample.plan)
    with pytest.raises(KitError, match="is not a path of a bundle's payload"):
        writer.write_text(relative, "x")
    with pytest.raises(KitError, match="is not a path of a bundle's payload"):
        writer.folder(relative)


def test_record_may_be_written_again(writer, sample):
    sample.fill(writer)
    longer = replace(sample.journal, entries=sample.journal.entries[:3])
    writer.write_record(layout.JOURNAL, longer)
    assert parse(read_container(writer.seal())).journal == longer


def test_table_and_text_may_not_be_written_again(writer, sample):
    sample.fill(writer)
    table = writer.folder(sample.run_folder) / "windows.csv"
    before = table.read_bytes()
    with pytest.raises(MeasurementError, match=r"windows\.csv: cannot be written: File exists"):
        writer.write_table(sample.run_folder, WINDOWS, sample.tables[WINDOWS])
    with pytest.raises(MeasurementError, match="cannot be written: File exists"):
        writer.write_text(layout.hlo_file(sample.case, sample.run.executable.hlo), "other")
    assert table.read_bytes() == before


def test_record_that_would_be_refused_is_not_written(writer, sample):
    run = replace(sample.run, number=0)
    with pytest.raises(KitError, match=r"cpu-01/run\.json: \$\.number: must satisfy") as caught:
        writer.write_record(f"{sample.run_folder}/run.json", run)
    assert type(caught.value) is KitError
    assert list(writer.folder(sample.run_folder).iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"reason": "two\nlines"},
        {"reason": "x" * 1001},
        {"pilot_enqueue_ns": np.int64(5)},
        {"pilot_enqueue_ns": float("nan")},
    ],
)
def test_values_that_have_no_place_in_a_record(writer, sample, change):
    run = replace(sample.run, dispatch=replace(sample.run.dispatch, **change))
    with pytest.raises(KitError, match=r"run\.json: ") as caught:
        writer.write_record(f"{sample.run_folder}/run.json", run)
    assert not isinstance(caught.value, BundleError)


def test_what_the_user_configured_wrongly_is_his_error(writer, sample):
    with pytest.raises(UsageError, match=r"system\.json: the text .* holds the character U\+0009"):
        writer.write_record(layout.SYSTEM, replace(sample.system, hw_notes="a\tb"))
    with pytest.raises(UsageError, match=r"plan\.json: replicates is 0|\$\.replicates"):
        writer.write_record(layout.PLAN, replace(sample.plan, replicates=0))


def test_table_that_would_be_refused_is_not_written(writer, sample):
    columns = {**sample.tables[HOST], "cpu_mhz": np.full(90, 20_001)}
    with pytest.raises(KitError, match=r"cpu-01/host\.csv: row 1: column cpu_mhz is 20001"):
        writer.write_table(sample.run_folder, HOST, columns)
    assert list(writer.folder(sample.run_folder).iterdir()) == []


def test_worker_fills_its_folder(writer, sample):
    folder = sample.fill(writer).folder(layout.run_folder(sample.case, "cpu", 3))
    write_table(folder, WINDOWS, sample.tables[WINDOWS])
    write_document(folder / "run.json", replace(sample.run, number=3))
    runs = parse(read_container(writer.seal())).cases[sample.case].runs
    assert [run.document.number for run in runs] == [1, 2, 3]


@pytest.mark.parametrize("path", [layout.PLAN, layout.RESULTS])
def test_incomplete_bundle_is_not_sealed(writer, sample, path):
    sample.fill(writer)
    (writer.partial / path).unlink()
    with pytest.raises(KitError, match=f"{path}: is missing"):
        writer.seal()
    assert not writer.path.exists()
    assert writer.partial.exists()


def test_foreign_file_is_not_sealed(writer, sample):
    sample.fill(writer).write_text("data/notes.txt", "hello")
    with pytest.raises(KitError, match=r"data/notes\.txt: has no meaning in a bundle"):
        writer.seal()
    (writer.partial / "data/notes.txt").unlink()
    (writer.partial / "notes.txt").write_text("hello")
    with pytest.raises(KitError, match=r"'notes\.txt': has no place at the top"):
        writer.seal()
    (writer.partial / "notes.txt").unlink()
    writer.seal()


def test_secret_is_not_sealed(writer, sample, monkeypatch):
    monkeypatch.setattr(secret_scan.getpass, "getuser", lambda: "mallory")
    settings = {"A": "1", "XLA_FLAGS": "--xla_dump_to=/home/mallory/dump"}
    sample.fill(writer)
    writer.write_record(layout.ENVIRONMENT, replace(sample.environment, settings=settings))
    with pytest.raises(MeasurementError) as caught:
        writer.seal()
    text = (writer.partial / layout.ENVIRONMENT).read_text()
    line = text[: text.index("/home/")].count("\n") + 1
    message = str(caught.value)
    assert f"{layout.ENVIRONMENT}:{line} holds a home folder" in message
    assert f"{layout.ENVIRONMENT}:{line} holds the user's name" in message
    assert str(writer.partial) in message
    assert "/home/mallory/dump" not in message
    assert not writer.path.exists()
    writer.write_record(layout.ENVIRONMENT, sample.environment)
    writer.seal()


def test_secret_in_the_plan_is_refused_before_anything_is_measured(writer, sample):
    plan = replace(sample.plan, overrides=("system.hw_notes=see /home/mallory/notes",))
    with pytest.raises(UsageError, match=r"data/plan\.json:\d+ holds a home folder"):
        writer.write_record(layout.PLAN, plan)
    assert list((writer.partial / "data").iterdir()) == []


def test_name_that_the_plan_declares_is_sealed(writer, sample, monkeypatch):
    monkeypatch.setattr(secret_scan.getpass, "getuser", lambda: sample.plan.submission.submitter)
    monkeypatch.setattr(secret_scan.socket, "gethostname", lambda: "host-1")
    assert sample.plan.submission.system_id == "host-1"
    sample.fill(writer).seal()


def run_python(code, **options):
    return subprocess.run(  # noqa: PLW1510 - the caller looks at the exit status
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        **options,
    )


def test_file_that_the_system_cuts_off(writer, sample):
    """A real write error in a real process: files may have 10,000 bytes, the table has more."""
    folder = sample.fill(writer).folder(layout.run_folder(sample.case, "cpu", 3))
    code = f"""
        import sys
        from pathlib import Path
        import numpy as np
        from kit.bundle.writer import write_table
        from kit.errors import MeasurementError
        from kit.trace import HOST
        times = np.arange(1000) * 10**9
        try:
            write_table(Path({str(folder)!r}), HOST, {{"t_ns": times, "burst_ns": times}})
        except MeasurementError as error:
            sys.exit(str(error))
    """

    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))

    result = run_python(code, preexec_fn=limited)
    assert result.returncode == 1
    assert result.stderr == (
        f"{folder}/host.csv: cannot be written: File too large (free some space)\n"
    )
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("step", ["table", "record", "text", "seal"])
def test_full_disk(writer, sample, monkeypatch, step):
    sample.fill(writer)
    folder = writer.folder(layout.run_folder(sample.case, "cpu", 3))

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    class FullFile:
        write = staticmethod(full)

        def __init__(self, path):
            path.touch()

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    steps = {
        "table": lambda: write_table(folder, WINDOWS, sample.tables[WINDOWS]),
        "record": lambda: write_document(folder / "run.json", sample.run),
        "text": lambda: writer.write_text("data/cases/x/0123456789abcdef.hlo.txt", "HloModule"),
        "seal": writer.seal,
    }
    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", lambda path, *_: FullFile(path))
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(MeasurementError) as caught:
            steps[step]()
    message = str(caught.value)
    assert message.endswith("cannot be written: No space left on device (free some space)")
    assert writer.partial.is_dir()
    assert caught.value.exit_code == 6
    assert list(folder.iterdir()) == [] if folder.exists() else step == "seal"
    assert not writer.path.exists()
    with pytest.raises(BundleError, match="not sealed"):
        read_container(writer.partial)
    writer.seal()


KILLED = """
    import os, signal, sys
    from pathlib import Path
    sys.path.insert(0, {here!r})
    from conftest import fill
    from kit.bundle.writer import BundleWriter
    writer = BundleWriter(Path({parent!r}), "small")
    moment, final = {moment!r}, str(writer.path)
    steps = 0

    def trace(event, arguments):
        global steps
        if event in ("open", "os.rename", "os.mkdir") and {parent!r} in str(arguments[0]):
            steps += 1
            naming = event == "os.rename" and str(arguments[1]) == final
            if steps == moment or (naming and moment == "naming"):
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(trace)
    fill(writer).seal()
"""


@pytest.mark.parametrize("moment", [1, 2, 7, 20, 40, 60, 70, "naming"])
def test_killed_at_any_moment(tmp_path, moment):
    """Nothing bears the bundle's name before it is whole, and what is left says so."""
    code = KILLED.format(here=str(Path(__file__).parent), parent=str(tmp_path), moment=moment)
    result = run_python(code)
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == [".partial-small"]
    with pytest.raises(BundleError, match="not sealed"):
        read_container(tmp_path / ".partial-small")


def test_the_manifest_of_manifests_is_written_last(writer, sample, monkeypatch):
    written = []
    real = Path.write_bytes

    def recorded(path, data):
        written.append(path.name)
        return real(path, data)

    sample.fill(writer)
    monkeypatch.setattr(Path, "write_bytes", recorded)
    writer.seal()
    assert written == [
        "bag-info.txt", "bagit.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt",
    ]  # fmt: skip


def test_documents_are_canonical(pristine):
    for path in (pristine / "data").rglob("*.json"):
        value = json.loads(path.read_bytes())
        canonical = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=True) + "\n"
        assert path.read_text() == canonical
