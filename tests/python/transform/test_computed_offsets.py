"""Offsets that are computed from sizes: where they are, and who passes them."""

from __future__ import annotations

import pytest
import tvm
from tvm import tirx
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import tirx as T

from support.symbolic_models import with_interface
from usmp.codegen.interface.workspace_sizes import workspace_sizes
from usmp.objects.symbolic_size import SymbolicSize
from usmp.plain.size_expression import extent_at
from usmp.transform import UnifiedStaticMemoryPlanner

SEQ = SymbolicSize("seq", 1, 8)


def planned(mod, sizes=(SEQ,), **options):
    mod = with_interface(mod, ([], []), sizes)
    config = {"dynamic": "expression", **options}
    with PassContext(config={f"tir.usmp.{name}": value for name, value in config.items()}):
        return UnifiedStaticMemoryPlanner()(mod)


def without_attributes(mod):
    return tvm.IRModule(
        {v: tirx.PrimFunc(f.params, f.body, f.ret_type) for v, f in mod.functions.items()}
    )


@I.ir_module
class Nested:
    """`outer` calls `inner`, which allocates as `outer` does; all three are live at once."""

    @T.prim_func(private=True)
    def inner(p: T.handle("int8"), n: T.int32):
        s = T.alloc_buffer((n * 4,), "int8")
        T.evaluate(T.call_extern("int32", "f", p, s.data))

    @T.prim_func(private=True)
    def outer(p: T.handle("int8"), n: T.int32):
        r = T.alloc_buffer((n * 8,), "int8")
        Nested.inner(r.data, n)
        T.evaluate(T.call_extern("int32", "f", p, r.data))

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), seq: T.int32):
        a = T.alloc_buffer((seq * 16,), "int8")
        Nested.outer(a.data, seq)
        T.evaluate(T.call_extern("int32", "f", x, a.data))


def bytes_at(mod, **sizes) -> dict[str, int]:
    found = {}
    for size in workspace_sizes(mod):
        known = dict(sizes)
        for name, value in size.values:
            known[name] = extent_at(value, known)
        found[size.pool] = extent_at(size.bytes, known)
    return found


def test_operators_take_their_offsets_and_pass_those_of_others():
    @I.ir_module
    class Planned:
        @T.prim_func(private=True)
        def inner(p: T.handle("int8"), n: T.int32, place: T.int32, pool: T.handle("uint8")):
            P = T.decl_buffer((192,), "uint8", data=pool, align=16)
            s = T.decl_buffer((n * 4,), "int8", data=T.address_of(P[place]))
            T.evaluate(T.call_extern("int32", "f", p, s.data))

        @T.prim_func(private=True)
        def outer(p: T.handle("int8"), n: T.int32, place: T.int32, pool: T.handle("uint8")):
            P = T.decl_buffer((192,), "uint8", data=pool, align=16)
            r = T.decl_buffer((n * 8,), "int8", data=T.address_of(P[0]))
            Planned.inner(r.data, n, place, pool)
            T.evaluate(T.call_extern("int32", "f", p, r.data))

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), seq: T.int32, pool: T.handle("uint8")):
            place: T.let[T.int32] = (seq * 8 + 15) // 16 * 16
            P = T.decl_buffer((192,), "uint8", data=pool, align=16)
            a = T.decl_buffer((seq * 16,), "int8", data=T.address_of(P[place]))
            Planned.outer(a.data, seq, place, pool)
            T.evaluate(T.call_extern("int32", "f", x, a.data))

        @T.prim_func(private=True)
        def workspace_size_global_workspace(seq: T.int32) -> T.int32:
            place: T.let[T.int32] = (seq * 8 + 15) // 16 * 16
            return seq * 16 + place

    after = planned(Nested)
    assert tirx.analysis.verify_well_formed(after)
    tvm.ir.assert_structural_equal(without_attributes(after), without_attributes(Planned))


def test_bytes_of_the_pool_at_each_size():
    after = planned(Nested)
    found = [bytes_at(after, seq=seq)["global_workspace"] for seq in range(1, 9)]
    assert found == [32, 48, 80, 96, 128, 144, 176, 192]


def test_two_plans_are_the_same():
    assert planned(Nested).script() == planned(Nested).script()


def refused(fault: str, sizes=(SEQ,), **options) -> None:
    with pytest.raises(ValueError) as error:
        planned(Nested, sizes, **options)
    assert fault in str(error.value)


def test_too_many_sizes():
    refused("seq have 1025 combinations: give smaller", [SymbolicSize("seq", 1, 1025)])
    planned(Nested, [SymbolicSize("seq", 1025 - 8, 1024)])


def test_an_unknown_kind_of_offsets():
    refused(
        'unknown word "often" in tir.usmp.dynamic. Words: bound, expression, '
        "TVMBackendAllocWorkspace",
        dynamic="often",
    )
