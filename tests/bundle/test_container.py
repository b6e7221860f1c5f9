"""Tag files and the manifest: what is refused, and what becomes a fault that names the file."""

import hashlib
import shutil

import pytest

from kit.bundle import container as module
from kit.bundle.container import IntegrityFault, read_container
from kit.errors import BundleError

PLAN = "data/plan.json"


def refusal(path):
    with pytest.raises(BundleError) as caught:
        read_container(path)
    message = str(caught.value)
    assert message.isascii()
    assert message.isprintable()
    return message


def test_a_sealed_bundle(pristine):
    container = read_container(pristine)
    tag_manifest = (pristine / "tagmanifest-sha256.txt").read_bytes()
    assert container.name == "small"
    assert container.digest == hashlib.sha256(tag_manifest).hexdigest()
    assert container.faults == ()
    assert container.files == {
        path.relative_to(pristine).as_posix(): path.read_bytes()
        for path in pristine.rglob("*")
        if path.is_file()
    }


def test_where_the_name_is_a_dot(pristine, monkeypatch):
    monkeypatch.chdir(pristine)
    assert read_container(pristine.__class__()).name == "small"


def test_nothing_there(tmp_path):
    assert refusal(tmp_path / "x") == "the bundle: cannot be read: No such file or directory"


def test_a_file(tmp_path):
    (tmp_path / "x").write_text("hello")
    assert refusal(tmp_path / "x") == "not a bundle: is not a folder"


def test_a_device():
    assert refusal(module.Path("/dev/null")) == "not a bundle: is not a folder"


def test_an_empty_folder(tmp_path):
    assert refusal(tmp_path) == "not a bundle: holds neither bagit.txt nor data/"


def test_some_other_folder(tmp_path):
    (tmp_path / "README").write_text("hello")
    assert refusal(tmp_path) == "not a bundle: holds neither bagit.txt nor data/"


def test_no_tag_manifest(bundle):
    (bundle / "tagmanifest-sha256.txt").unlink()
    assert refusal(bundle) == "not sealed: tagmanifest-sha256.txt is missing"


def test_a_bundle_still_being_written(bundle):
    partial = bundle.rename(bundle.with_name(".partial-small"))
    assert refusal(partial).startswith("not sealed: ")


@pytest.mark.parametrize("name", ["bagit.txt", "bag-info.txt", "manifest-sha256.txt"])
def test_no_tag_file(bundle, name):
    (bundle / name).unlink()
    assert refusal(bundle) == f"{name}: is missing"


def test_no_payload(bundle):
    shutil.rmtree(bundle / "data")
    assert refusal(bundle) == "data: is missing"


@pytest.mark.parametrize(
    "name", ["fetch.txt", "manifest-md5.txt", "tagmanifest-md5.txt", "README", ".git", "\x1b[2J"]
)
def test_more_at_the_top(bundle, name):
    (bundle / name).write_text("")
    shown = ascii(name)
    assert refusal(bundle) == f"{shown}: has no place at the top of a bundle"


def test_a_folder_more_at_the_top(bundle):
    (bundle / "extra").mkdir()
    (bundle / "extra/x").write_text("")
    assert refusal(bundle) == "'extra': has no place at the top of a bundle"


def test_a_folder_instead_of_a_tag_file(bundle):
    (bundle / "bagit.txt").unlink()
    (bundle / "bagit.txt").mkdir()
    (bundle / "bagit.txt/x").write_text("")
    assert refusal(bundle) == "bagit.txt: is a folder, not a file"


def test_a_file_instead_of_the_payload(bundle):
    shutil.rmtree(bundle / "data")
    (bundle / "data").write_text("")
    assert refusal(bundle) == "data: has no place in a bundle"


def test_a_signature_is_read_but_not_covered(bundle):
    (bundle / "signatures").mkdir()
    (bundle / "signatures/vendor.sshsig").write_bytes(b"-----BEGIN SSH SIGNATURE-----\n")
    unsigned = read_container(bundle).digest
    container = read_container(bundle)
    assert container.files["signatures/vendor.sshsig"] == b"-----BEGIN SSH SIGNATURE-----\n"
    assert container.faults == ()
    assert container.digest == unsigned


def test_other_signatures(bundle):
    (bundle / "signatures").mkdir()
    (bundle / "signatures/other.sshsig").write_bytes(b"")
    assert refusal(bundle) == "signatures/other.sshsig: has no place in a bundle"


def test_a_large_signature(bundle):
    (bundle / "signatures").mkdir()
    (bundle / "signatures/vendor.sshsig").write_bytes(bytes(2**16))
    assert read_container(bundle).faults == ()
    (bundle / "signatures/vendor.sshsig").write_bytes(bytes(2**16 + 1))
    assert refusal(bundle) == "signatures/vendor.sshsig: has 65537 bytes; 65536 are allowed"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_altered_file(bundle):
    before = digest(bundle / PLAN)
    text = (bundle / PLAN).read_text().replace('"seed": 7', '"seed": 8')
    (bundle / PLAN).write_text(text)
    fault = IntegrityFault(PLAN, "altered", before, digest(bundle / PLAN))
    assert read_container(bundle).faults == (fault,)


