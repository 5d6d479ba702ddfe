"""Models in TIR whose shapes depend on sizes of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.planner_contexts import planner_context
from usmp.boards.board import Board
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.objects import TensorInfo
from usmp.objects.attributes.module_attributes import (
    ENTRIES_ATTR,
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSORS_ATTR,
    SYMBOLIC_SIZES_ATTR,
)
from usmp.objects.symbolic_size import SymbolicSize
from usmp.transform import UnifiedStaticMemoryPlanner

LONGEST = 16
"""The greatest `seq`."""
WIDTH = 4


@I.ir_module
class Attending:
    """Scores of all pairs of rows of x, by which every other row of y adds up rows of x."""

    @T.prim_func(private=True)
    def scores(p: T.handle("float32"), q: T.handle("float32"), seq: T.int32):
        P = T.decl_buffer((seq * 4,), "float32", data=p)
        Q = T.decl_buffer((seq * seq,), "float32", data=q)
        for i, j in T.grid(seq, seq):
            Q[i * seq + j] = T.float32(0)
            for k in range(4):
                Q[i * seq + j] = Q[i * seq + j] + P[i * 4 + k] * P[j * 4 + k]

    @T.prim_func(private=True)
    def mix(p: T.handle("float32"), q: T.handle("float32"), r: T.handle("float32"), seq: T.int32):
        P = T.decl_buffer((seq * 4,), "float32", data=p)
        Q = T.decl_buffer((seq * seq,), "float32", data=q)
        R = T.decl_buffer((((seq - 1) // 2 + 1) * 4,), "float32", data=r)
        for i, k in T.grid((seq - 1) // 2 + 1, 4):
            R[i * 4 + k] = T.float32(0)
            for j in range(seq):
                R[i * 4 + k] = R[i * 4 + k] + Q[i * 2 * seq + j] * P[j * 4 + k]

    @T.prim_func
    def __tvm_main__(x: T.handle("float32"), y: T.handle("float32"), seq: T.int32):
        a = T.alloc_buffer((LONGEST * LONGEST,), "float32")
        Attending.scores(x, a.data, seq)
        Attending.mix(x, a.data, y, seq)


def attending(x: np.ndarray) -> np.ndarray:
    """What `Attending` computes."""
    rows = x[0].astype(np.float64)
    return ((rows @ rows.T)[::2] @ rows)[np.newaxis]


def seq_shapes(name: str = "seq") -> tuple[list, list]:
    """The shapes of x and y as expressions of a variable."""
    seq = tirx.Var(name, "int64")
    return [1, seq, WIDTH], [1, tirx.floordiv(seq - 1, 2) + 1, WIDTH]


def attending_tensors(name: str = "seq") -> tuple[list[TensorInfo], list[TensorInfo]]:
    """The tensors of `Attending`."""
    x, y = seq_shapes(name)
    return (
        [TensorInfo("x", [1, LONGEST, WIDTH], "float32", symbolic_shape=x)],
        [TensorInfo("y", [1, (LONGEST - 1) // 2 + 1, WIDTH], "float32", symbolic_shape=y)],
    )


def with_interface(
    mod: IRModule,
    tensors: tuple[Sequence[TensorInfo], Sequence[TensorInfo]],
    sizes: Sequence[SymbolicSize],
    target: str = "c",
    name: str = MAIN_FUNCTION_NAME,
) -> IRModule:
    """A module whose main function, or that of an entry, has inputs, outputs and sizes."""
    main = mod[name].with_attrs(
        {
            INPUT_TENSORS_ATTR.name: list(tensors[0]),
            OUTPUT_TENSORS_ATTR.name: list(tensors[1]),
            SYMBOLIC_SIZES_ATTR.name: list(sizes),
        }
    )
    mod = IRModule({**mod.functions, mod.get_global_var(name): main})
    return tirx.transform.BindTarget(tvm.target.Target(target))(mod)


def build_symbolic(
    mod: IRModule = Attending,
    tensors: tuple[Sequence[TensorInfo], Sequence[TensorInfo]] | None = None,
    sizes: Sequence[SymbolicSize] = (SymbolicSize("seq", 1, LONGEST),),
    target: str = "c",
    module_name: str = "default",
    board: Board | None = None,
    attrs: Mapping[str, object] | None = None,
    **options: object,
) -> AOTExecutorFactoryModule:
    """A compiled model; `options` are those of `tir.usmp`."""
    mod = with_interface(mod, tensors or attending_tensors(), sizes, target)
    with planner_context(options):
        planned = UnifiedStaticMemoryPlanner()(mod.with_attrs(dict(attrs or {})))
    return AOTExecutorFactoryModule(planned, module_name, board)


@I.ir_module
class TwoSizes:
    """The entry `outer` multiplies all pairs of two vectors; `total` adds up one."""

    @T.prim_func(private=True)
    def copy(p: T.handle("int32"), q: T.handle("int32"), columns: T.int32):
        P = T.decl_buffer((columns,), "int32", data=p)
        Q = T.decl_buffer((columns,), "int32", data=q)
        for i in range(columns):
            Q[i] = P[i]

    @T.prim_func(private=True)
    def products(
        p: T.handle("int32"),
        q: T.handle("int32"),
        r: T.handle("int32"),
        rows: T.int32,
        columns: T.int32,
    ):
        P = T.decl_buffer((rows,), "int32", data=p)
        Q = T.decl_buffer((columns,), "int32", data=q)
        R = T.decl_buffer((rows * columns,), "int32", data=r)
        for i, j in T.grid(rows, columns):
            R[i * columns + j] = P[i] * Q[j]

    @T.prim_func(private=True)
    def sums(p: T.handle("int32"), q: T.handle("int32"), rows: T.int32):
        P = T.decl_buffer((rows,), "int32", data=p)
        Q = T.decl_buffer((1,), "int32", data=q)
        Q[0] = 0
        for i in range(rows):
            Q[0] = Q[0] + P[i]

    @T.prim_func
    def __tvm_outer__(
        a: T.handle("int32"),
        b: T.handle("int32"),
        y: T.handle("int32"),
        rows: T.int32,
        columns: T.int32,
    ):
        between = T.alloc_buffer((7,), "int32")
        TwoSizes.copy(b, between.data, columns)
        TwoSizes.products(a, between.data, y, rows, columns)

    @T.prim_func
    def __tvm_total__(a: T.handle("int32"), y: T.handle("int32"), rows: T.int32):
        TwoSizes.sums(a, y, rows)


def build_two_sizes(board: Board | None = None, **options: object) -> AOTExecutorFactoryModule:
    """`TwoSizes`, compiled; `options` are those of `tir.usmp`."""
    rows, columns = (tirx.Var(name, "int64") for name in ("rows", "columns"))

    def tensor(name: str, shape: list[int], *symbolic: tirx.Var) -> TensorInfo:
        return TensorInfo(name, shape, "int32", symbolic_shape=list(symbolic))

    outer = (
        [tensor("a", [5], rows), tensor("b", [7], columns)],
        [tensor("y", [5, 7], rows, columns)],
    )
    total = [tensor("a", [9], rows)], [tensor("y", [1])]
    sizes = [SymbolicSize("rows", 1, 5), SymbolicSize("columns", 1, 7)]
    mod = with_interface(TwoSizes, outer, sizes, name="__tvm_outer__")
    mod = with_interface(mod, total, [SymbolicSize("rows", 1, 9)], name="__tvm_total__")
    with planner_context(options):
        planned = UnifiedStaticMemoryPlanner()(mod.with_attr(ENTRIES_ATTR.name, ["outer", "total"]))
    return AOTExecutorFactoryModule(planned, "default", board)
