import os

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


@pytest.mark.parametrize("mark", ["bagit.txt", "tagmanifest-sha256.txt"])
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


def test_several_trees_keep_their_names_apart(tmp_path):
    bundle(tmp_path / "a" / "x")
    bundle(tmp_path / "b" / "x")
    trees = [tmp_path / "a", tmp_path / "b"]
    assert names(*trees) == [str(tree / "x") for tree in trees]


def test_the_same_bundle_is_judged_once(tmp_path):
    path = bundle(tmp_path / "a" / "x")
    assert len(find_bundles([tmp_path, tmp_path / "a", path])) == 1
    assert names(tmp_path, tmp_path) == ["a/x"]


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
        "not a bundle: is not a folder" if content == "file" else "no bundle here"
    )


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
