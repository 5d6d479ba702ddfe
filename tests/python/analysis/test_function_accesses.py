"""How often each PrimFunc accesses memory."""

from __future__ import annotations

from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.analysis.function_accesses import function_accesses


@I.ir_module
class Mod:
    """Two entries, and operators that they call once, twice, and through another one."""

    @T.prim_func(private=True)
    def copied(p: T.handle("int8"), q: T.handle("int8")):
        a = T.decl_buffer((8,), "int8", data=p)
        b = T.decl_buffer((8,), "int8", data=q)
        for i in range(8):
            b[i] = a[i]

    @T.prim_func(private=True)
    def filled(p: T.handle("int8")):
        a = T.decl_buffer((8,), "int8", data=p)
        scratch = T.alloc_buffer((4,), "int8")
        for i in range(4):
            scratch[i] = T.int8(1)
        for i in range(8):
            a[i] = scratch[i // 2]

    @T.prim_func(private=True)
    def unused(p: T.handle("int8")):
        a = T.decl_buffer((8,), "int8", data=p)
        a[0] = T.int8(1)

    @T.prim_func
    def first(x: T.handle("int8"), y: T.handle("int8")):
        b = T.alloc_buffer((8,), "int8")
        Mod.copied(x, b.data)
        Mod.copied(b.data, y)

    @T.prim_func
    def second(y: T.handle("int8")):
        Mod.filled(y)


def test_loads_and_stores_over_all_calls():
    assert function_accesses(["first"], Mod) == {"copied": 32}
    assert function_accesses(["second"], Mod) == {"filled": 20}
    assert function_accesses(["first", "second"], Mod) == {"copied": 32, "filled": 20}
