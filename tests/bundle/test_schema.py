import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import kit
from kit.bundle import schema
from kit.errors import BundleError
from kit.records import to_json

ROOT = Path(kit.__file__).parents[1]


@pytest.fixture
def run(sample):
    return to_json(sample.run)


def message(name, document):
    with pytest.raises(BundleError) as caught:
        schema.validate(name, document, "data/run.json")
    text = str(caught.value)
    assert text.startswith("data/run.json: $")
    assert text.isascii()
    assert text.isprintable()
    return text.removeprefix("data/run.json: ")


def test_a_sound_document_passes_without_the_slow_way(run, monkeypatch):
    monkeypatch.setattr(schema, "validator", None)
    schema.validate("run", run, "x")


def test_wrong_type(run):
    run["rotation"]["sets"] = "many"
    assert message("run", run) == "$.rotation.sets: must be of type integer, found 'many'"


def test_two_types(run):
    run["dispatch"]["pilot_enqueue_ns"] = True
    assert message("run", run) == (
        "$.dispatch.pilot_enqueue_ns: must be of type integer or null, found true"
    )


def test_missing_key(run):
    del run["timing"]["controls"][0]["launches"]
    assert message("run", run) == (
        "$.timing.controls[0]: must have 'launches', found an object of 2 keys"
    )


def test_unknown_key(run):
    run["phases"]["\x1b[2J"] = 1
    assert message("run", run) == (r"$.phases: must not have '\x1b[2J', found an object of 9 keys")


def test_enumeration(run):
    run["timing"]["method"] = "stopwatch"
    assert message("run", run) == (
        "$.timing.method: must be one of 'cuda_events', 'external_profiler', 'host_clock', "
        "found 'stopwatch'"
    )


def test_number_out_of_range(run):
    run["number"] = 0
    assert message("run", run) == "$.number: must satisfy minimum 1, found 0"


def test_pattern(run):
    run["executable"]["hlo"] = "../../../x.hlo.txt"
    assert message("run", run) == (
        "$.executable.hlo: must satisfy pattern '^[0-9a-f]{16}\\\\.hlo\\\\.txt$', "
        "found '../../../x.hlo.txt'"
    )


def test_name_of_a_map_key(run):
    run["executable"]["options"]["${oc.env:HOME}"] = "x"
    assert message("run", run).startswith("$.executable.options: must satisfy pattern ")


def test_value_under_a_foreign_key(run):
    run["executable"]["options"]["xla.a-b"] = 5
    assert message("run", run) == (
        "$.executable.options['xla.a-b']: must be of type string, found 5"
    )


def test_not_an_object():
    for document in (None, 1, [], "x", [{}]):
        assert message("run", document).startswith("$: must be of type object, found ")


def test_many_faults_are_counted_up_to_a_limit(run):
    run["number"] = 0
    run["case"] = ""
    assert re.search(r"; [34] faults in all$", message("run", run))
    run["executable"]["options"] = {f"k{i}": 0 for i in range(200)}
    assert message("run", run).endswith("; 50 faults or more in all")


def test_long_texts_stay_short_in_messages(run):
    run["case"] = "X" * 5_000_000
    started = time.monotonic()
    assert len(message("run", run)) < 200
    assert time.monotonic() - started < 1


def test_a_schema_named_by_the_document_is_text(run, monkeypatch):
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("went to the network"))
    run["$ref"] = run["$schema"] = "http://169.254.169.254/latest"
    assert message("run", run).startswith("$: must not have '$")


def test_deep_documents_are_refused_not_crashed(run):
    deep = []
    for _ in range(100_000):
        deep = [deep]
    run["case"] = deep
    with pytest.raises(BundleError, match="x: too large to validate"):
        schema.validate("run", run, "x")


def test_the_first_fault_is_the_same_in_every_process(tmp_path):
    """Names in a mapping are looked at in their order, not in that of the process's hashes."""
    code = (
        "from kit.bundle import schema\n"
        "from kit.errors import BundleError\n"
        "document = {name: [1] for name in 'qwertyuiopasdfgh'}\n"
        "packages = {'$schema': 'https://json-schema.org/draft/2020-12/schema', '$id': 'x',\n"
        "            'type': 'object', 'maxProperties': 99,\n"
        "            'additionalProperties': {'type': 'string'}}\n"
        "schema.documents()['run'] = packages\n"
        "try:\n"
        "    schema.validate('run', document, 'x')\n"
        "except BundleError as error:\n"
        "    print(error)\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for seed in "123456"
    }  # fmt: skip
    (line,) = said
    assert line.startswith("x: $.a: must be of type string")
