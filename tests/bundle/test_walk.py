"""Hostile trees: each is the small bundle with one thing about its files that is not plain."""

import os
import shutil
import socket
import time
from contextlib import contextmanager, suppress

import pytest

from kit.bundle import walk
from kit.bundle.container import read_container
from kit.errors import BundleError


def refusal(path):
    started = time.monotonic()
    with pytest.raises(BundleError) as caught:
        read_container(path)
    assert time.monotonic() - started < 2
    message = str(caught.value)
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 400
    return message


def test_link_to_a_file_with_the_right_content(bundle, tmp_path):
    plan = bundle / "data/plan.json"
    plan.rename(tmp_path / "elsewhere.json")
    plan.symlink_to(tmp_path / "elsewhere.json")
    assert refusal(bundle) == "data/plan.json: is a symbolic link"


def test_link_inside_the_bundle(bundle):
    (bundle / "data/copy.json").symlink_to("plan.json")
    assert refusal(bundle) == "data/copy.json: is a symbolic link"


def test_linked_folder(bundle, tmp_path):
    (bundle / "data/cases").rename(tmp_path / "cases")
    (bundle / "data/cases").symlink_to(tmp_path / "cases", target_is_directory=True)
    assert refusal(bundle) == "data/cases: is a symbolic link"


def test_linked_payload(bundle, tmp_path):
    (bundle / "data").rename(tmp_path / "data")
    (bundle / "data").symlink_to(tmp_path / "data", target_is_directory=True)
    assert refusal(bundle) == "data: is a symbolic link"


def test_the_bundle_itself_may_be_reached_by_a_link(bundle, tmp_path):
    (tmp_path / "link").symlink_to(bundle, target_is_directory=True)
    container = read_container(tmp_path / "link")
    assert container.faults == ()
    assert container.name == "link"


def test_link_to_nowhere(bundle):
    (bundle / "data/nowhere.json").symlink_to("/nonexistent/file")
    assert refusal(bundle) == "data/nowhere.json: is a symbolic link"


def test_loop_of_links(bundle):
    (bundle / "data/a").symlink_to("b")
    (bundle / "data/b").symlink_to("a")
    assert refusal(bundle) == "data/a: is a symbolic link"


def test_folder_linked_into_itself(bundle):
    (bundle / "data/cases/again").symlink_to("..", target_is_directory=True)
    assert refusal(bundle) == "data/cases/again: is a symbolic link"


def test_hard_link(bundle, tmp_path):
    os.link(bundle / "data/plan.json", tmp_path / "second-name")
    assert refusal(bundle) == (
        "data/plan.json: is a hard link; a bundle holds each file once "
        "(judge a plain copy: cp -r gives each file its own bytes, cp -l does not)"
    )


def test_named_pipe_does_not_block(bundle, sample):
    table = bundle / sample.run_folder / "host.csv"
    table.unlink()
    os.mkfifo(table)
    assert refusal(bundle) == f"{sample.run_folder}/host.csv: is a named pipe"


def test_named_pipe_as_manifest(bundle):
    (bundle / "manifest-sha256.txt").unlink()
    os.mkfifo(bundle / "manifest-sha256.txt")
    assert refusal(bundle) == "manifest-sha256.txt: is a named pipe"


def test_socket(bundle, monkeypatch):
    monkeypatch.chdir(bundle / "data")  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("talk.json")
        assert refusal(bundle) == "data/talk.json: is a socket"


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_device(device):
    # Only root can put a device node into a bundle; anybody can look at one.
    with pytest.raises(BundleError, match=r"^data/x\.csv: is a character device$"):
        walk._refuse_unsafe(os.stat(device), "data/x.csv")  # noqa: PTH116


def test_sparse_terabyte(bundle):
    with (bundle / "data/big.json").open("wb") as file:
        file.truncate(2**40)
    assert refusal(bundle) == "data/big.json: has 1099511627776 bytes; 67108864 are allowed"


def test_all_files_together(bundle, monkeypatch):
    monkeypatch.setattr(walk, "MAXIMUM_BUNDLE_BYTES", 10_000)
    assert refusal(bundle).endswith(": here the bundle exceeds 10000 bytes")


def test_very_many_files(bundle):
    folder = bundle / "data/many"
    folder.mkdir()
    for number in range(20_001):
        os.close(os.open(folder / f"{number}.csv", os.O_CREAT | os.O_WRONLY))
    assert refusal(bundle) == "data/many: here the bundle exceeds 20000 entries"


def test_very_many_files_at_the_top(bundle):
    for number in range(20_001):
        os.close(os.open(bundle / str(number), os.O_CREAT | os.O_WRONLY))
    assert refusal(bundle) == "the bundle: here the bundle exceeds 20000 entries"


def test_very_deep_folders(bundle):
    (bundle / "data").joinpath(*["a"] * 500).mkdir(parents=True)
    assert refusal(bundle) == "data/a/a/a/a/a/a/a: folders are nested deeper than 8 levels"


