import copy
import gc
import pickle
from itertools import pairwise

import pytest
import tvm
import tvm_ffi
from tvm.target import Target

from usmp.objects import (
    AllocatedPoolInfo,
    BufferInfo,
    BufferInfoAnalysis,
    BufferInfoKind,
    LiveRange,
    PoolAllocation,
    WorkspacePoolInfo,
)

POOL = WorkspacePoolInfo("sram", [Target("c")])


def test_buffer_defaults():
    buffer = BufferInfo("buf", 8, [POOL])
    assert buffer.name_hint == "buf"
    assert buffer.size_bytes == 8
    assert list(buffer.pool_candidates) == [POOL]
    assert buffer.alignment == 1
    assert list(buffer.live_ranges) == []
    assert buffer.kind == BufferInfoKind.INTERMEDIATE
    assert list(buffer.conflicts) == []


def test_buffer_keeps_what_it_was_given():
    live = [LiveRange(0, 3), LiveRange(5, 6)]
    buffer = BufferInfo("buf", 2**62, [POOL], 8, live, BufferInfoKind.OUTPUT)
    assert buffer.size_bytes == 2**62
    assert buffer.alignment == 8
    assert [(r.start, r.stop) for r in buffer.live_ranges] == [(0, 3), (5, 6)]
    assert buffer.kind == BufferInfoKind.OUTPUT


def test_kinds_have_the_numbers_of_tvm():
    assert [kind.value for kind in BufferInfoKind] == [0, 1, 2, 3]
    assert [kind.name for kind in BufferInfoKind] == ["INTERMEDIATE", "INPUT", "OUTPUT", "STATE"]
    for kind in BufferInfoKind:
        assert f"kind={kind.name}," in repr(BufferInfo("buf", 1, [POOL], kind=kind))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size_bytes": -1}, 'size_bytes of buffer "buf" must be at least 0, but is -1'),
        ({"alignment": 0}, 'alignment of buffer "buf" must be at least 1, but is 0'),
        ({"alignment": -8}, 'alignment of buffer "buf" must be at least 1, but is -8'),
        ({"kind": 4}, 'kind of buffer "buf" must be 0, 1, 2 or 3, but is 4'),
        ({"kind": -1}, 'kind of buffer "buf" must be 0, 1, 2 or 3, but is -1'),
        ({"fixed_offset": -4}, 'fixed_offset of buffer "buf" must be at least 0, but is -4'),
        (
            {"fixed_offset": 4, "alignment": 16},
            'fixed_offset of buffer "buf" must be a multiple of its alignment, 16, but is 4',
        ),
    ],
)
def test_buffer_refuses_bad_values(arguments, message):
    with pytest.raises(ValueError) as error:
        BufferInfo(**{"name_hint": "buf", "size_bytes": 8, "pool_candidates": [POOL]} | arguments)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "arguments", [{"alignment": 1.5}, {"size_bytes": "8"}, {"pool_candidates": ["sram"]}]
)
def test_buffer_refuses_wrong_types(arguments):
    with pytest.raises(TypeError):
        BufferInfo(**{"name_hint": "buf", "size_bytes": 8, "pool_candidates": [POOL]} | arguments)


@pytest.mark.parametrize(("start", "stop"), [(3, 3), (4, 3)])
def test_live_range_refuses_an_empty_span(start, stop):
    with pytest.raises(ValueError) as error:
        LiveRange(start, stop)
    assert str(error.value) == (
        f"A live range must start before it stops, but [{start}, {stop}) does not"
    )


def test_buffers_are_told_apart_by_identity():
    first, second = BufferInfo("buf", 8, [POOL]), BufferInfo("buf", 8, [POOL])
    second.set_conflicts([first])
    assert second.conflicts[0] == first
    assert first != second
    assert {first: 1, second: 2}[second.conflicts[0]] == 1
    assert BufferInfoAnalysis({first: POOL, second: POOL}, 16).buffer_info_stmts[second] == POOL
    assert not tvm_ffi.structural_equal(first, second)


def test_set_conflicts_replaces():
    a, b, c = (BufferInfo(name, 8, [POOL]) for name in "abc")
    a.set_conflicts([b, c])
    assert list(a.conflicts) == [b, c]
    a.set_conflicts((c,))
    assert list(a.conflicts) == [c]
    assert list(b.conflicts) == []


