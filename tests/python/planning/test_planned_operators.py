"""The buffers that the operators of a plan read and write."""

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from support.planner_views import plan
from usmp.objects.attributes.module_attributes import MEMORY_PLAN_ATTR

DATA = tvm.runtime.tensor(np.zeros(4, "int8"))


@pytest.mark.parametrize(
    ("mask", "written"),
    [
        (1, ["y"]),
        # Nothing is declared, so the function may write the constant.
        (3, ["weight", "y"]),
    ],
)
def test_constants_that_a_function_outside_of_the_module_gets(mask, written):
    @I.ir_module
    class Mod:
        @T.prim_func
        def call_f(p: T.handle("int8")):
            T.func_attr({"target": T.target("c")})
            weight = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
            T.call_extern(
                "void",
                "f",
                T.tvm_access_ptr(T.type_annotation("int8"), weight.data, 0, 4, mask),
                T.tvm_access_ptr(T.type_annotation("int8"), p, 0, 4, 2),
            )

        @T.prim_func
        def use(p: T.handle("int8"), q: T.handle("int8")):
            T.func_attr({"target": T.target("c")})
            a = T.decl_buffer((4,), "int8", data=p)
            b = T.decl_buffer((4,), "int8", data=q)
            for i in range(4):
                b[i] = a[i]

        @T.prim_func
        def __tvm_main__(out: T.handle("int8")):
            T.func_attr({"target": T.target("c")})
            y = T.alloc_buffer((4,), "int8")
            Mod.call_f(y.data)
            Mod.use(y.data, out)

    first, _ = MEMORY_PLAN_ATTR.required(plan(Mod)).operators
    assert [str(name) for name in first.read] == ["weight"]
    assert [str(name) for name in first.written] == written
