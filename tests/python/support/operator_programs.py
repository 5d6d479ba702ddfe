"""Main functions whose calls can be made in several orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class Operators:
    """`widen` makes 64 bytes of 16, `narrow` 16 of 64; `add` adds 16 to 16, `step` 1 to 64."""

    @T.prim_func
    def widen(p: T.handle("int8"), q: T.handle("int8")):
        P = T.decl_buffer((16,), "int8", data=p)
        Q = T.decl_buffer((64,), "int8", data=q)
        for i, j in T.grid(4, 16):
            Q[i * 16 + j] = P[j] + T.Cast("int8", i)

    @T.prim_func
    def narrow(p: T.handle("int8"), q: T.handle("int8")):
        P = T.decl_buffer((64,), "int8", data=p)
        Q = T.decl_buffer((16,), "int8", data=q)
        for i in range(16):
            Q[i] = P[i] + P[63 - i]

    @T.prim_func
    def step(p: T.handle("int8"), q: T.handle("int8")):
        P = T.decl_buffer((64,), "int8", data=p)
        Q = T.decl_buffer((64,), "int8", data=q)
        for i in range(64):
            Q[i] = P[i] + T.int8(1)

    @T.prim_func
    def add(p: T.handle("int8"), q: T.handle("int8"), r: T.handle("int8")):
        P = T.decl_buffer((16,), "int8", data=p)
        Q = T.decl_buffer((16,), "int8", data=q)
        R = T.decl_buffer((16,), "int8", data=r)
        for i in range(16):
            R[i] = P[i] + Q[i]


def network(
    params: str,
    sizes: Mapping[str, int],
    calls: Sequence[str],
    views: Mapping[str, str] | None = None,
) -> IRModule:
    """The operators with a main function that calls them.

    Parameters
    ----------
    params
        names of int8 buffers of 16 bytes.
    sizes
        bytes of what is allocated, by name.
    calls
        as "widen x a".
    views
        name to tensor and first byte, as "a 64".
    """
    tensors = {name: tirx.decl_buffer((16,), "int8", name) for name in params.split()}
    buffers = {name: tirx.decl_buffer((size,), "int8", name) for name, size in sizes.items()}
    stmts: list[tirx.Stmt] = [tirx.AllocBuffer(buffer) for buffer in buffers.values()]
    for name, place in (views or {}).items():
        whole, first = place.split()
        address = tirx.address_of(tirx.BufferLoad(buffers[whole], [int(first)]))
        buffers[name] = tirx.decl_buffer((64,), "int8", name)
        stmts.append(tirx.DeclBuffer(buffers[name], data=address))
    for call in calls:
        operator, *names = call.split()
        arguments = [{**tensors, **buffers}[name].data for name in names]
        variable = Operators.get_global_var(operator)
        stmts.append(tirx.Evaluate(Call(variable, arguments, ret_ty=tvm.ir.TupleType([]))))
    functions = dict(Operators.functions.items())
    functions[GlobalVar("__tvm_main__")] = tirx.PrimFunc(
        list(tensors.values()), tirx.SeqStmt(stmts)
    )
    return IRModule(functions)


BRANCHES = network(
    "x y",
    {"a": 64, "b": 64, "c": 16, "d": 16},
    ["widen x a", "widen x b", "narrow a c", "narrow b d", "add c d y"],
)
"""Two branches that are wide first; the importer begins with both wide tensors."""
