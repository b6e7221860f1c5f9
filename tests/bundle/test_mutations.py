"""Whatever bytes a sealed bundle holds, reading it gives a bundle or one `BundleError`."""

import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kit.bundle.reader import parse, read_container
from kit.errors import BundleError

PIECES = st.sampled_from(
    [
        *(b"", b"0", b"9" * 20, b",", b"\n", b"\r", b'"', b"\\", b"{", b"}", b"[", b"]", b"null"),
        *(b"1e999", b"NaN", b"\x00", b"\xff", b"\xe2\x80\xae", b"true", b"1.5", b":", b" ", b"-"),
    ]
) | st.binary(max_size=4)


@pytest.fixture(scope="module")
def small(pristine, tmp_path_factory):
    copy = tmp_path_factory.mktemp("mutated") / "small"
    return shutil.copytree(pristine, copy)


@pytest.fixture(scope="module")
def contents(small):
    files = (path for path in small.rglob("*") if path.is_file())
    return {path.relative_to(small).as_posix(): path.read_bytes() for path in files}


def mutate(data, content):
    """Replace one stretch of the content by something else."""
    start = data.draw(st.integers(0, len(content)))
    length = data.draw(st.sampled_from([0, 1, 1, 2, 8, 64, len(content)]))
    return content[:start] + data.draw(PIECES) + content[start + length :]


SETTINGS = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@SETTINGS
@given(data=st.data())
def test_resealed(data, small, contents, reseal):
    path = data.draw(st.sampled_from(sorted(p for p in contents if p.startswith("data/"))))
    mutated = mutate(data, contents[path])
    try:
        (small / path).write_bytes(mutated)
        reseal(small)
        container = read_container(small)
        assert container.faults == ()
        try:
            parse(container)
        except BundleError as error:
            # mostly the file itself; a case's folder is named where its record is
            assert str(error).startswith(path)  # noqa: PT017 - either outcome is right
            assert str(error).isprintable()  # noqa: PT017
    finally:
        for name, content in contents.items():
            (small / name).write_bytes(content)


@SETTINGS
@given(data=st.data())
def test_not_resealed(data, small, contents):
    """Any change to any file is either refused or a fault that names that file."""
    path = data.draw(st.sampled_from(sorted(contents)))
    mutated = mutate(data, contents[path])
    try:
        (small / path).write_bytes(mutated)
        container = read_container(small)
        if mutated == contents[path]:
            assert container.faults == ()
        elif path == "tagmanifest-sha256.txt":
            assert container.faults
        else:
            assert path in [fault.path for fault in container.faults]
    except BundleError as error:
        assert str(error).startswith(("tagmanifest-sha256.txt: ", "manifest-sha256.txt: "))  # noqa: PT017
        assert path in ("tagmanifest-sha256.txt", "manifest-sha256.txt")
    finally:
        (small / path).write_bytes(contents[path])