def test_empty_folders_mean_nothing(bundle):
    before = read_container(bundle)
    (bundle / "data/nothing").mkdir()
    assert read_container(bundle) == before


NAMES = {
    b"back\\slash": r"'back\\slash'",
    b"line\nfeed": r"'line\nfeed'",
    b"\x1b[2Jcleared": r"'\x1b[2Jcleared'",
    b"\xff\xfe": r"'\udcff\udcfe'",
    "\u202egnp.exe".encode(): r"'\u202egnp.exe'",
    b"-rf": "'-rf'",
    b".hidden": "'.hidden'",
    b"...": "'...'",
    b"trailing.": "'trailing.'",
    b"trailing ": "'trailing '",
    b"con": "'con'",
    b"nul.json": "'nul.json'",
    b"com1.tar.gz": "'com1.tar.gz'",
    b"Run.json": "'Run.json'",
    "büro.json".encode(): r"'b\xfcro.json'",
    b"a" * 65: f"'{'a' * 60}'...",
    b"a" * 255: f"'{'a' * 60}'...",
    b"%s$(id)": "'%s$(id)'",
    b"plan.json:stream": "'plan.json:stream'",
}


@pytest.mark.parametrize("name", NAMES)
def test_name(bundle, name):
    with open(os.path.join(os.fsencode(bundle), b"data", name), "wb"):  # noqa: PTH118, PTH123
        pass
    assert refusal(bundle) == f"data: holds {NAMES[name]}, a name that a bundle may not use"


def test_name_of_a_folder(bundle):
    (bundle / "data/Cases").mkdir()
    assert refusal(bundle) == "data: holds 'Cases', a name that a bundle may not use"


@contextmanager
def without_privileges(folder):
    """Let file modes count, which they do not for root."""
    folder.chmod(0o755)
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("place", ["data/plan.json", "data/cases", "bagit.txt"])
def test_unreadable(bundle, monkeypatch, place):
    monkeypatch.chdir(bundle.parent)
    (bundle / place).chmod(0)
    with without_privileges(bundle.parent):
        message = refusal(bundle.relative_to(bundle.parent))
    (bundle / place).chmod(0o755)
    assert message == f"{place}: cannot be read: Permission denied"


def test_unreadable_bundle(bundle, monkeypatch):
    monkeypatch.chdir(bundle.parent)
    bundle.chmod(0)
    with without_privileges(bundle.parent):
        message = refusal(bundle.relative_to(bundle.parent))
    bundle.chmod(0o755)
    assert message == "the bundle: cannot be read: Permission denied"


def test_a_file_that_grows_while_it_is_read(bundle, monkeypatch):
    real = os.fstat

    def smaller(descriptor):
        facts = list(real(descriptor))
        facts[6] = max(0, facts[6] - 1)
        return os.stat_result(facts)

    monkeypatch.setattr(walk.os, "fstat", smaller)
    assert refusal(bundle) == "bag-info.txt: changed while it was read"


def test_an_entry_swapped_for_a_link_between_look_and_use(bundle, monkeypatch):
    real = os.open
    plan = bundle / "data/plan.json"

    def swapped(name, flags, **others):
        if name == "plan.json":
            plan.unlink()
            plan.symlink_to("/etc/hostname")
        return real(name, flags, **others)

    monkeypatch.setattr(walk.os, "open", swapped)
    assert refusal(bundle) == "data/plan.json: cannot be read: Too many levels of symbolic links"


def test_an_entry_swapped_for_a_pipe_between_look_and_use(bundle, monkeypatch):
    real = os.open
    plan = bundle / "data/plan.json"

    def swapped(name, flags, **others):
        if name == "plan.json":
            plan.unlink()
            os.mkfifo(plan)
        return real(name, flags, **others)

    monkeypatch.setattr(walk.os, "open", swapped)
    assert refusal(bundle) == "data/plan.json: is a named pipe"


def test_each_file_is_opened_once_and_every_descriptor_is_closed(bundle, monkeypatch):
    opened = []
    real = os.open

    def counted(name, flags, **others):
        opened.append(os.fspath(name))
        return real(name, flags, **others)

    monkeypatch.setattr(walk.os, "open", counted)
    before = set(os.listdir("/proc/self/fd"))  # noqa: PTH208
    container = read_container(bundle)
    for path in container.files:
        assert opened.count(path.rsplit("/", 1)[-1]) == sum(
            other.rsplit("/", 1)[-1] == path.rsplit("/", 1)[-1] for other in container.files
        )
    shutil.rmtree(bundle / "data/cases")
    (bundle / "data/cases").symlink_to("/")
    with suppress(BundleError):
        read_container(bundle)
    assert set(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.parametrize("name", [".DS_Store", "._plan.json", "Thumbs.db", ".directory"])
@pytest.mark.parametrize("folder", ["", "data", "data/cases"])
def test_what_a_desktop_left_is_refused_with_the_remedy(bundle, folder, name):
    (bundle / folder / name).write_bytes(b"")
    assert refusal(bundle).endswith(" (a desktop left it there: delete it, and it alone)")
