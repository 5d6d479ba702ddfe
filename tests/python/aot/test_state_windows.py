"""States that lie in the concat that extends them."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx

from support.main_calls import called, views
from support.state_programs import program
from usmp.aot.main_versions import MainVersions


def lowered(build, states, wanted="all", **options) -> tirx.PrimFunc:
    """`__tvm_main__` with all copies elided that can be, or what live bytes choose."""
    versions = MainVersions(program(build, states, **options))
    mod, copies = versions.version()
    if wanted == "all":
        mod, _ = versions.version(range(len(copies)))
    return mod["__tvm_main__"]


def allocated(main: tirx.PrimFunc) -> dict[str, dict[str, object]]:
    """The allocations that are no constants, with their annotations."""
    return {
        str(stmt.buffer.name): {key: value for key, value in stmt.annotations.items()}
        for stmt in main.body.seq
        if isinstance(stmt, tirx.AllocBuffer) and "constant_data" not in stmt.annotations
    }


def calls(main: tirx.PrimFunc) -> list[str]:
    """The calls with their arguments; names of views as what they lie in, and where."""
    found, places = [], views(main)

    def shown(name: str) -> str:
        return f"{places[name][0]}+{places[name][1]}" if name in places else name

    for stmt in main.body.seq:
        if isinstance(stmt, tirx.Evaluate):
            names = ", ".join(shown(str(a.args[0].name)) for a in stmt.value.args)
            found.append(f"{stmt.value.op.name_hint}({names})")
    return found


def window(state: str) -> dict[str, object]:
    return {"state_tensor": state, "state_bytes": 4}


def shifted(g):
    """The state is followed by what is new; its second half is read, and its end kept."""
    wide = g.join([g.s, g.add(g.x, g.x)])
    return [g.add(g.cut(wide, 2), g.x), g.cut(wide, 1)]


SHIFTED = ["add(x, x, concat+4)", "add(concat+2, x, output)", "usmp_copy_0(concat+1, concat+0)"]


def test_the_state_is_the_start_of_its_window_and_is_shifted_in_place():
    main = lowered(shifted, {"s": 1})
    assert calls(main) == SHIFTED
    assert allocated(main) == {"concat": window("s")}


def test_initial_values_are_set_at_the_start_of_the_window():
    main = lowered(shifted, {"s": 1}, initial={"s": np.int8(3)})
    assert called(main) == ["usmp_fill_0", "add", "add", "usmp_copy_0"]
    assert views(main)["s"] == ("concat", 0)
    assert allocated(main) == {
        "concat": window("s"),
        "states_are_set": {"state_tensor": "states_are_set"},
    }


def test_what_reads_the_window_later_comes_before_the_shift():
    def build(g):
        wide = g.join([g.s, g.x])
        new = g.cut(wide, 4)
        y = g.add(g.add(g.x, g.x), g.x)
        return [g.add(y, g.cut(wide, 3)), g.add(y, g.s), new]

    assert calls(lowered(build, {"s": 2})) == [
        "usmp_copy_0(x, concat+4)",
        "add(x, x, add)",
        "add(add, x, add_1)",
        "add(add_1, concat+3, output0)",
        "add(add_1, concat+0, output1)",
        "usmp_copy_0(concat+4, concat+0)",
    ]


def test_a_state_is_the_start_of_one_window_only():
    def build(g):
        first = g.join([g.s, g.x])
        second = g.join([g.s, g.x, g.x])
        return [g.add(g.cut(first, 1), g.cut(second, 3)), g.cut(second, 2)]

    main = lowered(build, {"s": 1})
    assert allocated(main) == {"concat": window("s"), "concat_1": {}}
    assert calls(main) == [
        "usmp_copy_0(x, concat+4)",
        "usmp_copy_0(concat+0, concat_1+0)",
        "usmp_copy_0(x, concat_1+4)",
        "usmp_copy_0(x, concat_1+8)",
        "add(concat+1, concat_1+3, output)",
        "usmp_copy_0(concat_1+2, concat+0)",
    ]


def test_a_window_has_one_state_only():
    def build(g):
        wide = g.join([g.s, g.r, g.x])
        return [g.add(g.cut(wide, 3), g.x), g.cut(wide, 4), g.cut(wide, 8)]

    main = lowered(build, {"s": 1, "r": 2})
    assert allocated(main) == {"r": {"state_tensor": "r"}, "concat": window("s")}
    # The other state takes its value before the window is shifted.
    assert calls(main) == [
        "usmp_copy_0(r, concat+4)",
        "usmp_copy_0(x, concat+8)",
        "add(concat+3, x, output)",
        "usmp_copy_0(concat+8, r)",
        "usmp_copy_0(concat+4, concat+0)",
    ]


def test_a_new_value_of_two_states_is_a_tensor_of_its_own():
    def build(g):
        wide = g.join([g.s, g.x])
        new = g.cut(wide, 2)
        return [g.add(g.cut(wide, 1), g.x), new, new]

    main = lowered(build, {"s": 1, "r": 2})
    assert calls(main) == [
        "usmp_copy_0(x, concat+4)",
        "usmp_copy_0(concat+2, r)",
        "add(concat+1, x, output)",
        "usmp_copy_0(r, concat+0)",
    ]


def test_states_that_change_places():
    def build(g):
        wide = g.join([g.s, g.x])
        return [g.add(g.cut(wide, 1), g.x), g.r, g.s]

    assert calls(lowered(build, {"s": 1, "r": 2})) == [
        "usmp_copy_0(x, concat+4)",
        "usmp_copy_0(concat+0, s_copy)",
        "add(concat+1, x, output)",
        "usmp_copy_0(r, concat+0)",
        "usmp_copy_0(s_copy, r)",
    ]


def test_the_old_value_is_an_output():
    def build(g):
        wide = g.join([g.s, g.x])
        return [g.add(g.cut(wide, 1), g.x), g.s, g.cut(wide, 4)]

    assert calls(lowered(build, {"s": 2})) == [
        "usmp_copy_0(x, concat+4)",
        "add(concat+1, x, output0)",
        "usmp_copy_0(concat+0, output1)",
        "usmp_copy_0(concat+4, concat+0)",
    ]


def test_the_new_value_is_an_output():
    def build(g):
        wide = g.join([g.s, g.x])
        new = g.cut(wide, 4)
        return [g.add(g.cut(wide, 1), new), new, new]

    assert calls(lowered(build, {"s": 2})) == [
        "usmp_copy_0(x, concat+4)",
        "add(concat+1, concat+4, output0)",
        "usmp_copy_0(concat+4, output1)",
        "usmp_copy_0(concat+4, concat+0)",
    ]


def test_the_new_value_is_computed():
    def build(g):
        wide = g.join([g.s, g.x])
        y = g.add(g.cut(wide, 1), g.x)
        return [y, g.add(y, g.x)]

    assert calls(lowered(build, {"s": 1})) == [
        "usmp_copy_0(x, concat+4)",
        "add(concat+1, x, output)",
        "add(output, x, concat+0)",
    ]


def test_the_new_value_is_the_old_one():
    """Its part of the window is where it belongs."""

    def build(g):
        wide = g.join([g.s, g.x])
        return [g.add(g.cut(wide, 1), g.x), g.cut(wide, 0)]

    assert calls(lowered(build, {"s": 1})) == [
        "usmp_copy_0(x, concat+4)",
        "add(concat+1, x, output)",
    ]


STAYS = {
    "unchanged": (lambda g: [g.add(g.cut(g.join([g.s, g.x]), 1), g.x), g.s], 1),
    "behind": (lambda g: [g.add(g.cut(g.join([g.x, g.s]), 1), g.x), g.x], 1),
    "in place": (lambda g: [g.cut(g.join([g.s, g.x]), 1), g.accumulate(g.s, g.x)], 1),
    "returned": (lambda g: [g.join([g.s, g.x]), g.x], 1),
}


@pytest.mark.parametrize("case", STAYS)
def test_a_state_stays_by_itself(case):
    build, output = STAYS[case]
    main = lowered(build, {"s": output})
    assert allocated(main)["s"] == {"state_tensor": "s"}
    assert [a for a in allocated(main).values() if "state_bytes" in a] == []


def test_live_bytes_decide_whether_there_is_a_window():
    """Twelve bytes of state, and windows of 20 bytes: three throughout, or one after the other."""

    def build(g):
        y, new = g.x, []
        for state in (g.s, g.r, g.q):
            wide = g.join([state, y, y, y, y])
            y = g.add(g.cut(wide, 3), y)
            new.append(g.cut(wide, 4))
        return [y, *new]

    states = {"s": 1, "r": 2, "q": 3}
    by_bytes, everywhere = (allocated(lowered(build, states, w)) for w in (None, "all"))
    assert sum("state_bytes" in a for a in everywhere.values()) == 3
    assert sum("state_bytes" in a for a in by_bytes.values()) == 0
