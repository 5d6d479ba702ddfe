"""Which pairs of buffers a text explains: most bytes first, alike ones in one line."""

from __future__ import annotations

from itertools import combinations

from usmp.report.explanation.pairs import pair_lines

NO_OPERATOR = "no common operator"
IN_TURN = {"kind": "order of accesses", "is_write": True, "functions": ["f"]}


def pair(dying, written, kind="distance", **known):
    return {
        "kind": kind,
        "dying": dying,
        "written": written,
        "dying_kind": "intermediate",
        "written_kind": "intermediate",
        "because": None,
        "size_bytes": 20,
        "dying_size_bytes": 30,
        "shared_bytes": 0,
        "distance_bytes": 20,
        "text": f"{dying}-{written}",
        **known,
    }


def lines(*pairs, functions=("f",)):
    operator = None if functions is None else {"functions": list(functions)}
    return pair_lines({"pairs": list(pairs), "operator": operator})


def all_pairs(names, **known):
    return [pair(*both, **known) for both in combinations(names, 2)]


def test_pairs_that_could_share_most_come_first():
    pairs = [
        pair("a", "b", size_bytes=10),
        pair("c", "d", dying_size_bytes=15),
        pair("e", "f", shared_bytes=8),
        # They share all that they could.
        pair("g", "h", shared_bytes=20),
    ]
    assert lines(*pairs) == ["c-d", "e-f", "a-b"]


def test_three_that_an_operator_writes_in_turn_are_one_line():
    (line,) = lines(*all_pairs("abc", because=IN_TURN))
    assert line.startswith("a, b and c: the operator writes each of them again")
    assert line.endswith("no two can share a byte.")
    assert lines(*all_pairs("ab", because=IN_TURN)) == ["a-b"]


def test_only_writes_of_the_operator_at_the_peak_are_in_turn():
    others = [
        {"because": {**IN_TURN, "kind": "later access"}},
        {"because": {**IN_TURN, "is_write": False}},
        {"because": {**IN_TURN, "functions": ["g"]}},
        {"because": {**IN_TURN, "functions": []}},
        {"because": None},
        {"because": IN_TURN, "distance_bytes": 19},
    ]
    for known in others:
        assert lines(*all_pairs("abc", **known)) == ["a-b", "a-c", "b-c"]
    both = all_pairs("abc", because=IN_TURN)
    assert lines(*both, functions=None) == ["a-b", "a-c", "b-c"]
    assert len(lines(*both, functions=("e", "f"))) == 1
    called = all_pairs("abc", because={**IN_TURN, "functions": ["f", "g"]}, distance_bytes=21)
    assert len(lines(*called)) == 1


def test_a_buffer_that_is_not_alike_with_all_is_told_apart():
    pairs = [*all_pairs("abc", because=IN_TURN), pair("a", "d", because=IN_TURN, size_bytes=5)]
    pairs[-1]["distance_bytes"] = 5
    assert lines(*pairs)[1:] == ["a-d"]
    # A pair of alike buffers with another reason is told, too.
    assert lines(*all_pairs("abc", because=IN_TURN), pair("a", "b"))[1:] == ["a-b"]


def test_buffers_without_a_common_operator_are_one_line():
    (line,) = lines(*all_pairs("abc", kind=NO_OPERATOR))
    assert line.startswith("a, b and c: no operator accesses two of them")


def test_pairs_without_an_operator_are_grouped_by_buffer():
    pairs = [pair("a", "b", NO_OPERATOR), pair("c", "b", NO_OPERATOR), pair("d", "e", NO_OPERATOR)]
    first, second = lines(*pairs, pair("x", "y"))[:2]
    assert first.startswith("b and a and c: no operator accesses the one and one of the others,")
    assert second.startswith("d and e: no operator accesses both, so each")
    assert lines(*pairs, pair("x", "y"))[2:] == ["x-y"]


def test_states_are_one_line():
    pairs = [
        pair("s", "t", NO_OPERATOR, dying_kind="state", written_kind="state"),
        pair("u", "s", "kept", written_kind="state"),
        pair("v", "s", written_kind="state"),
        pair("t", "u", NO_OPERATOR, dying_kind="state"),
    ]
    assert lines(*pairs) == [
        "s and t: kept between runs, so nothing else may have these bytes.",
        "v-s",
    ]


def test_eight_lines_are_shown_and_the_others_counted():
    def some(count):
        return [pair(f"a{n}", f"b{n}") for n in range(count)]

    assert len(lines(*some(8))) == 8 and "others" not in lines(*some(8))[-1]
    shown = lines(*some(11))
    assert len(shown) == 9
    assert shown[7:] == ["a7-b7", "3 others: see --format json."]
