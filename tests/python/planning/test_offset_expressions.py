"""Offsets that are computed from sizes: as small as the order of the buffers permits."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from support.pool_candidates import with_pools
from support.symbolic_models import with_interface
from usmp import PoolInfoProperties, WorkspacePoolInfo
from usmp.analysis.symbolic.extents import value_of
from usmp.objects.symbolic_size import SymbolicSize
from usmp.planning.options import PlanningOptions
from usmp.planning.plan import Plan
from usmp.planning.session import PlanningSession

SEQ = SymbolicSize("seq", 1, 12)


@I.ir_module
class Model:
    """`a` and `b` are live together, then `b` and `c`; `d` overwrites `c`, byte for byte."""

    @T.prim_func(private=True)
    def copy(p: T.handle("int8"), q: T.handle("int8"), n: T.int32):
        P = T.decl_buffer((n,), "int8", data=p)
        Q = T.decl_buffer((n,), "int8", data=q)
        for i in range(n):
            Q[i] = P[i]

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8"), seq: T.int32):
        a = T.alloc_buffer((seq * 4,), "int8")
        b = T.alloc_buffer((T.max(seq * 2, 10),), "int8")
        c = T.alloc_buffer((seq * 6,), "int8")
        d = T.alloc_buffer((seq * 6,), "int8")
        T.evaluate(T.call_extern("int32", "f", x, a.data))
        T.evaluate(T.call_extern("int32", "f", a.data, b.data))
        T.evaluate(T.call_extern("int32", "f", b.data, c.data))
        Model.copy(c.data, d.data, seq * 6)
        T.evaluate(T.call_extern("int32", "f", d.data, y))


def planned(mod=Model, sizes=(SEQ,), pools=(), **options):
    session, options = PlanningSession(), PlanningOptions(**options)
    mod = with_pools(with_interface(mod, ([], []), sizes), pools)
    prepared = session.prepared(mod, options)
    found = session.plan(prepared, options)
    assert isinstance(found, Plan)
    return session.offset_expressions(prepared, found), found


def at(found, seq):
    """Offsets by name and peaks by pool at a size."""
    known = {"seq": seq}
    for variable, value in found.variables:
        known[str(variable.name)] = int(value_of(value, known))
    offsets = {
        str(stmt.buffer.name): int(value_of(offset, known))
        for stmt, offset in found.offsets.items()
    }
    return offsets, {pool: int(value_of(peak, known)) for pool, peak in found.peaks.items()}


def rounded_up(value, alignment=16):
    return -(-value // alignment) * alignment


def test_buffers_are_stacked_at_each_size():
    """`b` is above all others, of which `c` is the largest; there is one plan at the largest."""
    found, plan = planned()
    assert list(found.parameters) == ["seq"]
    for seq in range(1, 13):
        above = rounded_up(seq * 6)
        assert at(found, seq) == (
            {"a": 0, "b": above, "c": 0, "d": 0},
            {"global_workspace": above + max(seq * 2, 10)},
        )
    at_largest = {
        str(buffer.name_hint): int(place.byte_offset)
        for buffer, place in found.plan.allocations.items()
    }
    assert at_largest == at(found, 12)[0]
    assert found.most_bytes == at(found, 12)[1]
    assert tuple(found.most_bytes.values()) == plan.peaks() == (104,)


def test_equal_offsets_have_one_variable():
    """What is the same at all sizes is a constant."""

    @I.ir_module
    class Twice:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), seq: T.int32):
            a = T.alloc_buffer((seq * 16,), "int8")
            b = T.alloc_buffer((16,), "int8")
            c = T.alloc_buffer((8,), "int8")
            T.evaluate(T.call_extern("int32", "f", x, a.data, b.data))
            T.evaluate(T.call_extern("int32", "f", x, a.data, c.data))
            T.evaluate(T.call_extern("int32", "f", x, a.data, a.data))

    found, _ = planned(Twice)
    offsets = {str(stmt.buffer.name): offset for stmt, offset in found.offsets.items()}
    assert offsets["b"].same_as(offsets["c"])
    assert len(found.variables) <= 1
    assert isinstance(offsets["a"], tirx.IntImm) or isinstance(offsets["b"], tirx.IntImm)


def test_buffers_of_cache_lines_end_at_one():
    pool = WorkspacePoolInfo("sram", ["c"], PoolInfoProperties(alignment=32))
    found, _ = planned(pools=[pool])
    for seq in range(1, 13):
        above = rounded_up(seq * 6, 32)
        assert at(found, seq)[1] == {"sram": above + rounded_up(max(seq * 2, 10), 32)}


@pytest.mark.parametrize(
    ("size", "are"),
    [
        (SymbolicSize("seq", 1, 1025), "have 1025 combinations"),
        (SymbolicSize("seq", 1), "have no bound"),
    ],
)
def test_too_many_sizes_are_refused(size, are):
    session, options = PlanningSession(), PlanningOptions()
    prepared = session.prepared(with_interface(Model, ([], []), [size]), options)
    with pytest.raises(ValueError) as caught:
        session.offset_expressions(prepared, None)
    assert str(caught.value) == (
        "offsets that depend on sizes are checked for each size, of which there may be 1024; "
        f"seq {are}: give smaller largest values, or leave out tir.usmp.dynamic=expression"
    )


def test_a_pinned_buffer_is_refused():
    @I.ir_module
    class Pinned:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), seq: T.int32):
            a = T.alloc_buffer((seq,), "int8")
            b = T.alloc_buffer((seq,), "int8", annotations={"fixed_offset": 64})
            T.evaluate(T.call_extern("int32", "f", x, a.data, b.data))

    with pytest.raises(ValueError, match=r'^buffer "b" is pinned to offset 64, so that it cannot'):
        planned(Pinned)


def test_pools_beyond_32_bits_are_refused():
    @I.ir_module
    class Large:
        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), seq: T.int32):
            a = T.alloc_buffer((seq * 1000000000,), "int8")
            b = T.alloc_buffer((seq * 100000000,), "int8")
            T.evaluate(T.call_extern("int32", "f", x, a.data, b.data))

    with pytest.raises(ValueError) as caught:
        planned(Large, [SymbolicSize("seq", 1, 2)])
    assert str(caught.value) == (
        "a workspace pool takes 2200000000 bytes, but offsets that depend on sizes are of 32 bits; "
        "leave out tir.usmp.dynamic=expression"
    )
