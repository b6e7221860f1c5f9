"""Every file of a bundle: where it lies, and what it is called."""

import hashlib

BAG_FILES = ("bag-info.txt", "bagit.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt")
PAYLOAD = "data"
SIGNATURES = "signatures"
SIGNATURE = "signatures/vendor.sshsig"
# What a bundle's folder is called until it is sealed.
PARTIAL = ".partial-"

PLAN = "data/plan.json"
SYSTEM = "data/system.json"
ENVIRONMENT = "data/environment.json"
JOURNAL = "data/journal.json"
RESULTS = "data/derived/results.json"
CASES = "data/cases"
RUN = "run.json"
TRACE = "trace.json"


def case_folder(case: str) -> str:
    """Folder of one case."""
    return f"{CASES}/{case}"


def case_file(case: str) -> str:
    """Path of the case's outcome list."""
    return f"{case_folder(case)}/case.json"


def hlo_name(text: str) -> str:
    """File name of an HLO text: the first 16 hexadecimal digits of its SHA-256."""
    return f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.hlo.txt"


def autotune_name(text: str) -> str:
    """File name of an autotune result: the first 16 hexadecimal digits of its SHA-256.

    XLA takes the file for text because its name ends in `.txt`.
    """
    return f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.autotune.txt"


def autotune_file(case: str, name: str) -> str:
    """Path of the autotune results that `Executable.autotune` names."""
    return f"{case_folder(case)}/{name}"


def hlo_file(case: str, name: str) -> str:
    """Path of the normalised optimised HLO that `Executable.hlo` names."""
    return f"{case_folder(case)}/{name}"


def run_folder(case: str, device: str, number: int) -> str:
    """Folder of one measured run: `RUN`, `TRACE`, and the tables of `kit.trace`."""
    return f"{case_folder(case)}/runs/{device}-{number:02d}"


def counters_file(case: str, device: str) -> str:
    """Path of the hardware counters of one case on one device."""
    return f"{case_folder(case)}/counters/{device}.json"
