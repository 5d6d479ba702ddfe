"""Programs with buffers whose size only the run knows, from TIR to a loaded model."""

from __future__ import annotations

import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.planner_contexts import planner_context
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.objects import TensorInfo
from usmp.objects.arguments.executor import Executor
from usmp.objects.attributes.module_attributes import EXECUTOR_ATTR
from usmp.transform import LowerDynamicAllocations, PoisonDeadBytes, UnifiedStaticMemoryPlanner

MOST = 64
"""Elements of the inputs and outputs."""


@I.ir_module
class Net:
    """Increments the first `count` elements of `x` four times; `op` allocates, and so does main."""

    @T.prim_func(private=True)
    def op(A: T.handle("int8"), B: T.handle("int8"), n: T.int32):
        a = T.decl_buffer((n,), "int8", data=A)
        b = T.decl_buffer((n,), "int8", data=B)
        scratch = T.alloc_buffer((n * 2,), "int32")
        for i in range(n):
            scratch[i * 2] = T.Cast("int32", a[i])
        for i in range(n):
            b[i] = T.Cast("int8", scratch[i * 2] + 1)

    @T.prim_func(private=True)
    def __tvm_main__(x: T.handle("int8"), count: T.handle("int32"), y: T.handle("int8")):
        counts = T.decl_buffer((1,), "int32", data=count)
        n: T.let[T.int32] = counts[0]
        a = T.alloc_buffer((n,), "int8")
        b = T.alloc_buffer((n,), "int8")
        c = T.alloc_buffer((64,), "int8")
        Net.op(x, a.data, n)
        Net.op(a.data, b.data, n)
        Net.op(b.data, c.data, n)
        Net.op(c.data, y, n)


def described(mod: IRModule, target: str = "c") -> IRModule:
    """A module like `Net` with its target and the tensors of its main function."""
    mod = tirx.transform.BindTarget(tvm.target.Target(target))(mod)
    main = mod["__tvm_main__"]
    main = main.with_attr(
        "input_tensors", [TensorInfo("x", [MOST], "int8"), TensorInfo("count", [1], "int32")]
    )
    main = main.with_attr("output_tensors", [TensorInfo("y", [MOST], "int8")])
    mod.update_func(mod.get_global_var("__tvm_main__"), main)
    return mod


def lowered(
    mod: IRModule, *, poison: bool = False, executor: Executor | None = None, **options: str
) -> IRModule:
    """`mod` after planning, with calls in the place of what is dynamic.

    `options` are those of planning, without `tir.usmp.`.
    """
    if executor is not None:
        mod = mod.with_attr(EXECUTOR_ATTR.name, executor)
    with planner_context(options):
        mod = LowerDynamicAllocations()(UnifiedStaticMemoryPlanner()(mod))
        return PoisonDeadBytes()(mod) if poison else mod


def built(mod: IRModule, name: str = "net", **options: bool | str) -> AOTExecutorFactoryModule:
    """The model that a module like `Net` is."""
    return AOTExecutorFactoryModule(lowered(described(mod), **options), name)
