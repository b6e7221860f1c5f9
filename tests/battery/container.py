"""Attacks on the bundle as files: bytes, names, links, forms that a reader may trip over."""

import json
import os
import re

from battery.bases import GUIDELINE, base
from battery.registry import REFUSED, on_files
from kit.bundle import layout

DATA = "data"
RUN = base("guideline").cases[GUIDELINE].runs[0].path


def _edit(path, change):
    path.write_bytes(change(path.read_bytes()))


DOCUMENTS = (
    layout.PLAN,
    layout.SYSTEM,
    layout.ENVIRONMENT,
    layout.JOURNAL,
    layout.RESULTS,
    f"{RUN}/run.json",
    f"{RUN}/trace.json",
)
TABLES = tuple(
    f"{RUN}/{n}.csv"
    for n in ("windows", "clocks", "power", "energy", "buffers", "outputs", "kernels")
)


def _files(names):
    return {name.rsplit("/", 1)[-1]: {"file": name} for name in names}


@on_files("GK001", "M26", sealed=False, variants=_files(DOCUMENTS + TABLES))
def digit_changed_after_sealing(folder, file):
    """One digit is another one, and the manifests were left alone."""
    data = (folder / file).read_bytes()
    place = next(i for i in range(len(data) - 1, -1, -1) if data[i : i + 1].isdigit())
    new = b"1" if data[place : place + 1] != b"1" else b"2"
    _edit(folder / file, lambda d: d[:place] + new + d[place + 1 :])


@on_files("GK001", "M26", sealed=False, variants=_files((*TABLES[:4], layout.RESULTS)))
def byte_appended_after_sealing(folder, file):
    """A byte more than was sealed."""
    _edit(folder / file, lambda d: d + b"\n")


@on_files("GK001", "M26", sealed=False, variants=_files((f"{RUN}/clocks.csv", f"{RUN}/power.csv")))
def file_deleted_after_sealing(folder, file):
    """A file that the manifest lists is gone."""
    (folder / file).unlink()


@on_files("GK001", "M26", sealed=False)
def file_added_after_sealing(folder):
    """A file that no manifest lists."""
    (folder / DATA / "notes.txt").write_text("trust me\n")


@on_files(
    "GK002",
    "M26",
    variants={
        "notes": {"name": "notes.txt"},
        "second_run": {"name": "cases/old-run.json"},
        "script": {"name": "verify.sh"},
    },
)
def file_without_a_meaning(folder, name):
    """A sealed file that no rule reads."""
    (folder / DATA / name).write_text("trust me\n")


@on_files(
    REFUSED,
    "attack",
    sealed=False,
    variants={
        "out": {"target": "/etc/passwd"},
        "in": {"target": "plan.json"},
        "folder": {"target": "/etc"},
    },
)
def symbolic_link(folder, target):
    """A link stands where a file should."""
    (folder / DATA / "linked.json").symlink_to(target)


@on_files(REFUSED, "attack", sealed=False)
def named_pipe(folder):
    """A pipe that would never end."""
    os.mkfifo(folder / DATA / "pipe.json")


@on_files(REFUSED, "attack", sealed=False)
def hard_link(folder):
    """Two names of one file."""
    os.link(folder / layout.PLAN, folder / DATA / "plan2.json")


@on_files(
    REFUSED,
    "attack",
    variants={
        "../": {"name": "../x.json"},
        "absolute": {"name": "/etc/passwd"},
        "backslash": {"name": "data\\x.json"},
        "control": {"name": "data/x\x1b[31m.json"},
    },
    sealed=False,
)
def manifest_leads_out(folder, name):
    """A line of the manifest names a path that must not be followed."""
    _edit(folder / "manifest-sha256.txt", lambda d: d + f"{'0' * 64}  {name}\n".encode())


@on_files(
    REFUSED,
    "attack",
    variants={
        "manifest": {"name": "manifest-sha256.txt"},
        "tagmanifest": {"name": "tagmanifest-sha256.txt"},
        "bagit": {"name": "bagit.txt"},
        "info": {"name": "bag-info.txt"},
    },
    sealed=False,
)
def tag_file_deleted(folder, name):
    """A file that makes the folder a bundle is gone."""
    (folder / name).unlink()


@on_files(REFUSED, "attack", sealed=False)
def manifest_line_twice(folder):
    """A file has two digests, of which a reader may take either."""
    _edit(folder / "manifest-sha256.txt", lambda d: d + d.splitlines(keepends=True)[0])


def _json(folder, file, change):
    document = json.loads((folder / file).read_text())
    change(document)
    (folder / file).write_text(json.dumps(document))


def _raw(old, new):
    def change(data):
        assert old in data
        return data.replace(old, new, 1)

    return change


