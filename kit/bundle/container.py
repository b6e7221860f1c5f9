"""A folder as a sealed bundle: its files, and which of them are not as they were sealed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kit.bundle.foreign_text import shown
from kit.bundle.layout import BAG_FILES, PARTIAL, PAYLOAD, SIGNATURE, SIGNATURES
from kit.bundle.manifest import (
    BAGIT,
    format_manifest,
    parse_bag_info,
    parse_payload_manifest,
    parse_tag_manifest,
    sha256,
)
from kit.bundle.walk import read_tree, remedy
from kit.errors import BundleError

MAXIMUM_SIGNATURE_BYTES = 64 * 2**10


@dataclass(frozen=True, slots=True)
class IntegrityFault:
    """A file that is not what the sealed manifests say.

    `kind` is `altered`, `missing`, `unlisted` or `payload_oxum` (bag-info's count of the payload);
    `expected` and `found` are digests, counts or a few words.
    """

    path: str
    kind: str
    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Container:
    """Every file of a bundle as bytes, read once; `digest` is the bundle's identity.

    `name` is the folder's, which is not part of the identity and may be anything.
    """

    name: str
    digest: str
    files: dict[str, bytes]
    faults: tuple[IntegrityFault, ...]


def read_container(path: Path) -> Container:
    """Read every file of the bundle at `path` once, without following or opening anything unsafe.

    What the manifests contradict is a fault in the container; a container that cannot be
    understood at all is an error.

    Raises:
        BundleError: not a sealed bundle of the strict profile, or unsafe to read.
    """
    name = path.name or path.absolute().name
    if name.startswith(PARTIAL):
        raise BundleError("not sealed: the run that was writing this bundle did not finish it")
    files = read_tree(path, _refuse_top)
    for tag_file in BAG_FILES:
        if tag_file not in files:
            raise BundleError(f"{tag_file}: is a folder, not a file")
    for entry, content in files.items():
        _refuse_misplaced(entry, content)
    digest = sha256(files["tagmanifest-sha256.txt"])
    return Container(name, digest, files, tuple(_faults(files)))


def _refuse_top(names: list[str]) -> None:
    if "bagit.txt" not in names and PAYLOAD not in names:
        raise BundleError("not a bundle: holds neither bagit.txt nor data/")
    if "tagmanifest-sha256.txt" not in names:
        raise BundleError("not sealed: tagmanifest-sha256.txt is missing")
    for name in (*BAG_FILES, PAYLOAD):
        if name not in names:
            raise BundleError(f"{name}: is missing")
    for name in names:
        if name not in (*BAG_FILES, PAYLOAD, SIGNATURES):
            raise BundleError(
                f"{shown(name)}: has no place at the top of a bundle", hint=remedy(name)
            )


def _refuse_misplaced(path: str, content: bytes) -> None:
    # Below the top the walk has held depth and every name against what a payload may have.
    if path in BAG_FILES or path.startswith(f"{PAYLOAD}/"):
        return
    if path != SIGNATURE:
        raise BundleError(f"{path}: has no place in a bundle")
    if len(content) > MAXIMUM_SIGNATURE_BYTES:
        raise BundleError(
            f"{path}: has {len(content)} bytes; {MAXIMUM_SIGNATURE_BYTES} are allowed"
        )


def _faults(files: dict[str, bytes]) -> list[IntegrityFault]:
    faults = _tag_faults(files)
    altered = {fault.path for fault in faults}
    payload = {path: data for path, data in files.items() if path.startswith(f"{PAYLOAD}/")}
    found = {path: sha256(data) for path, data in payload.items()}
    manifest = files["manifest-sha256.txt"]
    # A manifest has one form. So it need not be read where it is that of these very files. Where
    # there are none, none is one.
    if not found or manifest != format_manifest(found):
        faults += _payload_faults(parse_payload_manifest(manifest), found)
    if "bag-info.txt" not in altered:
        expected = parse_bag_info(files["bag-info.txt"]).payload_oxum
        oxum = f"{sum(map(len, payload.values()))}.{len(payload)}"
        if oxum != expected and not faults:
            faults.append(IntegrityFault("bag-info.txt", "payload_oxum", expected, oxum))
    return faults


def _payload_faults(listed: dict[str, str], found: dict[str, str]) -> Iterator[IntegrityFault]:
    """Yield where the digests that the manifest lists are not those found."""
    for path in sorted(listed.keys() | found.keys()):
        if path not in found:
            yield IntegrityFault(path, "missing", listed[path], "no such file")
        elif path not in listed:
            yield IntegrityFault(path, "unlisted", "not in the manifest", found[path])
        elif found[path] != listed[path]:
            yield IntegrityFault(path, "altered", listed[path], found[path])


def _tag_faults(files: dict[str, bytes]) -> list[IntegrityFault]:
    faults = []
    for path, digest in parse_tag_manifest(files["tagmanifest-sha256.txt"]).items():
        found = sha256(files[path])
        if found != digest:
            faults.append(IntegrityFault(path, "altered", digest, found))
        elif path == "bagit.txt" and files[path] != BAGIT:
            raise BundleError(f"{path}: is not that of BagIt 1.0 in UTF-8")
    return faults
