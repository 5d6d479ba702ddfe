"""Small programs, planned, and where everything is then."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.planner_contexts import planner_context
from support.streamed_graphs import main_function, module, operator
from usmp.objects import (
    ConstantMemoryPools,
    PoolInfoProperties,
    TensorInfo,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.objects.attributes.module_attributes import (
    CONSTANT_MEMORY_POOLS_ATTR,
    INPUT_TENSORS_ATTR,
    MEMORY_PLAN_ATTR,
    OUTPUT_TENSORS_ATTR,
    POOL_ARGS_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.transform import UnifiedStaticMemoryPlanner

TARGET = tvm.target.Target("c")
DATA = tvm.runtime.tensor(np.arange(4, dtype="int8"))


def _chain(operator_text: str) -> IRModule:
    """x -> a (32 bytes) -> b (48 bytes) -> c (16 bytes) -> y, each by the same operator `op`."""
    tensors = [("a", 32, "int8"), ("b", 48, "int8"), ("c", 16, "int8")]
    calls = ["op x a", "op a b", "op b c", "op c y"]
    return module(operator_text, main_function([("x", "int8"), ("y", "int8")], tensors, calls))


Chain = _chain(
    """
    @T.prim_func
    def op(p: T.handle("int8"), q: T.handle("int8")):
        T.evaluate(T.call_extern("int32", "f", p, q))
    """
)
"""Nobody knows in which order the function reads and writes, so nothing may overlap."""

Copies = _chain(
    operator(
        "op",
        [("p", 16, "int8"), ("q", 16, "int8")],
        """
        for i in range(16):
            Q[i] = P[i]
        """,
    )
)
"""Operators that read and write one element after the other."""


@I.ir_module
class WithScratch:
    """`first` needs scratch, `second` needs a constant, `third` neither."""

    @T.prim_func
    def first(p: T.handle("int8"), q: T.handle("int8")):
        scratch = T.alloc_buffer((16,), "int8")
        T.evaluate(T.call_extern("int32", "f", p, scratch.data, q))

    @T.prim_func
    def second(p: T.handle("int8"), q: T.handle("int8")):
        weights = T.alloc_buffer((4,), "int8", annotations={"constant_data": DATA})
        T.evaluate(T.call_extern("int32", "g", p, weights.data, q))

    @T.prim_func
    def third(p: T.handle("int8"), q: T.handle("int8")):
        T.evaluate(T.call_extern("int32", "h", p, q))

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        WithScratch.first(x, y)
        WithScratch.second(x, y)
        WithScratch.third(x, y)


def bound(mod, pools=(), constant_pools=(), **attrs):
    if pools:
        attrs[WORKSPACE_MEMORY_POOLS_ATTR.name] = WorkspaceMemoryPools(pools)
    if constant_pools:
        attrs[CONSTANT_MEMORY_POOLS_ATTR.name] = ConstantMemoryPools(constant_pools)
    return tirx.transform.BindTarget(TARGET)(mod).with_attrs(attrs)


def workspace(name, size_hint_bytes=-1):
    return WorkspacePoolInfo(name, [TARGET], PoolInfoProperties(size_hint_bytes))


def plan(mod, pools=(), constant_pools=(), **config):
    with planner_context(config):
        planned = UnifiedStaticMemoryPlanner()(bound(mod, pools, constant_pools))
    assert tirx.analysis.verify_well_formed(planned)
    return planned


def places(planned):
    return {
        b.name: (b.pool_name, b.byte_offset) for b in planned.attrs[MEMORY_PLAN_ATTR.name].buffers
    }


def offsets(planned):
    return {name: offset for name, (_, offset) in places(planned).items()}


def pool_args(func_or_mod):
    return [
        (arg.pool_info.pool_name, arg.allocated_size)
        for arg in func_or_mod.attrs[POOL_ARGS_ATTR.name]
    ]


def with_io(mod):
    main = mod["__tvm_main__"].with_attrs(
        {
            INPUT_TENSORS_ATTR.name: [TensorInfo("in", [16], "int8")],
            OUTPUT_TENSORS_ATTR.name: [TensorInfo("out", [16], "int8")],
        }
    )
    told = tvm.IRModule(mod.functions, attrs=mod.attrs)
    told.update_func(mod.get_global_var("__tvm_main__"), main)
    return told


def first_line(error):
    """The message without the source that TVM shows below it."""
    return str(error.value).partition("\n")[0]
