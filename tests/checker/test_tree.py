import os
from pathlib import Path

import pytest

from kit.checker.tree import Candidate, find_bundles
from kit.errors import UsageError


def bundle(path, mark="bagit.txt"):
    path.mkdir(parents=True)
    (path / mark).write_text("")
    return path


def names(*paths):
    return [candidate.name for candidate in find_bundles(paths)]


def test_a_bundle_by_its_own_path(tmp_path):
    path = bundle(tmp_path / "one")
    assert find_bundles([path]) == (Candidate(path, str(path)),)


@pytest.mark.parametrize(
    "mark", ["bag-info.txt", "bagit.txt", "manifest-sha256.txt", "tagmanifest-sha256.txt"]
)
def test_bundles_of_a_tree_in_order_of_their_names(tmp_path, mark):
    for name in ("open/b/2", "open/a/10", "closed/z/1"):
        bundle(tmp_path / name, mark)
    assert names(tmp_path) == ["closed/z/1", "open/a/10", "open/b/2"]


def test_unfinished_runs_are_found(tmp_path):
    bundle(tmp_path / "a")
    (tmp_path / ".partial-b" / "data").mkdir(parents=True)
    assert names(tmp_path) == [".partial-b", "a"]


def test_nothing_is_sought_inside_a_bundle(tmp_path):
    outer = bundle(tmp_path / "outer")
    bundle(outer / "data" / "inner")
    assert names(tmp_path) == ["outer"]


def test_names_are_the_same_for_one_tree_and_for_several(tmp_path):
    bundle(tmp_path / "a" / "x")
    bundle(tmp_path / "b" / "y" / "z")
    trees = [tmp_path / "a", tmp_path / "b"]
    assert names(*trees) == ["x", "y/z"] == [*names(trees[0]), *names(trees[1])]


def test_several_trees_keep_equal_names_apart(tmp_path):
    for name in ("a/x", "b/x", "b/y"):
        bundle(tmp_path / name)
    assert sorted(names(tmp_path / "a", tmp_path / "b")) == sorted(
        [str(tmp_path / "a" / "x"), str(tmp_path / "b" / "x"), "y"]
    )


def test_what_is_left_of_a_bundle_is_found(tmp_path):
    """Without any manifest it would be counted neither as compliant nor as not."""
    bundle(tmp_path / "a")
    (tmp_path / "b" / "data").mkdir(parents=True)
    (tmp_path / "b" / "data" / "plan.json").write_text("{}")
    assert names(tmp_path) == ["a", "b"]


def test_the_same_bundle_is_judged_once(tmp_path):
    path = bundle(tmp_path / "a" / "x")
    assert len(find_bundles([tmp_path, tmp_path / "a", path])) == 1
    assert names(tmp_path, tmp_path) == ["a/x"]
    (tmp_path / "link").symlink_to(path)
    assert len(find_bundles([path, tmp_path / "link", tmp_path / "a" / ".." / "a" / "x"])) == 1


def test_links_are_not_followed(tmp_path):
    bundle(tmp_path / "elsewhere" / "x")
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(tmp_path / "elsewhere")
    (tree / "loop").symlink_to(tree)
    (tree / "dangling").symlink_to(tree / "nothing")
    (candidate,) = find_bundles([tree])
    assert candidate.problem == "no bundle here"


def test_the_given_path_may_be_a_link(tmp_path):
    bundle(tmp_path / "real" / "x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert names(tmp_path / "link") == ["x"]


@pytest.mark.parametrize("content", ["folder", "file", "folder of files"])
def test_no_bundle(tmp_path, content):
    path = tmp_path / "thing"
    if content == "file":
        path.write_text("text")
    else:
        path.mkdir()
    if content == "folder of files":
        (path / "data").mkdir()
        (path / "README").write_text("text")
    (candidate,) = find_bundles([path])
    assert candidate.name == str(path)
    assert candidate.problem == (
        "not a bundle: is not a folder; unpack an archive first"
        if content == "file"
        else "no bundle here"
    )


@pytest.mark.parametrize("part", ["data", "data/cases", "data/plan.json"])
def test_a_part_of_a_bundle_names_the_bundle(tmp_path, monkeypatch, part):
    path = bundle(tmp_path / "tree" / "x")
    (path / "data" / "cases").mkdir(parents=True)
    (path / "data" / "plan.json").write_text("{}")
    (candidate,) = find_bundles([path / part])
    assert candidate.problem == f"only part of a bundle: give {path}"
    monkeypatch.chdir(tmp_path)
    (candidate,) = find_bundles([Path("tree/x", part)])
    assert candidate.problem == "only part of a bundle: give tree/x"
    monkeypatch.chdir(path / "data")
    (candidate,) = find_bundles([Path("cases")])
    assert candidate.problem == "only part of a bundle: give .."


def test_every_path_given_ends_in_the_report(tmp_path):
    bundle(tmp_path / "tree" / "x")
    (tmp_path / "tree" / "empty").mkdir()
    (tmp_path / "file").write_text("text")
    given = [tmp_path / name for name in ("tree", "tree/empty", "file")]
    found = {candidate.path: candidate.problem for candidate in find_bundles(given)}
    assert found == {
        given[0] / "x": "",
        given[1]: "no bundle here",
        given[2]: "not a bundle: is not a folder; unpack an archive first",
    }


def test_no_such_path(tmp_path):
    with pytest.raises(UsageError, match="does not exist"):
        find_bundles([tmp_path, tmp_path / "missing"])


def test_a_folder_that_cannot_be_read(tmp_path, monkeypatch):
    bundle(tmp_path / "a")
    (tmp_path / "locked").mkdir()
    scandir = os.scandir

    def refuse(path):
        if os.fspath(path).endswith("locked"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    first, second = find_bundles([tmp_path])
    assert (first.name, first.problem) == ("a", "")
    assert (second.name, second.problem) == ("locked", "cannot be read: Permission denied")


def test_names_that_are_not_text(tmp_path):
    bundle(tmp_path / os.fsdecode(b"\xff\x1b"))
    assert names(tmp_path) == ["\udcff\x1b"]


def test_a_deep_tree_is_no_recursion(tmp_path):
    path = tmp_path.joinpath(*["d"] * 400)
    bundle(path)
    assert names(tmp_path) == ["/".join(["d"] * 400)]