def test_the_alignment_may_be_left_out():
    assert BufferInfo("buf", 8, [POOL]).alignment == 1
    assert BufferInfo("buf", 8, [POOL], None).alignment == 1


def test_a_buffer_is_not_pinned_unless_asked_for():
    assert BufferInfo("buf", 8, [POOL]).fixed_offset is None
    assert BufferInfo("buf", 8, [POOL], fixed_offset=0).fixed_offset == 0


def test_set_overlaps_replaces():
    a, b, c = (BufferInfo(name, 8, [POOL]) for name in "abc")
    assert dict(a.overlaps) == {}
    a.set_overlaps({b: 0, c: 8})
    assert dict(a.overlaps) == {b: 0, c: 8}
    a.set_overlaps({c: 3})
    assert dict(a.overlaps) == {c: 3}
    assert dict(c.overlaps) == {}


@pytest.mark.parametrize("distance", [-1, 9])
def test_overlaps_refuse_a_distance_without_meaning(distance):
    a, b = BufferInfo("a", 8, [POOL]), BufferInfo("b", 100, [POOL])
    a.set_overlaps({b: 3})
    with pytest.raises(ValueError) as error:
        a.set_overlaps({b: distance})
    assert str(error.value) == (
        f'the distance of buffer "a" to "b" must be 0 to 8 bytes, but is {distance}'
    )
    assert dict(a.overlaps) == {b: 3}


@pytest.mark.slow
def test_overlaps_do_not_keep_buffers_alive():
    a, b = BufferInfo("a", 8, [POOL]), BufferInfo("b", 8, [POOL])
    a.set_overlaps({b: 0})
    b.set_overlaps({a: 0})
    del b
    gc.collect()
    assert dict(a.overlaps) == {}


def test_live_ranges_and_placements_are_equal_by_value():
    assert LiveRange(1, 2) == LiveRange(1, 2) != LiveRange(1, 3)
    assert len({LiveRange(1, 2), LiveRange(1, 2), LiveRange(1, 3)}) == 2
    assert PoolAllocation(POOL, 8) == PoolAllocation(POOL, 8) != PoolAllocation(POOL, 16)
    assert AllocatedPoolInfo(POOL, 8, 1, 16) == AllocatedPoolInfo(POOL, 8, 1, 16)
    assert AllocatedPoolInfo(POOL, 8, 1, 16) != AllocatedPoolInfo(POOL, 8, 1, 32)


@pytest.mark.slow
def test_mutual_conflicts_do_not_keep_buffers_alive():
    a, b = BufferInfo("a", 8, [POOL]), BufferInfo("b", 8, [POOL])
    a.set_conflicts([b])
    b.set_conflicts([a])
    del b
    gc.collect()
    assert list(a.conflicts) == []


def test_repr_is_one_line_and_names_conflicts():
    a = BufferInfo("a", 10, [POOL], 4, [LiveRange(0, 3)], BufferInfoKind.INPUT)
    b = BufferInfo("b", 20, [POOL])
    a.set_conflicts([b])
    b.set_conflicts([a])
    assert repr(a) == (
        'BufferInfo(name_hint="a", size_bytes=10, pool_candidates=["sram"], alignment=4, '
        'live_ranges=[(0, 3)], kind=INPUT, conflicts=["b"])'
    )
    assert repr(b) == (
        'BufferInfo(name_hint="b", size_bytes=20, pool_candidates=["sram"], alignment=1, '
        'live_ranges=[], kind=INTERMEDIATE, conflicts=["a"])'
    )


def test_repr_of_many_conflicts_stays_short():
    others = [BufferInfo(str(i), 1, [POOL]) for i in range(100)]
    buffer = BufferInfo("a", 1, [POOL])
    buffer.set_conflicts(others)
    assert repr(buffer).endswith('conflicts=["0", "1", "2", "3", "4", "5", "6", "7", ... 92 more])')


