"""What is live at the peak of a pool, and what keeps it alive, from metadata written by hand."""

from __future__ import annotations

import pytest

from usmp.report.explanation.live_buffers import (
    described_buffer,
    live_at_peak,
    operator_at_peak,
    peak_intervals,
    unused_bytes,
)


def buffer(name, size=4, ranges=((0, 9),), offset=0, kind="intermediate", **known):
    return {
        "name": name,
        "kind": kind,
        "function": "main",
        "offset": offset,
        "size": size,
        "alignment": 4,
        "live_ranges": [list(each) for each in ranges],
        **known,
    }


def pool(*buffers, live=None, **known):
    names = [each["name"] for each in buffers] if live is None else live
    return {"buffers": list(buffers), "live_at_peak": names, "peak_bytes": 0, **known}


def operator(label, start=None, read=(), written=(), **known):
    said = {"entry": "main", "functions": [f"f_{label}"], "steps": [{"kind": label}], **known}
    times = {} if start is None else {"start": start, "stop": start + 10}
    return {**said, **times, "buffers": {"read": list(read), "written": list(written)}}


def module(*operators, inside=(), entries=1):
    functions = {
        "main": [{"entry": str(n)} for n in range(entries)],
        "operator_functions": [{"function_name": name} for name in inside],
    }
    return {"operators": list(operators), "memory": {"functions": functions}}


CHAIN = module(
    operator("a", 0, ["x"], ["t"]), operator("b", 10, ["t"], ["u"]), operator("c", 20, ["t", "u"])
)


def why(name, at, mod=CHAIN, **known):
    return described_buffer(mod, buffer(name, **known), at)["why"]


def test_live_buffers_are_the_largest_first_then_by_name():
    buffers = [buffer("b", 4), buffer("a", 4), buffer("c", 8), buffer("gone", 99)]
    found = live_at_peak(pool(*buffers, live=["a", "b", "c"]))
    assert [each["name"] for each in found] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("ranges", "intervals"),
    [
        ([], []),
        ([[(0, 3), (5, 9)]], [(0, 3), (5, 9)]),
        ([[(0, 3), (5, 9)], [(2, 6)]], [(2, 3), (5, 6)]),
        ([[(0, 3)], [(3, 6)]], []),
        ([[(0, 9)], [(1, 8)], [(2, 3), (4, 9)]], [(2, 3), (4, 8)]),
    ],
)
def test_the_peak_is_where_all_are_live(ranges, intervals):
    buffers = [buffer(str(n), ranges=own) for n, own in enumerate(ranges)]
    assert peak_intervals(pool(*buffers)) == intervals


@pytest.mark.parametrize(
    ("mod", "known", "expected"),
    [
        (CHAIN, {}, 1),
        (CHAIN, {"peak_operator": 2}, 1),
        # When operators run is not known.
        (module(operator("a"), operator("b")), {"peak_operator": 1}, 1),
        (module(operator("a"), operator("b")), {"peak_operator": 0}, 0),
        (module(operator("a"), operator("b")), {}, None),
        (module(operator("a"), operator("b")), {"peak_operator": None}, None),
        (module(operator("a"), operator("b"), entries=2), {"peak_operator": 1}, None),
    ],
)
def test_the_operator_at_the_peak_is_that_which_runs_then(mod, known, expected):
    assert operator_at_peak(mod, pool(buffer("t", ranges=[(12, 30)]), **known)) == expected


def test_a_buffer_is_described_with_who_writes_and_reads_it():
    said = described_buffer(CHAIN, buffer("t", 8, offset=16), 1)
    assert said == {
        "name": "t",
        "kind": "intermediate",
        "offset": 16,
        "size_bytes": 8,
        "written_by": ["a"],
        "read_later_by": ["c"],
        "why": "written by a; read here; still read by c",
    }


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("t", 0, "written here; still read by b and c"),
        ("t", 2, "written by a; read here"),
        ("u", 1, "written here; still read by c"),
        ("t", None, "written by a; still read by b and c"),
        ("other", 1, "which operators use it is not said"),
    ],
)
def test_an_intermediate_is_alive_between_its_writer_and_readers(name, at, expected):
    assert why(name, at) == expected


def test_the_writer_is_the_last_one_before():
    writers = [operator(label, n * 10, [], ["t"]) for n, label in enumerate("abc")]
    mod = module(*writers, operator("d", 30, ["t"]))
    assert why("t", 3, mod) == "written by c; read here"
    assert why("t", 1, mod) == "written here; still read by d"


@pytest.mark.parametrize(
    ("readers", "expected"),
    [
        (3, "still read by r0, r1 and r2"),
        (4, "still read by r0, r1, r2 and 1 others"),
        (6, "still read by r0, r1, r2 and 3 others"),
    ],
)
def test_three_readers_are_named(readers, expected):
    mod = module(operator("a", 0), *(operator(f"r{n}", 10 + n, ["t"]) for n in range(readers)))
    assert why("t", 0, mod) == expected


