"""The tag files of a bundle in the strict profile: what they say, byte for byte.

The profile is BagIt 1.0 (RFC 8493) with every choice taken away: SHA-256 only, lower case, sorted
bytewise, line feeds, names that mean the same on every file system. The digest of
`tagmanifest-sha256.txt` is the bundle's identity.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from kit.bundle.foreign_text import shown
from kit.errors import BundleError

BAGIT = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
BUNDLE_FORMAT = "1"
TAGGED = ("bag-info.txt", "bagit.txt", "manifest-sha256.txt")
MAXIMUM_DEPTH = 8
MAXIMUM_FILES = 20_000

_SEGMENT = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
# Windows gives these to devices, whatever follows the first dot.
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
_LINE = re.compile(rb"([0-9a-f]{64})  ([^\r\n]+)")
_INFO = re.compile(
    r"Bag-Software-Agent: (?P<agent>[!-~][ -~]{0,127})\n"
    r"Bagging-Date: (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})\n"
    r"External-Identifier: (?P<name>[a-z0-9._-]{1,64})\n"
    r"Kit-Bundle-Format: (?P<format>[0-9]{1,9})\n"
    r"Payload-Oxum: (?P<octets>[0-9]{1,16})\.(?P<files>[0-9]{1,9})\n"
)


@dataclass(frozen=True, slots=True)
class BagInfo:
    """`bag-info.txt`: who sealed what when, and how much payload there is, in bytes and files."""

    agent: str
    bagging_date: date
    name: str
    octets: int
    files: int

    @property
    def payload_oxum(self) -> str:
        """Bytes and files as BagIt writes them: `<bytes>.<files>`."""
        return f"{self.octets}.{self.files}"


@lru_cache(4096)
def is_segment(name: str) -> bool:
    """Whether `name` may name a file or folder of a bundle."""
    return (
        _SEGMENT.fullmatch(name) is not None
        and not name.endswith(".")
        and _DEVICES.fullmatch(name) is None
    )


def is_payload_path(path: str) -> bool:
    """Whether `path` may name a payload file: `data/` and at most seven segments below it."""
    segments = path.split("/")
    return (
        segments[0] == "data"
        and 2 <= len(segments) <= MAXIMUM_DEPTH
        and all(is_segment(segment) for segment in segments)
    )


def sha256(data: bytes) -> str:
    """SHA-256 of `data` in lower-case hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def format_manifest(digests: Mapping[str, str]) -> bytes:
    """Return a manifest of path → digest as `sha256sum` would write it, sorted bytewise."""
    return "".join(f"{digests[path]}  {path}\n" for path in sorted(digests)).encode("ascii")


def parse_manifest(data: bytes, place: str) -> dict[str, str]:
    """Return path → digest; paths are not checked beyond being printable ASCII without blanks.

    Raises:
        BundleError: names `place` and the line that breaks the profile.
    """
    if not data.endswith(b"\n"):
        raise BundleError(f"{place}: the last line has no line feed")
    lines = data[:-1].split(b"\n")
    if len(lines) > MAXIMUM_FILES:
        raise BundleError(f"{place}: lists more than {MAXIMUM_FILES} files")
    digests: dict[str, str] = {}
    previous = b""
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None and line.endswith(b"\r"):
            raise BundleError(
                f"{place}: line {number}: ends with CR LF", hint="copy a bundle byte by byte"
            )
        if match is None:
            raise BundleError(
                f"{place}: line {number}: {shown(line, 100)} is not 64 lower-case hexadecimal "
                "digits, two blanks and a path"
            )
        path = match[2]
        if path <= previous:
            problem = "is listed twice" if path == previous else "is not in bytewise order"
            raise BundleError(f"{place}: line {number}: {shown(path, 100)} {problem}")
        previous = path
        digests[path.decode("ascii", "backslashreplace")] = match[1].decode("ascii")
    return digests


def parse_payload_manifest(data: bytes) -> dict[str, str]:
    """Return path → digest of `manifest-sha256.txt`.

    Raises:
        BundleError: a line breaks the profile, or a path that no payload file may have.
    """
    place = "manifest-sha256.txt"
    digests = parse_manifest(data, place)
    for number, path in enumerate(digests, 1):
        if not is_payload_path(path):
            raise BundleError(
                f"{place}: line {number}: {shown(path, 100)} is not a path of a payload file"
            )
    return digests


def parse_tag_manifest(data: bytes) -> dict[str, str]:
    """Return the digests of the three tag files that `tagmanifest-sha256.txt` must list.

    Raises:
        BundleError: a line breaks the profile, or other files are listed.
    """
    place = "tagmanifest-sha256.txt"
    digests = parse_manifest(data, place)
    if tuple(digests) != TAGGED:
        raise BundleError(f"{place}: must list exactly {', '.join(TAGGED)}")
    return digests


def format_bag_info(info: BagInfo) -> bytes:
    """Return `bag-info.txt`."""
    return (
        f"Bag-Software-Agent: {info.agent}\n"
        f"Bagging-Date: {info.bagging_date.isoformat()}\n"
        f"External-Identifier: {info.name}\n"
        f"Kit-Bundle-Format: {BUNDLE_FORMAT}\n"
        f"Payload-Oxum: {info.payload_oxum}\n"
    ).encode("ascii")


def parse_bag_info(data: bytes) -> BagInfo:
    """Read `bag-info.txt`.

    Raises:
        BundleError: other lines than the profile's five, a bad value, an unknown bundle format.
    """
    place = "bag-info.txt"
    match = _INFO.fullmatch(data.decode("ascii", "replace"))
    if match is None:
        labels = (
            "Bag-Software-Agent, Bagging-Date, External-Identifier, Kit-Bundle-Format, Payload-Oxum"
        )
        raise BundleError(f"{place}: is not one line each of {labels}, in this form and order")
    if match["format"] != BUNDLE_FORMAT:
        raise BundleError(
            f"{place}: bundle format {match['format']} is unknown",
            hint=f"this kit reads format {BUNDLE_FORMAT}; a newer kit may read this bundle",
        )
    if not is_segment(match["name"]):
        raise BundleError(f"{place}: External-Identifier: {shown(match['name'])} is not a name")
    try:
        bagging_date = date.fromisoformat(match["date"])
    except ValueError:
        raise BundleError(f"{place}: Bagging-Date: {match['date']} is not a date") from None
    return BagInfo(
        match["agent"], bagging_date, match["name"], int(match["octets"]), int(match["files"])
    )
