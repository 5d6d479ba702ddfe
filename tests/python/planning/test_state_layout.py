"""States in the places that a layout gives them."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.ir import IRModule
from tvm.target import Target

from usmp import WorkspacePoolInfo
from usmp.objects import BufferInfo, BufferInfoKind, PlacedState, PoolAllocation
from usmp.objects.attributes.module_attributes import STATE_LAYOUT_ATTR, STATE_TENSORS_ATTR
from usmp.objects.placed_state import StateTensor
from usmp.planning.state_layout import check_state_layout, fits, given_places, placed_states

SRAM, BACKUP = (WorkspacePoolInfo(name, [Target("c")]) for name in ("sram", "backup"))
TENSORS = [
    StateTensor("a", [2, 2], "int16", "digest"),
    StateTensor("first", [1], "bool", "marks x"),
]


def allocation(name: str, count: int, dtype: str) -> tirx.AllocBuffer:
    return tirx.AllocBuffer(tirx.decl_buffer((count,), dtype, name), {"state_tensor": name})


STMTS = {
    "a": allocation("a", 4, "int16"),
    "b": allocation("b", 3, "int8"),
    "first": allocation("first", 1, "bool"),
}
A = PlacedState("a", [2, 2], "int16", "sram", 16, 8, 1, "digest")
B = PlacedState("b", [3], "int8", "sram", 32, 3, 1, "")
FIRST = PlacedState("first", [1], "bool", "sram", 48, 1, 1, "marks x")


def module(*places, **attrs) -> IRModule:
    main = tirx.PrimFunc([], tirx.SeqStmt([*STMTS.values()]))
    mod = IRModule({"__tvm_main__": main.with_attr(STATE_TENSORS_ATTR.name, TENSORS)})
    return mod.with_attr(STATE_LAYOUT_ATTR.name, list(places)) if places else mod


def with_fields(state: PlacedState, **fields) -> PlacedState:
    names = ("name", "shape", "dtype", "pool_name", "byte_offset", "size_bytes", "alignment")
    known = {name: getattr(state, name) for name in (*names, "initial_value")}
    return PlacedState(**{**known, **fields})


def test_places_are_known_by_name():
    assert given_places(IRModule({})) == {}
    assert given_places(module()) == {}
    assert given_places(module(A, B)) == {"a": A, "b": B}
    for wrong in (3, [A, "b"]):
        with pytest.raises(
            ValueError, match=r'^the attribute "state_layout" of the module must be'
        ):
            given_places(module().with_attr(STATE_LAYOUT_ATTR.name, wrong))


def test_layouts_that_fit_are_taken():
    check_state_layout(module(), [])
    check_state_layout(module(A, B, FIRST), ["sram"])
    check_state_layout(module(B, FIRST, A), ["x", "sram"])


@pytest.mark.parametrize(
    ("places", "difference"),
    [
        (
            [A, B, with_fields(FIRST, pool_name="backup")],
            'pool "backup" holds states in the layout, but in the model they may be in sram: '
            "compile it with the same pools and state pool as the one that the layout is of",
        ),
        ([A, B], 'state "first" is in the model, but not in the layout'),
        (
            [A, B, FIRST, with_fields(B, name="\x1b")],
            'state "\\x1b" is in the layout, but not in the model',
        ),
        (
            [with_fields(A, shape=[4]), B, FIRST],
            'state "a" is int16[4] in the layout, but int16[2, 2] in the model',
        ),
        (
            [with_fields(A, initial_value="x"), B, FIRST],
            'state "a" starts with another value in the layout than in the model',
        ),
        (
            [A, B, with_fields(FIRST, initial_value="marks y")],
            'state "first" marks the first run of other states in the layout than in the model',
        ),
        (
            [with_fields(A, byte_offset=17), B, FIRST],
            'state "a" is at byte 17 in the layout, but the model aligns it to 16 bytes',
        ),
    ],
)
def test_differences_are_named(places, difference):
    with pytest.raises(ValueError) as caught:
        check_state_layout(module(*places), ["sram"])
    assert str(caught.value) == (
        f"the state layout does not fit the model: {difference}. Leave it out and export a new "
        "one: states get new places, what old ones hold is lost, and the program has to reset the "
        "model"
    )


def test_the_first_four_differences_are_named():
    others = [with_fields(B, name=name) for name in "vwxyz"]
    with pytest.raises(ValueError) as caught:
        check_state_layout(module(A, B, FIRST, *others), ["sram"])
    message = str(caught.value)
    assert [f'"{name}"' in message for name in "vwxyz"] == [True, True, True, True, False]
    assert "not in the model; and 1 more differences. Leave it out" in message
    with pytest.raises(ValueError) as caught:
        check_state_layout(module(A, B, FIRST, *others[1:]), ["sram"])
    assert "more differences" not in str(caught.value)


def test_an_allocation_fits_places_of_its_type_that_are_aligned():
    assert fits(A, STMTS["a"], 16)
    assert not fits(A, STMTS["a"], 32)
    assert not fits(A, STMTS["b"], 16)


def planned(**places):
    """A buffer for each state, and one that is none."""
    stmts, allocations = {}, {}
    for name, (pool, offset) in places.items():
        buffer = BufferInfo(name, 8, [pool], 4, kind=BufferInfoKind.STATE)
        stmts[buffer] = STMTS[name]
        allocations[buffer] = PoolAllocation(pool, offset)
    other = BufferInfo("other", 8, [SRAM], 4)
    return stmts, {**allocations, other: PoolAllocation(SRAM, 0)}


def test_states_are_listed_by_place():
    stmts, allocations = planned(b=(SRAM, 8), a=(SRAM, 0), first=(BACKUP, 64))
    assert placed_states(module(), stmts, allocations) == [
        PlacedState("first", [1], "bool", "backup", 64, 1, 4, "marks x"),
        PlacedState("a", [2, 2], "int16", "sram", 0, 8, 4, "digest"),
        PlacedState("b", [3], "int8", "sram", 8, 3, 4, ""),
    ]


@pytest.mark.parametrize(("pool", "offset"), [(SRAM, 0), (BACKUP, 16)])
def test_states_in_other_places_than_the_layout_says_are_refused(pool, offset):
    stmts, allocations = planned(a=(SRAM, 16))
    (state,) = placed_states(module(A), stmts, allocations)
    assert (state.byte_offset, state.pool_name) == (16, "sram")
    with pytest.raises(ValueError) as caught:
        placed_states(module(A), *planned(a=(pool, offset)))
    assert str(caught.value) == (
        f'state "a" is at byte {offset} of pool "{pool.pool_name}", not at byte 16 of pool "sram" '
        "as the state layout says"
    )
