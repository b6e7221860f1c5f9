"""Which files are not what the sealed manifests say? Asked before anything is parsed."""

from collections.abc import Iterator

from kit.bundle.layout import BAG_FILES
from kit.bundle.reader import Container, IntegrityFault
from kit.checker.rule import Finding

_REQUIRED = {
    "altered": "SHA-256 {expected}, by {manifest}",
    "missing": "a file with SHA-256 {expected}, by {manifest}",
    "unlisted": "only files that {manifest} lists",
    "payload_oxum": "{expected}, the bytes and files that bag-info.txt counts",
}


def integrity_findings(container: Container) -> Iterator[Finding]:
    """Yield one finding for each file that differs; place is the file's path."""
    for fault in container.faults:
        yield Finding(fault.path, _found(fault), _required(fault))


def _found(fault: IntegrityFault) -> str:
    if fault.kind == "altered":
        return f"altered: SHA-256 {fault.found}"
    if fault.kind == "unlisted":
        return f"unlisted: SHA-256 {fault.found}"
    return f"{fault.kind}: {fault.found}"


def _required(fault: IntegrityFault) -> str:
    manifest = "tagmanifest-sha256.txt" if fault.path in BAG_FILES else "manifest-sha256.txt"
    form = _REQUIRED.get(fault.kind, "{expected}")
    return form.format(expected=fault.expected, manifest=manifest)
