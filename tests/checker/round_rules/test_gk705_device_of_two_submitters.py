from rounds import GPU, H200, found, member


def test_a_submitter_measures_a_device_often():
    assert found("GK705", *(member(name, devices={GPU: H200}) for name in "abc")) == []


def test_a_device_of_two_submitters_is_a_warning_to_both():
    members = [
        member("a", submitter="acme", devices={GPU: H200}),
        member("b", submitter="apex", devices={GPU: H200}),
        member("c", submitter="apex", devices={"gpu-2": H200}),
    ]
    (one, of_one), (two, of_two) = found("GK705", *members)
    assert (one, of_one.found) == (0, "also used by apex, in b")
    assert (two, of_two.found) == (1, "also used by acme, in a")
    assert {of_one.severity, of_two.severity} == {"warn"}
