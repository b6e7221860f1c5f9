"""From a container's bytes to a `Bundle`: everything in its place, every break with its message."""

import json
import re
import shutil

import pytest

from kit.bundle import layout, reader
from kit.bundle.reader import parse, read_container
from kit.errors import BundleError
from kit.number_format import FORMATS

DOCUMENTS = [layout.PLAN, layout.SYSTEM, layout.ENVIRONMENT, layout.JOURNAL, layout.RESULTS]


@pytest.fixture
def parsed(bundle, reseal):
    """Parse the bundle after `edit(path)` changed it and the manifests were made true again."""

    def after(edit):
        edit(bundle)
        reseal(bundle)
        container = read_container(bundle)
        assert container.faults == ()
        return parse(container)

    return after


@pytest.fixture
def refusal(parsed):
    def after(edit):
        with pytest.raises(BundleError) as caught:
            parsed(edit)
        message = str(caught.value)
        assert message.isascii()
        assert message.isprintable()
        assert len(message) < 400
        return message

    return after


def edited(path, change):
    """An edit that changes one JSON document."""

    def edit(root):
        document = json.loads((root / path).read_bytes())
        change(document)
        (root / path).write_text(json.dumps(document))

    return edit


def test_everything_is_read(pristine, sample):
    container = read_container(pristine)
    bundle = parse(container)
    assert bundle.container is container
    assert bundle.plan == sample.plan
    assert bundle.system == sample.system
    assert bundle.environment == sample.environment
    assert bundle.journal == sample.journal
    assert bundle.claims == sample.results
    assert bundle.unknown_files == ()
    assert list(bundle.cases) == [sample.case]
    case = bundle.cases[sample.case]
    assert case.path == layout.case_folder(sample.case)
    assert case.record.id == sample.case
    assert case.hlo == {sample.run.executable.hlo: sample.hlo}
    assert case.autotune == {sample.run.executable.autotune: sample.autotune}
    assert [run.path for run in case.runs] == [
        layout.run_folder(sample.case, "cpu", number) for number in (1, 2)
    ]
    assert case.runs[0].document == sample.run
    tables = case.runs[0].tables
    assert set(tables) == {contract.file for contract in sample.tables}
    for contract, columns in sample.tables.items():
        found = tables[contract.file].columns
        assert {name: values.tolist() for name, values in found.items()} == {
            name: list(values) for name, values in columns.items()
        }


def test_the_auditor_is_not_in_the_bundle(pristine):
    bundle = parse(read_container(pristine))
    assert bundle.auditor == reader.Auditor(challenge=None, deep=False)


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_document_missing(refusal, path):
    assert refusal(lambda root: (root / path).unlink()) == f"{path}: is missing"


def test_a_case_without_its_record(refusal, sample):
    path = layout.case_file(sample.case)
    assert refusal(lambda root: (root / path).unlink()) == f"{path}: is missing"


def test_a_run_without_its_record(refusal, sample):
    path = f"{sample.run_folder}/run.json"
    assert refusal(lambda root: (root / path).unlink()) == f"{path}: is missing"


def test_absent_tables_are_absent(parsed, sample):
    bundle = parsed(lambda root: (root / sample.run_folder / "host.csv").unlink())
    first, second = bundle.cases[sample.case].runs
    assert "host.csv" not in first.tables
    assert "host.csv" in second.tables


def test_a_run_removed(parsed, sample):
    bundle = parsed(lambda root: shutil.rmtree(root / sample.run_folder))
    assert [run.document.number for run in bundle.cases[sample.case].runs] == [2]
    assert [outcome.number for outcome in bundle.cases[sample.case].record.runs] == [1, 2]


def test_a_folder_that_contradicts_its_document_is_kept_visible(parsed, sample):
    other = layout.run_folder(sample.case, "gpu-0123456789ab", 7)
    bundle = parsed(lambda root: (root / sample.run_folder).rename(root / other))
    runs = bundle.cases[sample.case].runs
    assert [(run.path, run.document.device, run.document.number) for run in runs] == [
        (layout.run_folder(sample.case, "cpu", 2), "cpu", 2),
        (other, "cpu", 1),
    ]


