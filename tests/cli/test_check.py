import json
import re
import shutil

import pytest

from bundles import GUIDELINE, honest_cpu, honest_gpu, reseal, with_field, write
from kit.bundle.schema import validate
from kit.cli import main

LOOKS_OK = "SUMMARY: submission looks OK"
HAS_ERRORS = "SUMMARY: submission has errors"


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """The honest open bundles, and a tree that holds both."""
    tree = tmp_path_factory.mktemp("submissions") / "open"
    for name, bundle in (("cpu", honest_cpu()), ("gpu", honest_gpu())):
        write(bundle, tree / "example" / name)
    return tree / "example"


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A sealed bundle in which GK106 fails and nothing else."""
    broken = with_field(honest_gpu(), GUIDELINE, 1, "limits_after.ecc_errors", 1)
    return write(broken, tmp_path_factory.mktemp("failing") / "failing")


def check(capsys, *arguments):
    """Exit code, stdout and stderr of `gemm-kit check`, run in this process."""
    code = main(["check", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def last_line(output):
    assert output.endswith("\n")
    return output.splitlines()[-1]


def test_honest_bundle(gemm_kit, sealed):
    done = gemm_kit("check", str(sealed / "gpu"))
    assert (done.returncode, done.stderr) == (0, "")
    assert last_line(done.stdout) == LOOKS_OK
    for text in ("guideline-bf16-nn", "3.1908 ms", "689.2", " 1466 ", "86.8 %", "example"):
        assert text in done.stdout


def test_host_without_power_says_so(capsys, sealed):
    code, out, _ = check(capsys, sealed / "cpu")
    assert (code, last_line(out)) == (0, LOOKS_OK)
    lines = out.splitlines()
    (place,) = [number for number, line in enumerate(lines) if "small-fp32-nn" in line]
    assert lines[place + 1].split().count("-") == 5
    assert re.search(r"not applicable: \d+ rules", out)


def test_verbose_says_why_not_applicable(capsys, sealed):
    _, out, _ = check(capsys, sealed / "cpu", "--verbose")
    assert "GK102 device-identity-differs: a CPU host" in out


def test_tree(capsys, sealed):
    code, out, _ = check(capsys, sealed.parent, "--jobs", "2")
    assert (code, last_line(out)) == (0, LOOKS_OK)
    names = [line.split()[-1] for line in out.splitlines() if line.startswith("bundle ")]
    assert names == ["example/cpu", "example/gpu"]
    assert "2 bundles: 2 compliant" in out


@pytest.mark.parametrize(
    ("make", "code", "text"),
    [
        (lambda path: path.mkdir(), 3, "no bundle here"),
        (
            lambda path: path.write_text("text"),
            3,
            "not a bundle: is not a folder; unpack an archive first",
        ),
    ],
)
def test_no_bundle(gemm_kit, tmp_path, make, code, text):
    make(tmp_path / "thing")
    done = gemm_kit("check", "thing")
    assert (done.returncode, done.stderr) == (code, "")
    assert text in done.stdout
    assert last_line(done.stdout) == HAS_ERRORS


def test_no_such_path(gemm_kit):
    done = gemm_kit("check", "missing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gemm-kit: error: missing does not exist (name a bundle or a tree)\n"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--format", "xml", "."],
        ["--jobs", "0", "."],
        ["--challenge", "xyz", "."],
        ["--challenge", "abc", "."],
        ["--waivers", "missing.json", "."],
        ["--skip", "GK404", "."],
    ],
)
def test_wrong_usage(gemm_kit, arguments):
    done = gemm_kit("check", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gemm-kit: error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("cut", ["bag-info.txt", "data/plan.json", "data/cases", "bagit.txt"])
def test_truncated_bundle(capsys, sealed, tmp_path, cut):
    """Files or folders that got lost on the way."""
    copy = shutil.copytree(sealed / "cpu", tmp_path / "copy")
    lost = copy / cut
    shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    code, out, _ = check(capsys, copy)
    assert code in (1, 3)
    assert cut in out
    assert last_line(out) == HAS_ERRORS


@pytest.mark.parametrize("kept", [0, 1, 100])
@pytest.mark.parametrize("name", ["data/plan.json", "manifest-sha256.txt"])
def test_truncated_file(capsys, sealed, tmp_path, name, kept):
    copy = shutil.copytree(sealed / "cpu", tmp_path / "copy")
    (copy / name).write_bytes((copy / name).read_bytes()[:kept])
    code, out, _ = check(capsys, copy)
    assert code in (1, 3)
    assert name in out


def test_unfinished_run(capsys, sealed, tmp_path):
    shutil.copytree(sealed / "cpu", tmp_path / "tree" / ".partial-cpu")
    code, out, _ = check(capsys, tmp_path / "tree")
    assert code == 3
    assert "not sealed" in out


def test_json(gemm_kit, sealed, failing):
    done = gemm_kit("check", "--format", "json", str(sealed / "cpu"), str(failing))
    assert (done.returncode, done.stderr) == (1, "")
    document = json.loads(done.stdout)
    validate("verdict", document, "verdict")
    assert document["edition"] == "2026.1"
    assert document["verdict"] == "not_compliant"
    assert [bundle["verdict"] for bundle in document["bundles"]] == ["not_compliant", "compliant"]


def test_json_is_one_document_whatever_comes(gemm_kit, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("text")
    done = gemm_kit("check", "--format", "json", "empty", "file")
    assert done.returncode == 3
    document = json.loads(done.stdout)
    validate("verdict", document, "verdict")
    assert [bundle["problem"] for bundle in document["bundles"]] == [
        "no bundle here",
        "not a bundle: is not a folder; unpack an archive first",
    ]


def test_worst_bundle_decides(capsys, sealed, failing, tmp_path):
    (tmp_path / "empty").mkdir()
    assert check(capsys, sealed / "cpu", failing)[0] == 1
    assert check(capsys, failing, tmp_path / "empty", sealed / "cpu")[0] == 3
    closed = write(honest_gpu("closed"), tmp_path / "closed")
    code, out, _ = check(capsys, closed, sealed / "cpu")
    assert code == (5 if "unproven" in out else 0)
    assert check(capsys, closed, failing)[0] == 1


def test_waiver(capsys, failing, tmp_path):
    code, out, _ = check(capsys, failing)
    assert (code, last_line(out)) == (1, HAS_ERRORS)
    assert "FAIL      GK106 device-shared" in out
    digest = re.search(r"digest +([0-9a-f]{64})", out)[1]
    waivers = tmp_path / "waivers.json"
    entries = [
        {"code": "GK106", "bundle": digest, "reason": "memory was replaced\x1b[2J"},
        {"code": "GK501", "bundle": digest, "reason": "never needed"},
    ]
    waivers.write_text(json.dumps({"waivers": entries}))
    assert check(capsys, failing, "--waivers", waivers)[0] == 2  # control character: not strict
    entries[0]["reason"] = "memory was replaced"
    waivers.write_text(json.dumps({"waivers": entries}))
    code, out, err = check(capsys, failing, "--waivers", waivers)
    assert (code, last_line(out)) == (0, LOOKS_OK)
    assert "waived    GK106" in out
    assert "memory was replaced" in out
    assert err == f"gemm-kit check: unused waiver of GK501 for {digest}\n"


def test_challenge(capsys, sealed):
    code, out, _ = check(capsys, sealed / "cpu", "--challenge", "AB" * 16)
    assert code == 1
    assert "FAIL      GK605 challenge-differs" in out


def test_hostile_names_on_the_terminal(gemm_kit, sealed, tmp_path):
    hostile = tmp_path / "tree" / "::stop-commands::x\n\x1b[31m\u202e[bold]"
    shutil.copytree(sealed / "cpu", hostile)
    (hostile / "data" / "plan.json").write_bytes(b"{}")
    reseal(hostile)
    done = gemm_kit("check", "tree", environment={"PYTHONIOENCODING": "ascii"})
    assert done.returncode == 3
    assert done.stdout.startswith("bundle        ::stop-commands::x\\x0a\\x1b[31m\\u202e[bold]\n")
    assert "\x1b" not in done.stdout


def test_a_narrow_encoding_is_no_error(gemm_kit, sealed):
    done = gemm_kit("check", str(sealed / "gpu"), environment={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "33.018 \\xb5s" in done.stdout


def test_nothing_is_written_into_a_bundle(gemm_kit, sealed):
    def state():
        return {path: path.stat().st_mtime_ns for path in sealed.rglob("*")}

    before = state()
    assert gemm_kit("check", str(sealed)).returncode == 0
    assert state() == before


def test_help_says_what_the_exit_codes_mean(gemm_kit):
    done = gemm_kit("check", "--help")
    assert done.returncode == 0
    assert "5 cannot decide" in done.stdout


def test_an_empty_path_is_not_the_working_directory(capsys):
    code, out, err = check(capsys, "")
    assert (code, out) == (2, "")
    assert "empty PATH" in err
