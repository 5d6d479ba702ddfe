"""Models in TIR whose shapes depend on sizes that each run is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import tvm
from tvm import tirx
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.objects import TensorInfo
from usmp.objects.attributes import (
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
) -> IRModule:
    """A module whose main function has inputs, outputs and sizes, for a target."""
    main = mod[MAIN_FUNCTION_NAME].with_attrs(
        {
            INPUT_TENSORS_ATTR: list(tensors[0]),
            OUTPUT_TENSORS_ATTR: list(tensors[1]),
            SYMBOLIC_SIZES_ATTR: list(sizes),
        }
    )
    mod = IRModule({**mod.functions, mod.get_global_var(MAIN_FUNCTION_NAME): main})
    return tirx.transform.BindTarget(tvm.target.Target(target))(mod)


def build_symbolic(
    mod: IRModule = Attending,
    tensors: tuple[Sequence[TensorInfo], Sequence[TensorInfo]] | None = None,
    sizes: Sequence[SymbolicSize] = (SymbolicSize("seq", 1, LONGEST),),
    target: str = "c",
    module_name: str = "default",
    board: object = None,
    attrs: Mapping[str, object] | None = None,
    **options: object,
) -> AOTExecutorFactoryModule:
    """A compiled model; `options` are those of `tir.usmp`."""
    mod = with_interface(mod, tensors or attending_tensors(), sizes, target)
    with PassContext(config={f"tir.usmp.{name}": value for name, value in options.items()}):
        planned = UnifiedStaticMemoryPlanner()(mod.with_attrs(dict(attrs or {})))
    return AOTExecutorFactoryModule(planned, module_name, board)