def test_a_case_folder_that_contradicts_its_document_is_kept_visible(parsed, sample):
    bundle = parsed(
        lambda root: (root / layout.case_folder(sample.case)).rename(root / "data/cases/other")
    )
    assert list(bundle.cases) == ["other"]
    assert bundle.cases["other"].record.id == sample.case


UNKNOWN = (
    "data/notes.txt",
    "data/model.pkl",
    "data/plan.yaml",
    "data/results.json",
    "data/run.json",
    "data/derived/more.json",
    "data/cases/loose.json",
    "data/cases/x/notes.txt",
    "data/cases/x/runs/cpu-01.json",
    "data/cases/{case}/0a0a.hlo.txt",
    "data/cases/{case}/0a0a.autotune.txt",
    "data/cases/{case}/0b0b0b0b0b0b0b0b.autotune.textproto",
    "data/cases/{case}/runs/notes.txt",
    "data/cases/{case}/runs/cpu-01/code.py",
    "data/cases/{case}/runs/cpu-01/more/windows.csv",
    "data/cases/{case}/runs/cpu-1/windows.csv",
    "data/cases/{case}/runs/gpu-01/windows.csv",
    "data/cases/{case}/runs/tpu-0123456789ab-01/windows.csv",
)


@pytest.mark.parametrize("path", UNKNOWN)
def test_unknown_files_are_listed_and_not_opened(parsed, sample, path):
    path = path.format(case=sample.case)

    def edit(root):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"\x80\x04cos\nsystem\n")

    bundle = parsed(edit)
    assert bundle.unknown_files == (path,)
    assert list(bundle.cases) == [sample.case]


def test_a_plan_that_no_machine_could_run(refusal):
    def change(plan):
        plan["cases"][0]["number_format"] = "fp7"

    assert refusal(edited(layout.PLAN, change)) == (
        f"data/plan.json: number_format 'fp7' is unknown (known: {', '.join(FORMATS)})"
    )


def test_a_plan_with_a_case_twice(refusal):
    def change(plan):
        plan["cases"] *= 2

    assert refusal(edited(layout.PLAN, change)).startswith("data/plan.json: suite.cases is ")


def test_a_whole_float_for_a_count(refusal):
    def change(plan):
        plan["seed"] = 7.0

    assert refusal(edited(layout.PLAN, change)) == "data/plan.json: seed: must be a whole number"


@pytest.mark.parametrize("key", ["__proto__", "_target_", "${oc.env:HOME}", "$ref", "$schema"])
def test_unknown_keys(refusal, key):
    def change(system):
        system[key] = "file:///etc/passwd"

    assert refusal(edited(layout.SYSTEM, change)) == (
        f"data/system.json: $: must not have '{key}', found an object of 18 keys"
    )


def test_control_characters_never_get_to_a_pattern(refusal):
    def change(journal):
        journal["entries"][1]["device"] = "cpu\n"

    assert refusal(edited(layout.JOURNAL, change)) == (
        r"data/journal.json: the text 'cpu\n' holds the character U+000A"
    )


def test_a_table_that_breaks_its_contract(refusal, sample):
    path = f"{sample.run_folder}/windows.csv"

    def edit(root):
        lines = (root / path).read_text().splitlines(keepends=True)
        lines[3] = lines[3].replace(",", ",-", 1)
        (root / path).write_text("".join(lines))

    assert refusal(edit) == (
        f"{path}: row 3: column first_launch holds '-'; only digits may stand there"
    )


def test_a_table_with_another_tables_columns(refusal, sample):
    folder = sample.run_folder

    def edit(root):
        shutil.copy(root / folder / "windows.csv", root / folder / "host.csv")

    assert refusal(edit) == f"{folder}/host.csv: header: 'phase' is not a column of this table"


