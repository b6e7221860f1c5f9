"""Write a new bundle so that it is either whole and sealed under its name, or not there.

Everything goes into `.partial-<name>/` first. Sealing reads it all back as the checker will,
looks for secrets, writes the manifests last and renames the folder. Worker processes fill one
run's folder of a partial bundle with `write_document` and `write_table`.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from kit import __version__
from kit.bundle.container import Container
from kit.bundle.documents import format_document
from kit.bundle.durable import (
    prune,
    replace,
    require_outside_bundles,
    settle,
    sync_folder,
    writable,
    write_new,
)
from kit.bundle.foreign_text import shown
from kit.bundle.layout import BAG_FILES, PARTIAL, PAYLOAD
from kit.bundle.manifest import (
    BAGIT,
    BagInfo,
    format_bag_info,
    format_manifest,
    is_payload_path,
    is_segment,
    sha256,
)
from kit.bundle.reader import parse
from kit.bundle.secret_scan import find_leaks, own_names
from kit.bundle.tables import dump
from kit.bundle.walk import read_tree
from kit.errors import BundleError, KitError, MeasurementError, UnwritableError, UsageError
from kit.evidence import SystemDescription
from kit.plan import RunPlan
from kit.trace import TableContract

_SHOWN_LEAKS = 5


def write_document(path: Path, record: object) -> None:
    """Write one document, in place of an earlier one if there is one.

    Raises:
        UsageError: a plan or system description that the checker would refuse, or a plan that
            gives a secret away: that must be known before anything is measured.
        KitError: any other document that the checker would refuse.
        MeasurementError: the file cannot be written.
    """
    declared = isinstance(record, RunPlan | SystemDescription)
    with _refused_as(UsageError if declared else KitError, path.parent):
        data = format_document(record, path.name)
    if isinstance(record, RunPlan) and (leaks := _leaks({path.name: data}, record)):
        raise UsageError(f"{path.parent}/{leaks}", hint="a bundle is for strangers to read")
    replace(path, data)


def write_table(
    folder: Path, contract: TableContract, columns: Mapping[str, NDArray[np.int64]]
) -> None:
    """Write one new table into `folder`; `columns` holds int64 vectors of one length.

    Raises:
        KitError: the columns break the contract.
        MeasurementError: the file exists already or cannot be written.
    """
    with _refused_as(KitError, folder):
        data = dump(contract, columns)
    write_new(folder / contract.file, data)


@contextmanager
def _refused_as(kind: type[KitError], folder: Path) -> Iterator[None]:
    try:
        yield
    except BundleError as error:
        hint = error.hint or "the checker would refuse this"
        raise kind(f"{folder}/{error.problem}", hint=hint) from None


def require_free(parent: Path, name: str) -> None:
    """Refuse a place where no bundle can be made.

    Raises:
        UsageError: `name` is no bundle name, the place is in a bundle, or something lies there.
    """
    if not is_segment(name):
        raise UsageError(
            f"bundle name {name!r} will not do",
            hint="lower-case letters, digits, . _ -, at most 64",
        )
    require_outside_bundles(parent / name)
    if os.path.lexists(parent / name):
        raise UsageError(f"{parent / name} exists", hint="choose another name or move it away")


class BundleWriter:
    """A bundle being written below `parent`; nothing bears its name before `seal`.

    Raises:
        UsageError: `name` is no bundle name, or the bundle or an unfinished one exists.
        MeasurementError: `parent` cannot be written to.
    """

    def __init__(self, parent: Path, name: str, bagging_date: date | None = None) -> None:
        require_free(parent, name)
        self.path = parent / name
        self.partial = parent / f"{PARTIAL}{name}"
        self._name = name
        self._date = bagging_date
        self._made = [folder for folder in (parent, *parent.parents) if not folder.exists()]
        try:
            with writable(parent):
                parent.mkdir(parents=True, exist_ok=True)
            with writable(self.partial):
                self.partial.mkdir()
        except UnwritableError as error:
            if isinstance(error.__cause__, FileExistsError) and self.partial.exists():
                raise UsageError(
                    f"{self.partial} exists: a run is writing it or did not finish it",
                    hint="wait for that run, or delete the folder",
                ) from None
            self._remove_made()
            raise

    def folder(self, relative: str) -> Path:
        """Return the folder at `relative` (`data/...`), made if it is not there."""
        path = self._inside(relative)
        with writable(path):
            path.mkdir(parents=True, exist_ok=True)
        return path

    def write_record(self, relative: str, record: object) -> None:
        """Write the document at `relative`; see `write_document`."""
        path = self._inside(relative)
        self.folder(str(PurePosixPath(relative).parent))
        write_document(path, record)

    def write_table(
        self,
        relative_folder: str,
        contract: TableContract,
        columns: Mapping[str, NDArray[np.int64]],
    ) -> None:
        """Write one new table into the folder `relative_folder`; see the function."""
        write_table(self.folder(relative_folder), contract, columns)

    def write_text(self, relative: str, text: str) -> None:
        """Write one new UTF-8 text file."""
        path = self._inside(relative)
        self.folder(str(PurePosixPath(relative).parent))
        write_new(path, text.encode("utf-8"))

    def abandon(self) -> None:
        """Delete everything written, and the folders made for it where they hold nothing else."""
        shutil.rmtree(self.partial, ignore_errors=True)
        self._remove_made()

    def seal(self) -> Path:
        """Make the bundle whole and give it its name; returns its path.

        Raises:
            KitError: the checker could not read what was written.
            MeasurementError: a file gives a secret away, or writing failed. The unsealed bundle
                stays at `partial`.
        """
        with writable(self.partial):
            for tag_file in BAG_FILES:
                (self.partial / tag_file).unlink(missing_ok=True)
            prune(self.partial / PAYLOAD)
            with _refused_as(KitError, self.partial):
                files = self._readable_files()
            self._write_tag_files(files)
            settle(self.partial)
            if os.path.lexists(self.path):
                raise MeasurementError(f"{self.path} exists", hint=f"unsealed: {self.partial}")
            self.partial.rename(self.path)
            sync_folder(self.path.parent)
        return self.path

    def _remove_made(self) -> None:
        with suppress(OSError):
            for folder in self._made:
                folder.rmdir()

    def _inside(self, relative: str) -> Path:
        if relative != PAYLOAD and not is_payload_path(relative):
            raise KitError(f"{relative!r} is not a path of a bundle's payload")
        return self.partial / relative

    def _readable_files(self) -> dict[str, bytes]:
        """Return the payload, once the checker's own reader takes it and it holds no secret."""
        files = read_tree(self.partial, _refuse_all_but_payload)
        bundle = parse(Container(self._name, "", files, ()))
        if bundle.unknown_files:
            raise BundleError(f"{bundle.unknown_files[0]}: has no meaning in a bundle")
        if leaks := _leaks(files, bundle.plan):
            raise MeasurementError(
                f"not sealed: {leaks}",
                hint=f"remove its source and run again; unsealed: {self.partial}",
            )
        return files

    def _write_tag_files(self, files: dict[str, bytes]) -> None:
        bagging_date = self._date or datetime.now(UTC).date()
        info = BagInfo(
            f"gemm-kit {__version__}",
            bagging_date,
            self._name,
            octets=sum(map(len, files.values())),
            files=len(files),
        )
        tags = {
            "bag-info.txt": format_bag_info(info),
            "bagit.txt": BAGIT,
            "manifest-sha256.txt": format_manifest(
                {path: sha256(data) for path, data in files.items()}
            ),
        }
        digests = {path: sha256(data) for path, data in tags.items()}
        tags["tagmanifest-sha256.txt"] = format_manifest(digests)
        for path, data in tags.items():
            (self.partial / path).write_bytes(data)


def _leaks(files: Mapping[str, bytes], plan: RunPlan) -> str:
    """Return where `files` hold what, in words, "" if nowhere."""
    declared = (plan.submission.submitter, plan.submission.system_id)
    leaks = list(find_leaks(files, own_names(), declared))
    places = [f"{leak.path}:{leak.line} holds {leak.what}" for leak in leaks[:_SHOWN_LEAKS]]
    more = f" and {len(leaks) - _SHOWN_LEAKS} more" if len(leaks) > _SHOWN_LEAKS else ""
    return ", ".join(places) + more


def _refuse_all_but_payload(names: list[str]) -> None:
    for name in names:
        if name != PAYLOAD:
            raise BundleError(f"{shown(name)}: has no place at the top of a bundle")