def test_a_missing_file(bundle):
    before = digest(bundle / PLAN)
    (bundle / PLAN).unlink()
    fault = IntegrityFault(PLAN, "missing", before, "no such file")
    assert read_container(bundle).faults == (fault,)


def test_an_unlisted_file(bundle):
    (bundle / "data/more.txt").write_text("more")
    found = digest(bundle / "data/more.txt")
    fault = IntegrityFault("data/more.txt", "unlisted", "not in the manifest", found)
    assert read_container(bundle).faults == (fault,)


def test_every_file_that_differs_is_named_in_order(bundle):
    for name in ("plan", "journal", "environment"):
        (bundle / f"data/{name}.json").write_text("{}")
    (bundle / "data/system.json").unlink()
    (bundle / "data/a.txt").write_text("")
    kinds = [(fault.path, fault.kind) for fault in read_container(bundle).faults]
    assert kinds == [
        ("data/a.txt", "unlisted"),
        ("data/environment.json", "altered"),
        ("data/journal.json", "altered"),
        ("data/plan.json", "altered"),
        ("data/system.json", "missing"),
    ]


def test_an_edited_file_with_the_manifest_made_true_again(bundle):
    before = digest(bundle / PLAN)
    (bundle / PLAN).write_text("{}")
    manifest = bundle / "manifest-sha256.txt"
    stale = digest(manifest)
    manifest.write_text(manifest.read_text().replace(before, digest(bundle / PLAN)))
    fault = IntegrityFault("manifest-sha256.txt", "altered", stale, digest(manifest))
    assert read_container(bundle).faults == (fault,)


def test_resealing_gives_another_identity(bundle, reseal):
    before = read_container(bundle).digest
    (bundle / PLAN).write_text("{}")
    reseal(bundle)
    container = read_container(bundle)
    assert container.faults == ()
    assert container.digest != before


@pytest.mark.parametrize("name", ["bagit.txt", "bag-info.txt"])
def test_an_altered_tag_file(bundle, name):
    before = digest(bundle / name)
    (bundle / name).write_bytes((bundle / name).read_bytes().replace(b"1", b"2", 1))
    fault = IntegrityFault(name, "altered", before, digest(bundle / name))
    assert read_container(bundle).faults == (fault,)


def test_a_resealed_bag_of_another_version(bundle, retag):
    (bundle / "bagit.txt").write_bytes(b"BagIt-Version: 0.97\nTag-File-Character-Encoding: UTF-8\n")
    retag(bundle)
    assert refusal(bundle) == "bagit.txt: is not that of BagIt 1.0 in UTF-8"


def test_a_payload_count_that_is_wrong(bundle, retag):
    info = bundle / "bag-info.txt"
    count = info.read_text().splitlines()[-1].removeprefix("Payload-Oxum: ")
    info.write_text(info.read_text().replace(count, "123.4"))
    retag(bundle)
    fault = IntegrityFault("bag-info.txt", "payload_oxum", "123.4", count)
    assert read_container(bundle).faults == (fault,)


INFO = {
    "label missing": (lambda t: t.replace("Kit-Bundle-Format: 1\n", ""), "is not one line each"),
    "label twice": (lambda t: t + t, "is not one line each"),
    "other label": (lambda t: t + "Contact-Email: x@example.com\n", "is not one line each"),
    "order": (lambda t: "".join(reversed(t.splitlines(keepends=True))), "is not one line each"),
    "CRLF": (lambda t: t.replace("\n", "\r\n"), "is not one line each"),
    "folded": (lambda t: t.replace("gemm-kit", "gemm-kit\n  "), "is not one line each"),
    "not ASCII": (lambda t: t.replace("gemm-kit", "gemm-kit ü"), "is not one line each"),
    "no line feed": (lambda t: t[:-1], "is not one line each"),
    "newer": (
        lambda t: t.replace("Format: 1", "Format: 2"),
        "bundle format 2 is unknown (this kit",
    ),
    "date": (lambda t: t.replace("2026-11-29", "2026-02-30"), "2026-02-30 is not a date"),
    "name": (lambda t: t.replace("small", "con"), "External-Identifier: 'con' is not a name"),
}


@pytest.mark.parametrize("name", INFO)
def test_bag_info(bundle, retag, name):
    change, problem = INFO[name]
    info = bundle / "bag-info.txt"
    info.write_bytes(change(info.read_text()).encode())
    retag(bundle)
    message = refusal(bundle)
    assert message.startswith("bag-info.txt: ")
    assert problem in message