def test_hlo_that_is_not_text(refusal, sample):
    path = layout.hlo_file(sample.case, sample.run.executable.hlo)
    message = refusal(lambda root: (root / path).write_bytes(b"HloModule \xff"))
    assert message == f"{path}: not UTF-8 at byte 10"


def test_hlo_that_is_too_long(refusal, sample):
    path = layout.hlo_file(sample.case, sample.run.executable.hlo)
    message = refusal(lambda root: (root / path).write_bytes(b"a" * (8 * 2**20 + 1)))
    assert message == f"{path}: has 8388609 bytes; 8388608 are allowed"


def test_autotune_results_that_are_not_text_or_too_long(refusal, sample):
    path = layout.autotune_file(sample.case, sample.run.executable.autotune)
    message = refusal(lambda root: (root / path).write_bytes(b"entries \xff"))
    assert message == f"{path}: not UTF-8 at byte 8"
    message = refusal(lambda root: (root / path).write_bytes(b"a" * (2**20 + 1)))
    assert message == f"{path}: has 1048577 bytes; 1048576 are allowed"


def test_documents_that_are_too_long_together(refusal, monkeypatch):
    monkeypatch.setattr(reader, "MAXIMUM_DOCUMENT_BYTES", 5)
    message = refusal(lambda _: None)
    assert re.fullmatch(r"its documents have \d+ bytes; 5 are allowed", message)


def test_a_lack_of_memory_is_the_processs_not_the_bundles(pristine, monkeypatch):
    def exhausted(_):
        raise MemoryError

    monkeypatch.setattr("kit.bundle.schema.decoder", lambda *_: exhausted)
    with pytest.raises(MemoryError):
        parse(read_container(pristine))


@pytest.mark.parametrize("error", [RecursionError, OverflowError])
def test_exhaustion_in_validation_is_a_bundle_error(pristine, monkeypatch, error):
    def exhausted(_):
        raise error

    monkeypatch.setattr("kit.bundle.schema.decoder", lambda *_: exhausted)
    with pytest.raises(BundleError, match=r"^data/plan\.json: too large to validate$"):
        parse(read_container(pristine))


def test_integer_beyond_float_in_a_numbers_place(refusal):
    def edit(root):
        text = (root / layout.RESULTS).read_text()
        (root / layout.RESULTS).write_text(text.replace("0.000123", "9" * 400))

    assert refusal(edit).startswith("data/derived/results.json: the whole number '999")


def test_nothing_is_imported_or_fetched(pristine, monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("went to the network"))
    monkeypatch.setattr("subprocess.Popen.__init__", lambda *_, **__: pytest.fail("ran a program"))
    parse(read_container(pristine))


def test_tables_of_more_numbers_than_fit_into_memory_are_refused(parsed, refusal, monkeypatch):
    """Few digits a number: 491 MiB of them took 2.5 GB."""
    parsed(lambda _: None)
    monkeypatch.setattr(reader, "MAXIMUM_CELLS", 100)
    message = refusal(lambda _: None)
    assert message.startswith("its tables hold ")
    assert message.endswith(" numbers; 100 are allowed")


def test_programs_of_more_bytes_than_can_be_read_are_refused(refusal, monkeypatch):
    monkeypatch.setattr(reader, "MAXIMUM_HLO_TOTAL_BYTES", 5)
    message = refusal(lambda _: None)
    assert message.startswith("its programs have ")
    assert message.endswith(" bytes; 5 are allowed")


def test_programs_of_more_lines_than_can_be_followed_are_refused(refusal, monkeypatch):
    monkeypatch.setattr(reader, "MAXIMUM_HLO_LINES", 1)
    message = refusal(lambda _: None)
    assert message.startswith("its programs have ")
    assert message.endswith(" lines; 1 are allowed")


def test_more_runs_than_a_plan_may_ask_for_are_refused(refusal, monkeypatch):
    monkeypatch.setattr(reader, "MOST_RUNS", 1)
    message = refusal(lambda _: None)
    assert message.startswith("it holds ")
    assert message.endswith(" runs; 1 are allowed")