@on_files(
    REFUSED,
    "attack",
    variants={
        "duplicate_key": {"change": _raw(b'"edition"', b'"edition": "2026.1",\n "edition"')},
        "nan": {"change": _raw(b'"seed": ', b'"seed": NaN, "x": ')},
        "infinity": {"change": _raw(b'"timeout_s": ', b'"timeout_s": 1e999, "x": ')},
        "text_for_number": {"change": _raw(b'"replicates": 6', b'"replicates": "6"')},
        "true_for_number": {"change": _raw(b'"replicates": 6', b'"replicates": true')},
        "unknown_key": {"change": _raw(b'"edition"', b'"waived": ["GK502"],\n "edition"')},
        "trailing": {"change": lambda d: d + b"{}"},
        "byte_order_mark": {"change": lambda d: b"\xef\xbb\xbf" + d},
        "utf16": {"change": lambda d: d.decode().encode("utf-16")},
        "not_utf8": {"change": _raw(b"gemm-kit", b"gemm\xff\xfe")},
        "deep": {"change": lambda d: b"[" * 100_000 + b"]" * 100_000},
        "long_number": {"change": _raw(b'"seed": ', b'"seed": ' + b"9" * 100_000)},
        "empty": {"change": lambda d: b""},
        "lone_surrogate": {"change": _raw(b'"gemm-kit"', b'"\\ud800"')},
    },
)
def plan_malformed(folder, change):
    """The plan is no document of its schema, or one that readers understand differently."""
    _edit(folder / layout.PLAN, change)


def _launches(form):
    """The launches of the first window, digits that `form` has at its `%b`, written so."""

    def change(data):
        found, count = re.subn(rb"(?<=\n0,0,)\d+", lambda digits: form % digits[0], data, count=1)
        assert count == 1
        return found

    return change


@on_files(
    REFUSED,
    "attack",
    variants={
        "float": {"change": _launches(b"%b.5")},
        "negative": {"change": _launches(b"-%b")},
        "exponent": {"change": _launches(b"%be1")},
        "hexadecimal": {"change": _launches(b"0x%b")},
        "leading_zero": {"change": _launches(b"0%b")},
        "spaced": {"change": _launches(b" %b")},
        "quoted": {"change": _launches(b'"%b"')},
        "empty_cell": {"change": _launches(b"%.0b")},
        "formula": {"change": _launches(b"=1+%b")},
        "huge": {"change": _launches(b"%b" + b"9" * 20)},
        "arabic_digits": {"change": _launches(b"%b" + "٣".encode())},
        "ragged": {"change": _launches(b"%b,1")},
        "column_twice": {"change": _raw(b"phase,first_launch", b"phase,phase")},
        "columns_exchanged": {"change": _raw(b"phase,first_launch", b"first_launch,phase")},
        "column_unknown": {"change": _raw(b"phase,", b"faze,")},
        "carriage_returns": {"change": lambda d: d.replace(b"\n", b"\r\n")},
        "no_last_newline": {"change": lambda d: d[:-1]},
        "null_byte": {"change": _launches(b"%b\x00")},
        "compressed": {"change": lambda d: b"\x1f\x8b" + d},
        "empty": {"change": lambda d: b""},
        "zero_launches": {"change": _launches(b"%.0b0")},
        "third_phase": {"change": _raw(b"\n0,0,", b"\n2,0,")},
        "out_of_order": {
            "change": lambda d: b"\n".join([d.splitlines()[0], *reversed(d.splitlines()[1:]), b""])
        },
    },
)
def windows_malformed(folder, change):
    """The windows are no table of their contract, or one that readers understand differently."""
    _edit(folder / f"{RUN}/windows.csv", change)


@on_files(REFUSED, "attack", variants=_files(TABLES[1:4]))
def row_repeated(folder, file):
    """A row stands twice in a series."""

    def twice(data):
        lines = data.splitlines(keepends=True)
        return b"".join([*lines[:5], lines[4], *lines[5:]])

    _edit(folder / file, twice)


@on_files(
    REFUSED,
    "attack",
    variants={
        "run": {"file": f"{RUN}/run.json"},
        "trace": {"file": f"{RUN}/trace.json"},
        "journal": {"file": layout.JOURNAL},
        "claims": {"file": layout.RESULTS},
        "environment": {"file": layout.ENVIRONMENT},
        "system": {"file": layout.SYSTEM},
    },
)
def document_with_a_word_too_many(folder, file):
    """A document holds a key that its schema does not know."""
    _json(folder, file, lambda found: found.update(verdict="compliant"))


@on_files(
    REFUSED,
    "attack",
    variants={
        "run": {"file": f"{RUN}/run.json"},
        "journal": {"file": layout.JOURNAL},
        "claims": {"file": layout.RESULTS},
        "environment": {"file": layout.ENVIRONMENT},
        "system": {"file": layout.SYSTEM},
        "plan": {"file": layout.PLAN},
    },
)
def document_deleted(folder, file):
    """A document that every bundle has is gone, and the manifests know nothing of it."""
    (folder / file).unlink()


@on_files(
    {"nul": "GK003", "latin": REFUSED},
    "attack",
    variants={"nul": {"data": b"\x00" * 64}, "latin": {"data": b"\xe9"}},
)
def program_not_text(folder, data):
    """The program's file is no text."""
    path = next((folder / DATA).rglob("*.hlo.txt"))
    _edit(path, lambda old: old + data)


@on_files(
    REFUSED,
    "attack",
    variants={
        "hlo": {"glob": "*.hlo.txt", "size": 9 * 2**20},
        "autotune": {"glob": "*.autotune.txt", "size": 2 * 2**20},
    },
)
def text_too_long(folder, glob, size):
    """A text is longer than any honest one."""
    path = next((folder / DATA).rglob(glob))
    _edit(path, lambda old: old + b"\n" * size)


@on_files("GK002", "attack", variants={"hand_written": {"name": "verdict.json"}})
def verdict_written_by_hand(folder, name):
    """A verdict that says compliant lies in the bundle."""
    (folder / DATA / name).write_text('{"judgement": "compliant"}\n')