def test_repr_names_pin_and_overlaps():
    a = BufferInfo("a", 10, [POOL], fixed_offset=32)
    b = BufferInfo("b", 20, [POOL])
    a.set_conflicts([b])
    a.set_overlaps({b: 4})
    assert repr(a) == (
        'BufferInfo(name_hint="a", size_bytes=10, pool_candidates=["sram"], alignment=1, '
        'live_ranges=[], kind=INTERMEDIATE, fixed_offset=32, conflicts=["b"], overlaps={"b": 4})'
    )


def test_repr_of_small_objects():
    assert repr(LiveRange(2, 5)) == "LiveRange(start=2, stop=5)"
    assert repr(PoolAllocation(POOL, 64)) == 'PoolAllocation(pool_info="sram", byte_offset=64)'
    assert repr(AllocatedPoolInfo(WorkspacePoolInfo("sram", []), 7, 2)) == (
        'AllocatedPoolInfo(pool_info=WorkspacePoolInfo(pool_name="sram", targets=()), '
        "allocated_size=7, pool_var_idx=2)"
    )
    assert repr(AllocatedPoolInfo(WorkspacePoolInfo("sram", []), 7, 2, 16)) == (
        'AllocatedPoolInfo(pool_info=WorkspacePoolInfo(pool_name="sram", targets=()), '
        "allocated_size=7, pool_var_idx=2, alignment=16)"
    )
    a, b = BufferInfo("a", 8, [POOL]), BufferInfo("b", 8, [POOL])
    assert repr(BufferInfoAnalysis({a: POOL, b: POOL}, 16)) == (
        'BufferInfoAnalysis(buffer_info_stmts=["a", "b"], memory_pressure=16)'
    )


def test_pool_allocation():
    allocation = PoolAllocation(POOL, 64)
    assert allocation.pool_info == POOL
    assert allocation.byte_offset == 64


def test_allocated_pool():
    allocated = AllocatedPoolInfo(POOL, 7)
    assert allocated.pool_info == POOL
    assert (allocated.allocated_size, allocated.pool_var_idx) == (7, 0)
    assert AllocatedPoolInfo(POOL, 7, 2).pool_var_idx == 2


@pytest.mark.parametrize(
    ("arguments", "field"), [((-1, 0), "allocated_size"), ((0, -1), "pool_var_idx")]
)
def test_allocated_pool_refuses_negative_numbers(arguments, field):
    with pytest.raises(ValueError) as error:
        AllocatedPoolInfo(POOL, *arguments)
    assert str(error.value) == f'{field} of memory pool "sram" must be at least 0, but is -1'


def test_analysis_refuses_negative_pressure():
    with pytest.raises(ValueError) as error:
        BufferInfoAnalysis({}, -1)
    assert str(error.value) == (
        "memory_pressure of a buffer analysis must be at least 0, but is -1"
    )


def test_placements_are_compared_by_value_and_can_be_saved():
    allocations = {"input": PoolAllocation(POOL, 64)}
    module = tvm.IRModule({}).with_attr("io_tensor_pool_allocations", allocations)
    loaded = tvm.ir.load_json(tvm.ir.save_json(module))
    tvm.ir.assert_structural_equal(loaded, module)
    moved = tvm.IRModule({}).with_attr(
        "io_tensor_pool_allocations", {"input": PoolAllocation(POOL, 0)}
    )
    assert not tvm_ffi.structural_equal(loaded, moved)


def test_a_module_with_buffers_can_be_printed_but_not_loaded():
    a, b = BufferInfo("a", 8, [POOL]), BufferInfo("b", 8, [POOL])
    a.set_conflicts([b])
    b.set_conflicts([a])
    module = tvm.IRModule({}).with_attr("buffers", [a, b])
    assert 'metadata["usmp.BufferInfo"][1]' in str(module)
    assert "usmp.BufferInfo" in module.script(show_meta=True)
    with pytest.raises(TypeError, match='buffer "a" cannot be loaded'):
        tvm.ir.load_json(tvm.ir.save_json(module))


