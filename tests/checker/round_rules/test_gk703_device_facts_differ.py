from rounds import GPU, H200, found, member


def test_the_same_facts_of_the_same_device():
    members = [member(name, devices={GPU: H200}) for name in "abc"]
    assert found("GK703", *members) == []


def test_other_devices_are_other_devices():
    smaller = H200 | {"sm_count": "114"}
    members = [member("a", devices={GPU: H200}), member("b", devices={"gpu-2": smaller})]
    assert found("GK703", *members) == []


def test_both_sides_are_told():
    halved = H200 | {"cache_bytes": "31457280"}
    members = [member("a", devices={GPU: H200}), member("b"), member("c", devices={GPU: halved})]
    (two, of_two), (one, of_one) = found("GK703", *members)
    assert (two, of_two.found, of_two.required) == (2, "31457280", "62914560, as in a")
    assert (one, of_one.found, of_one.required) == (0, "62914560", "31457280, as in c")
    assert of_one.place == f"data/environment.json: {GPU}.cache_bytes"
    assert of_one.severity == "fail"


def test_a_fact_that_one_does_not_know_contradicts_nothing():
    less = {"name": "NVIDIA H200"}
    assert found("GK703", member("a", devices={GPU: less}), member("b", devices={GPU: H200})) == []
