"""The manifest's grammar: one broken line at a time, with everything else sealed and true."""

import hashlib
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bundle import manifest
from kit.bundle.container import read_container
from kit.errors import BundleError

DIGEST = hashlib.sha256(b"").hexdigest()


def edit_line(number, change):
    def edit(data):
        lines = data.split(b"\n")
        lines[number - 1] = change(lines[number - 1])
        return b"\n".join(lines)

    return edit


def swap(data):
    first, second, *rest = data.split(b"\n")
    return b"\n".join([second, first, *rest])


BROKEN = {
    "CRLF": (lambda d: d.replace(b"\n", b"\r\n"), "line 1"),
    "one CR": (edit_line(2, lambda s: s + b"\r"), "line 2"),
    "one blank": (edit_line(2, lambda s: s.replace(b"  ", b" ")), "line 2"),
    "three blanks": (edit_line(2, lambda s: s.replace(b"  ", b"   ")), "line 2"),
    "tab": (edit_line(2, lambda s: s.replace(b"  ", b"\t")), "line 2"),
    "binary mark": (edit_line(2, lambda s: s.replace(b"  ", b" *")), "line 2"),
    "upper-case digits": (edit_line(2, bytes.upper), "line 2"),
    "upper-case digest": (edit_line(1, lambda s: s[:64].upper() + s[64:]), "line 1"),
    "short digest": (edit_line(1, lambda s: s[1:]), "line 1"),
    "SHA-512": (edit_line(1, lambda s: s[:64] + s), "line 1"),
    "escaped name": (edit_line(1, lambda s: b"\\" + s), "line 1"),
    "unsorted": (swap, "is not in bytewise order"),
    "twice": (lambda d: d.split(b"\n")[0] + b"\n" + d, "is listed twice"),
    "twice otherwise": (lambda d: DIGEST.encode() + d.split(b"\n")[0][64:] + b"\n" + d, "twice"),
    "no last line feed": (lambda d: d[:-1], "the last line has no line feed"),
    "blank line": (lambda d: d + b"\n", "is not 64 lower-case"),
    "empty": (lambda _: b"", "the last line has no line feed"),
    "byte order mark": (lambda d: b"\xef\xbb\xbf" + d, "line 1"),
    "comment": (lambda d: b"# sha256\n" + d, "line 1"),
    "NUL": (edit_line(1, lambda s: s + b"\x00"), "line 1"),
}
PATHS = (
    "data/../../../etc/hostname", "/etc/hostname", "data//plan.json", "data/./plan.json", "data",
    "data/", "./data/plan.json", "data/Plan.json", "data/plan.json ", "data/-rf", "data/.x",
    "data/a\\b", "data/con", "data/aux.json", "data/x.", "bagit.txt", "signatures/vendor.sshsig",
    "data/" + "a" * 65, "data/a/a/a/a/a/a/a/a", "data/b\u00fcro", "data/%0a",
)  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken(bundle, retag, name):
    change, problem = BROKEN[name]
    path = bundle / "manifest-sha256.txt"
    path.write_bytes(change(path.read_bytes()))
    retag(bundle)
    with pytest.raises(BundleError) as caught:
        read_container(bundle)
    message = str(caught.value)
    assert message.startswith("manifest-sha256.txt: ")
    assert problem in message
    assert message.isascii()
    assert message.isprintable()


@pytest.mark.parametrize("path", PATHS)
def test_paths_outside_the_grammar(bundle, retag, path):
    """`sha256sum -c` follows such lines; the digest may even be right."""
    rows = [f"{DIGEST}  {path}", *(bundle / "manifest-sha256.txt").read_text().splitlines()]
    rows.sort(key=lambda row: row[66:].encode())
    number = [row[66:] for row in rows].index(path) + 1
    (bundle / "manifest-sha256.txt").write_bytes("\n".join([*rows, ""]).encode())
    retag(bundle)
    with pytest.raises(BundleError) as caught:
        read_container(bundle)
    message = str(caught.value)
    assert message.startswith(f"manifest-sha256.txt: line {number}: ")
    assert message.endswith("is not a path of a payload file")


TAG_MANIFESTS = {
    "one missing": lambda d: d[d.index(b"\n") + 1 :],
    "payload listed": lambda d: d.replace(b"bagit.txt", b"data/plan.json").replace(
        *[b"bag-info.txt"] * 2
    ),
    "itself": lambda d: d + DIGEST.encode() + b"  tagmanifest-sha256.txt\n",
    "outside": lambda d: d.replace(b"bag-info.txt", b"../bag-info.txt"),
}


@pytest.mark.parametrize("name", TAG_MANIFESTS)
def test_tag_manifest_lists_exactly_the_tag_files(bundle, name):
    path = bundle / "tagmanifest-sha256.txt"
    path.write_bytes(TAG_MANIFESTS[name](path.read_bytes()))
    with pytest.raises(BundleError, match=r"^tagmanifest-sha256\.txt: "):
        read_container(bundle)


def test_too_long(monkeypatch):
    monkeypatch.setattr(manifest, "MAXIMUM_FILES", 2)
    rows = [f"{DIGEST}  data/{name}\n".encode() for name in "abc"]
    assert len(manifest.parse_payload_manifest(b"".join(rows[:2]))) == 2
    with pytest.raises(BundleError, match="lists more than 2 files"):
        manifest.parse_payload_manifest(b"".join(rows))


SEGMENTS = st.from_regex(r"\A[a-z0-9][a-z0-9._-]{0,10}\Z").filter(manifest.is_segment)
PAYLOAD_PATHS = st.lists(SEGMENTS, min_size=1, max_size=7).map(lambda s: "/".join(["data", *s]))


@given(st.dictionaries(PAYLOAD_PATHS, st.binary(max_size=3).map(manifest.sha256), min_size=1))
def test_reads_back_as_written(digests):
    data = manifest.format_manifest(digests)
    assert manifest.parse_payload_manifest(data) == digests
    assert data.splitlines() == sorted(data.splitlines(), key=lambda line: line[66:])


@given(st.binary(max_size=200))
def test_only_bundle_errors_come_out_of_bytes(data):
    for parse in (
        manifest.parse_payload_manifest,
        manifest.parse_tag_manifest,
        manifest.parse_bag_info,
    ):
        with pytest.raises(BundleError):
            parse(data)


def test_bag_info_reads_back_as_written():
    info = manifest.BagInfo("gemm-kit 0.1.0", date(2026, 11, 29), "small", 12345, 6)
    assert manifest.parse_bag_info(manifest.format_bag_info(info)) == info
    assert info.payload_oxum == "12345.6"