@pytest.mark.parametrize(
    ("name", "at", "known", "expected"),
    [
        ("s", 0, {"kind": "state"}, "state: kept between runs"),
        ("y", 0, {"kind": "output"}, "output: the application reads it after the run"),
        ("x", 0, {"kind": "input"}, "input: read here"),
        ("x", 1, {"kind": "input", "ranges": [(0, 10)]}, "input: given before the run"),
        ("t", 1, {"kind": "input"}, "input: read here; still read by c"),
        (
            "x",
            1,
            {"kind": "input", "ranges": [(0, 11)]},
            "input: kept for the application (preserve_inputs)",
        ),
        ("x", 0, {"kind": "input", "ranges": [(0, 30)]}, "input: read here"),
        ("other", 1, {"kind": "input", "ranges": [(0, 30)]}, "input: given before the run"),
        ("x", 1, {"kind": "input", "ranges": []}, "input: given before the run"),
    ],
)
def test_inputs_outputs_and_states_are_the_applications(name, at, known, expected):
    assert why(name, at, **known) == expected


@pytest.mark.parametrize(("rows", "expected"), [(4, "4 rows"), (1, "1 row")])
def test_states_of_windows_say_which_rows_they_hold(rows, expected):
    mod = {**CHAIN, "windows": {"states": {"w": {"tensor": "x", "rows": rows}}}}
    assert why("w", 0, mod, kind="state") == f"state: {expected} of x, kept for the next run"


def test_inserted_code_is_named_by_its_label():
    copy = {**operator("f", 10, ["t"]), "label": "copy of t", "model_operators": [0]}
    table = [{"index": 3, "type": "CONCAT", "outputs": []}]
    mod = {**module(operator("a", 0, [], ["t"]), copy), "model_operators": table}
    assert why("t", 0, mod) == "written here; still read by copy of t (operator 3 CONCAT)"


def test_an_input_that_its_last_reader_ends_is_not_said_to_be_kept():
    readers = [operator("a", 0, ["x"]), operator("b", 10, ["x"]), operator("c", 20)]
    for stop, expected in ((20, "given before the run"), (21, "kept for the application")):
        said = why("x", 2, module(*readers), kind="input", ranges=[(0, stop)])
        assert said.startswith(f"input: {expected}")


def test_an_input_whose_readers_have_no_times_is_not_said_to_be_kept():
    mod = module(operator("a", None, ["x"]), operator("b"))
    assert why("x", 1, mod, kind="input", ranges=[(0, 30)]) == "input: given before the run"


def test_what_operators_have_within_themselves_is_scratch():
    segments = {"segments": [{"by": "columns"}]}
    mod = module(operator("a", 0), operator("b", 10, **segments), inside=["f_a", "f_b"])
    for function, name, expected in (
        ("f_a", "t_ring", "scratch memory of the operator"),
        ("f_b", "t", "scratch memory of the operator"),
        ("f_b", "t_ring", "ring: the columns between interleaved operators"),
    ):
        said = described_buffer(mod, buffer(name, function=function), 0)
        assert (said["kind"], said["why"]) == ("scratch", expected)
    rows = module(operator("b", 0, segments=[{}]), inside=["f_b"])
    assert "the rows between" in why("t_ring", 0, rows, function="f_b")
    # A state of an operator is no scratch memory.
    assert described_buffer(mod, buffer("s", function="f_a", kind="state"), 0)["kind"] == "state"


@pytest.mark.parametrize(
    ("buffers", "peak", "expected"),
    [
        ([], 0, (0, 0)),
        ([], 5, (0, 5)),
        ([(0, 8, 4)], 8, (0, 0)),
        # 3 bytes to the next multiple of 4, and 4 more.
        ([(0, 5, 4), (12, 4, 4)], 16, (3, 4)),
        ([(12, 4, 4), (0, 5, 4)], 20, (3, 8)),
        # Overlapping buffers leave no gap, and the end is that of the longer one.
        ([(0, 16, 4), (4, 4, 4), (16, 4, 4)], 20, (0, 0)),
        ([(2, 2, 1)], 4, (0, 2)),
        ([(1, 2, 0)], 3, (0, 1)),
        ([(0, 8, 4)], 6, (0, 0)),
        ([(0, 1, 16), (2, 2, 16)], 4, (1, 0)),
    ],
)
def test_unused_bytes_are_padding_or_gaps(buffers, peak, expected):
    held = [
        buffer(str(n), size, offset=offset, alignment=alignment)
        for n, (offset, size, alignment) in enumerate(buffers)
    ]
    found = unused_bytes(pool(*held, peak_bytes=peak))
    assert (found["alignment"], found["other"]) == expected