COPIES = [
    lambda value: pickle.loads(pickle.dumps(value)),
    lambda value: pickle.loads(pickle.dumps(value, 0)),
    copy.deepcopy,
]


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("order", [1, -1])
def test_copies_of_buffers_keep_what_is_between_them(copied, order):
    """Also where only one of two says so, and whichever comes first."""
    flash = WorkspacePoolInfo("flash", ["c"])
    a = BufferInfo("a", 4, [POOL], live_ranges=[LiveRange(0, 3)], kind=BufferInfoKind.INPUT)
    b = BufferInfo("b", 8, [POOL, flash], 8, fixed_offset=16)
    a.set_conflicts([b])
    b.set_overlaps({a: 3})
    given = [a, b][::order]
    first, second = copied(given)[::order]
    assert (first, second) != (a, b)
    assert list(first.conflicts) == [second] and list(second.conflicts) == []
    assert dict(second.overlaps.items()) == {first: 3} and not first.overlaps
    assert (first.kind, list(first.live_ranges)) == (BufferInfoKind.INPUT, [LiveRange(0, 3)])
    assert list(second.pool_candidates) == [POOL, flash]
    assert (second.name_hint, second.size_bytes, second.alignment) == ("b", 8, 8)
    assert (first.fixed_offset, second.fixed_offset) == (None, 16)


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_has_each_buffer_once(copied):
    a, b = BufferInfo("a", 4, [POOL]), BufferInfo("b", 8, [POOL])
    a.set_conflicts([b])
    # Another wrapper of the same buffer.
    keys, values, alone = copied(({b: 1, a: 2}, [a.conflicts[0], a], a))
    assert keys == {values[0]: 1, values[1]: 2} and alone == values[1]


def test_copies_follow_changes():
    a, b = BufferInfo("a", 4, [POOL]), BufferInfo("b", 8, [POOL])
    first = copy.deepcopy([a, b])
    b.set_conflicts([a])
    later = copy.deepcopy([a, b])
    assert not first[1].conflicts and list(later[1].conflicts) == [later[0]]


@pytest.mark.slow
def test_many_buffers_are_copied_without_recursion():
    buffers = [BufferInfo(f"b{i}", i, [POOL]) for i in range(1200)]
    for before, buffer in pairwise(buffers):
        before.set_conflicts([buffer])
    for order in (1, -1):
        loaded = pickle.loads(pickle.dumps(buffers[::order]))[::order]
        assert all(list(a.conflicts) == [b] for a, b in pairwise(loaded))


def test_a_buffer_alone_loses_what_nothing_else_refers_to():
    a, b = BufferInfo("a", 4, [POOL]), BufferInfo("b", 8, [POOL])
    a.set_conflicts([b])
    assert not pickle.loads(pickle.dumps(a)).conflicts


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_of_an_analysis_has_the_same_buffers_statements_and_pressures(copied):
    a, b = BufferInfo("a", 4, [POOL]), BufferInfo("b", 8, [POOL])
    a.set_conflicts([b])
    extent = tvm.tirx.Var("extent", "int32")
    statements = {a: tvm.tirx.Evaluate(extent), b: tvm.tirx.Evaluate(extent + 1)}
    analysis = copied(BufferInfoAnalysis(statements, 12, {"sram": 12, "flash": 0}))
    (first, of_first), (second, of_second) = analysis.buffer_info_stmts.items()
    assert (first.name_hint, second.name_hint) == ("a", "b")
    assert list(first.conflicts) == [second]
    # The statements still share their variable.
    assert of_second.value.a.same_as(of_first.value)
    assert analysis.memory_pressure == 12
    assert dict(analysis.pool_memory_pressure.items()) == {"sram": 12, "flash": 0}


def test_the_pressures_of_pools_may_be_left_out_of_an_analysis():
    assert dict(BufferInfoAnalysis({}, 0).pool_memory_pressure.items()) == {}


def test_a_pickle_with_a_buffer_that_lost_its_statement_is_not_loaded():
    a, b = BufferInfo("a", 4, [POOL]), BufferInfo("b", 8, [POOL])
    statements = {buffer: tvm.tirx.Evaluate(0) for buffer in (a, b)}
    load, (buffers, *rest) = BufferInfoAnalysis(statements, 12).__reduce__()
    assert buffers == [a, b]
    for lost in (buffers[:1], [*buffers, a]):
        with pytest.raises(ValueError, match="zip"):
            load(lost, *rest)
