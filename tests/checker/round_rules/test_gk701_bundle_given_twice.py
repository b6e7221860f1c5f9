from rounds import found, member

SAME = "ab" * 32


def test_bundles_of_their_own():
    assert found("GK701", member("a"), member("b"), member("c")) == []


def test_both_are_told_of_the_other():
    members = [member("a", digest=SAME), member("b"), member("c", digest=SAME)]
    (first, of_first), (second, of_second) = found("GK701", *members)
    assert (first, of_first.found) == (0, "the bundle is also c")
    assert (second, of_second.found) == (2, "the bundle is also a")
    assert {of_first.severity, of_second.severity} == {"fail"}


def test_each_of_many_is_told_once():
    members = [member(str(number), digest=SAME) for number in range(5)]
    assert [number for number, _ in found("GK701", *members)] == [0, 1, 2, 3, 4]
