import json
import os
from pathlib import Path

import pytest

from kit.checker.verdict import Waiver
from kit.checker.waivers import read_waivers
from kit.errors import UsageError

DIGEST = "ab" * 32
GOOD = {"code": "GK602", "bundle": DIGEST, "reason": "two GPUs only"}


def read(tmp_path, document):
    path = tmp_path / "waivers.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return read_waivers(path)


def test_read(tmp_path):
    assert read(tmp_path, {"waivers": [GOOD]}) == (Waiver(**GOOD),)
    assert read(tmp_path, {"waivers": []}) == ()
    of_a_round = GOOD | {"code": "GK702"}
    assert read(tmp_path, {"waivers": [of_a_round]}) == (Waiver(**of_a_round),)


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("{", "not JSON"),
        ('{"waivers": [], "waivers": []}', "stands twice"),
        ([GOOD], "one key waivers"),
        ({"waivers": [GOOD], "all": True}, "one key waivers"),
        ({"waivers": GOOD}, "waivers: must be a list"),
        ({"waivers": [GOOD | {"until": 1}]}, "waivers[0].until: unknown key"),
        ({"waivers": [GOOD, {"code": "GK602", "bundle": DIGEST}]}, "waivers[1].reason: missing"),
        ({"waivers": [GOOD | {"code": "GK60"}]}, "waivers[0].code"),
        ({"waivers": [GOOD | {"code": "*"}]}, "waivers[0].code"),
        ({"waivers": [GOOD | {"code": "gk602"}]}, "no rule 'gk602' (did you mean GK602?)"),
        ({"waivers": [GOOD | {"code": "GK699"}]}, "there is no rule 'GK699' (did you mean GK6"),
        ({"waivers": [GOOD | {"code": "GK001"}]}, "GK001 cannot be waived"),
        ({"waivers": [GOOD | {"bundle": "ab"}]}, "waivers[0].bundle"),
        ({"waivers": [GOOD | {"bundle": None}]}, "waivers[0].bundle: must be text"),
        ({"waivers": [GOOD | {"reason": "  "}]}, "waivers[0].reason"),
        ({"waivers": [GOOD | {"reason": "x" * 2001}]}, "waivers[0].reason"),
    ],
)
def test_refused(tmp_path, document, problem):
    with pytest.raises(UsageError) as caught:
        read(tmp_path, document)
    assert problem in str(caught.value)
    assert "waivers.json" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_file(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        read_waivers(tmp_path / "missing.json")


def test_a_device_without_an_end_is_not_read_whole():
    with pytest.raises(UsageError, match="a document may have 4194304"):
        read_waivers(Path("/dev/zero"))


def test_what_a_shell_pipes_in_is_read():
    source, sink = os.pipe()
    os.write(sink, b'{"waivers": []}')
    os.close(sink)
    assert read_waivers(Path(f"/dev/fd/{source}")) == ()
    os.close(source)
