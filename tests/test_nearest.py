from kit.nearest import did_you_mean


def test_a_slip_finds_its_name():
    assert did_you_mean("square_4095", ["square_4096", "square_512"]) == "did you mean square_4096?"


def test_a_beginning_finds_all_its_names():
    assert (
        did_you_mean("h200", ["H200 SXM", "H200 NVL", "B200"])
        == "did you mean H200 NVL or H200 SXM?"
    )


def test_nothing_near_lists_what_there_is():
    assert did_you_mean("zzz", ["cuda", "cpu"]) == "known: cpu, cuda"


def test_a_long_list_is_cut():
    assert did_you_mean("zzz", [f"a{i:02}" for i in range(40)]).endswith("a10, a11, ...")


def test_no_word_at_all():
    assert did_you_mean("", ["a", "b"]) == "known: a, b"
