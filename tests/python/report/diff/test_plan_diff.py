"""The difference of two builds: what is matched, and what counts as a change."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from usmp.report.diff.build_facts import Code, build_facts
from usmp.report.diff.plan_diff import Change, diff_builds
from usmp.report.diff.tables import (
    buffer_words,
    diff_tables,
    growth_text,
    markdown_diff,
    print_diff,
)


def buffer(name, size=64, offset=0, kind="intermediate", live=((0, 4),)):
    return {
        "name": name,
        "function": "main",
        "kind": kind,
        "offset": offset,
        "size": size,
        "live_ranges": [list(span) for span in live],
    }


def pool(*buffers, name="sram", kind="workspace", peak=128):
    return {
        "name": name,
        "kind": kind,
        "peak_bytes": peak,
        "lower_bound_bytes": peak,
        "memory_pressure_bytes": peak,
        "optimal": True,
        "buffers": list(buffers),
    }


def operator(function, written=(), macs=10):
    return {
        "entry": "main",
        "functions": [function],
        "macs": macs,
        "buffers": {"read": [], "written": list(written)},
    }


def facts(*pools, operators=(), entries=("main",), code=None, peaks=None, **others):
    mains = [
        {"entry": name, "workspace_size_bytes": 8, "io_size_bytes": 0, "state_size_bytes": 0}
        for name in entries
    ]
    for main in mains if len(mains) > 1 else []:
        main["peak_bytes"] = (peaks or {}).get(main["entry"], {"sram": 8})
    ram = {"size_bytes": 100, "workspace_size_bytes": 90, "io_size_bytes": 10}
    memory = {
        "pools": list(pools),
        "functions": {"main": mains},
        "ram": {**ram, "state_size_bytes": 0},
    }
    return build_facts("net", memory, list(operators), code, **others)


def buffers_of(before, after):
    return {
        item.key[1]: (item.status, buffer_words(item))
        for item in diff_builds(before, after).buffers
    }


def test_every_change_of_a_buffer():
    old = facts(
        pool(
            buffer("same"),
            buffer("grown"),
            buffer("shrunk"),
            buffer("moved"),
            buffer("longer"),
            buffer("elsewhere"),
            buffer("gone"),
        ),
        pool(name="dram"),
    )
    new = facts(
        pool(
            buffer("same"),
            buffer("grown", size=65),
            buffer("shrunk", size=63),
            buffer("moved", offset=16),
            buffer("longer", live=((0, 5),)),
            buffer("new"),
        ),
        pool(buffer("elsewhere", offset=32), name="dram"),
    )
    assert buffers_of(old, new) == {
        "grown": ("changed", "grew"),
        "shrunk": ("changed", "shrank"),
        "moved": ("changed", "moved"),
        "longer": ("changed", "other live range"),
        "elsewhere": ("changed", "other pool"),
        "new": ("appeared", "appeared"),
        "gone": ("vanished", "vanished"),
    }


def test_shared_code_that_the_instructions_leave_out_is_said():
    known = {**operator("f"), "schedules": [{"tile": "1", "instructions": 7}]}
    plain, small = (facts(pool(), operators=[known], shared_code=code) for code in (None, "small"))
    (note,) = diff_builds(plain, small).notes
    assert note == (
        "Estimated instructions leave out what shared code costs (code=small: up to about 40 % "
        "more), and it is not the same in both (no shared code, code=small): measure with tvmc run "
        "--board."
    )
    assert diff_builds(small, small).notes == []
    without = facts(pool(), operators=[operator("f")])
    assert diff_builds(without, replace(without, shared_code="small")).notes == []


def test_a_buffer_of_another_kind_is_another_buffer():
    changed = diff_builds(facts(pool(buffer("x"))), facts(pool(buffer("x", kind="state"))))
    assert [(item.key, item.status) for item in changed.buffers] == [
        (("main", "x", "state"), "appeared"),
        (("main", "x", "intermediate"), "vanished"),
    ]


def test_renamed_is_the_only_one_of_its_size_from_its_operator():
    old = facts(pool(buffer("a")), operators=[operator("conv", ["a"])])
    new = facts(pool(buffer("b", offset=8)), operators=[operator("conv", ["b"])])
    (item,) = diff_builds(old, new).buffers
    assert (item.status, item.key[1], item.key_before[1]) == ("renamed", "b", "a")
    assert item.changed == {"offset": Change(0, 8)}
    assert buffer_words(item) == "renamed, was a, moved"


def test_what_is_not_sure_is_not_renamed():
    old = facts(pool(buffer("a")), operators=[operator("conv", ["a"])])
    for name, new in {
        "another operator": facts(pool(buffer("b")), operators=[operator("pool", ["b"])]),
        "another size": facts(pool(buffer("b", size=65)), operators=[operator("conv", ["b"])]),
        "no operator": facts(pool(buffer("b"))),
        "two": facts(pool(buffer("b"), buffer("c")), operators=[operator("conv", ["b", "c"])]),
    }.items():
        statuses = {item.status for item in diff_builds(old, new).buffers}
        assert statuses == {"appeared", "vanished"}, name


def test_operators_of_one_name_are_told_apart():
    old = facts(operators=[operator("conv"), operator("conv")])
    new = facts(operators=[operator("conv"), operator("conv", macs=20), operator("conv")])
    changed = {item.key: item.status for item in diff_builds(old, new).operators}
    assert changed == {("main", "conv", "#2"): "changed", ("main", "conv", "#3"): "appeared"}


def test_copies_are_matched_by_the_tensors_that_they_copy():
    one, other = ({**operator(f"usmp_copy_{n}"), "label": f"copy of {n}"} for n in range(2))
    renumbered = {**one, "functions": ["usmp_copy_1"]}
    changed = diff_builds(facts(operators=[one, other]), facts(operators=[renumbered])).operators
    assert [(item.key, item.status) for item in changed] == [(("main", "copy of 1"), "vanished")]


def test_entries_are_compared_if_there_are_several():
    assert diff_builds(facts(), facts(entries=["other"])).entries == []
    changed = diff_builds(facts(entries=["a", "b"]), facts(entries=["a", "c"])).entries
    assert [(item.key, item.status) for item in changed] == [
        (("c",), "appeared"),
        (("b",), "vanished"),
    ]


def test_an_entry_has_its_own_peak():
    """The workspace has the size of the pools of all entries."""
    before = facts(entries=["a", "b"], peaks={"a": {"sram": 5, "fast": 2}, "b": {"sram": 4}})
    after = facts(entries=["a", "b"], peaks={"a": {"sram": 6}, "b": {"sram": 4}})
    (changed,) = diff_builds(before, after).entries
    assert changed.key == ("a",)
    assert changed.changed == {"peak_bytes": Change(7, 6)}
    (first, _, _) = diff_builds(facts(), before).entries
    assert first.values["peak_bytes"] == Change(None, 7)


def test_what_became_of_an_entry_is_shown():
    text = io.StringIO()
    diff = diff_builds(facts(entries=["a", "b"]), facts(entries=["a", "c"]))
    print_diff(diff, Console(file=text))
    rows = [line.split()[:2] for line in text.getvalue().splitlines()]
    assert [row for row in rows if row[:1] in (["entry"], ["b"], ["c"])] == [
        ["entry", "what"],
        ["c", "appeared"],
        ["b", "vanished"],
    ]


def test_flash_is_that_of_constants_unless_both_have_code():
    constants = pool(name="flash", kind="constant", peak=1000)
    code = Code("gcc -O2", 300, {"conv": 200})
    without, with_code = facts(constants), facts(constants, code=code)
    assert diff_builds(with_code, with_code).flash == Change(1300, 1300)
    assert diff_builds(without, with_code).flash == Change(1000, 1000)
    assert diff_builds(without, with_code).is_identical
    assert diff_builds(without, with_code).notes == []
    assert diff_builds(without, with_code).compiler == Change(None, "gcc -O2")


def test_the_compiler_of_both_builds_is_named_once():
    build = facts(pool(name="flash", kind="constant"), code=Code("gcc -O2", 300, {"conv": 200}))
    diff = diff_builds(build, build, ["A note."])
    assert diff.notes == ["Code as gcc -O2 makes it.", "A note."]
    assert diff.compiler == Change("gcc -O2", "gcc -O2")
    text = io.StringIO()
    print_diff(diff, Console(file=text))
    assert text.getvalue().count("gcc") == markdown_diff(diff).count("gcc") == 1
    assert "Code as gcc &#45;O2 makes it.\n\nA note." in markdown_diff(diff)


def test_operators_are_named_as_in_the_model():
    old = facts(operators=[operator("conv")], title="kws", origins=["6 Conv"])
    new = facts(operators=[operator("conv", macs=11)], title="kws", origins=["7 Conv"])
    diff = diff_builds(old, new)
    sums, operators = diff_tables(diff)
    assert sums.title == "Memory of kws"
    assert operators.headings[:2] == ("operator of the model", "function")
    assert operators.rows[0][:3] == ["7 Conv", "conv", "changed"]


def test_code_of_an_operator_is_that_of_its_functions():
    old = facts(operators=[operator("conv")], code=Code("gcc -O2", 300, {"conv": 200}))
    new = facts(operators=[operator("conv")], code=Code("gcc -Os", 200, {"conv": 100}))
    diff = diff_builds(old, new)
    assert diff.operators[0].changed == {"code_size_bytes": Change(200, 100)}
    assert diff.notes == ["The code of both was compiled differently: gcc -O2, and gcc -Os."]


def test_code_of_inlined_functions_is_not_zero():
    old = facts(operators=[operator("conv")], code=Code("gcc -O2", 300, {"conv": 200}))
    new = facts(operators=[operator("conv", macs=11)], code=Code("LLVM", 200, {}))
    assert set(diff_builds(old, new).operators[0].changed) == {"macs"}
    assert diff_builds(old, facts(operators=[operator("conv")], code=new.code)).operators == []


def test_growth():
    assert growth_text(Change(100, 150)) == "+50 (+50.0 %)"
    assert growth_text(Change(1000, 600)) == "-400 (-40.0 %)"
    assert growth_text(Change(100000, 100001)) == "+1"
    assert growth_text(Change(0, 5)) == "+5"
    assert growth_text(Change(7, 7)) == "0"
    assert growth_text(Change(None, 7)) == "+7"
