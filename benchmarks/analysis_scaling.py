"""Measure how the time of `usmp.analysis.extract_buffer_info` grows with the size of a program.

Each program is a chain of operators in `__tvm_main__`. Every operator is a separate PrimFunc with
scratch memory and two loop nests, and every tensor is read again two operators later.

    python benchmarks/analysis_scaling.py
"""

from __future__ import annotations

import time

import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, PrimType

from usmp.analysis import extract_buffer_info
from usmp.transform import AssignPoolInfo

CALLS = (500, 1000, 2000, 4000, 8000)
ELEMENTS = 60
TARGET = tvm.target.Target("c")


def loop(destination: tirx.Buffer, *sources: tirx.Buffer) -> tirx.For:
    """Return the loop `destination[i] = sum of sources[i]` for all i."""
    index = tirx.Var("i", "int32")
    value = sources[0][index]
    for source in sources[1:]:
        value = value + source[index]
    store = tirx.BufferStore(destination, value, [index])
    return tirx.For(index, 0, ELEMENTS, tirx.ForKind.SERIAL, store)


def tensor(name: str) -> tirx.Buffer:
    """Return a flat int8 tensor."""
    return tirx.decl_buffer((ELEMENTS,), "int8", name)


def operator() -> tirx.PrimFunc:
    """Return the operator `c = (a + b) + a`, which computes `a + b` in scratch memory."""
    pointers = [tirx.Var(f"{name}_ptr", PointerType(PrimType("int8"))) for name in "abc"]
    a, b, c, scratch = (tensor(name) for name in ("a", "b", "c", "scratch"))
    declarations = [
        tirx.DeclBuffer(buffer, data=pointer)
        for buffer, pointer in zip((a, b, c), pointers, strict=True)
    ]
    body = [*declarations, tirx.AllocBuffer(scratch), loop(scratch, a, b), loop(c, scratch, a)]
    return tirx.PrimFunc(pointers, tirx.SeqStmt(body)).with_attr("target", TARGET)


def program(calls: int) -> IRModule:
    """Return a module whose `__tvm_main__` calls a chain of `calls` operators."""
    operators = {GlobalVar(f"operator_{index}"): operator() for index in range(calls)}
    params = [tirx.Var(f"{name}_ptr", PointerType(PrimType("int8"))) for name in "xyz"]
    tensors = [tensor(f"t{index}") for index in range(calls - 1)]
    values = [*params[:2], *(buffer.data for buffer in tensors), params[2]]
    body: list[tirx.Stmt] = [tirx.AllocBuffer(buffer) for buffer in tensors]
    for index, variable in enumerate(operators):
        arguments = values[index : index + 3]
        body.append(tirx.Evaluate(Call(variable, arguments, ret_ty=tvm.ir.TupleType([]))))
    main = tirx.PrimFunc(params, tirx.SeqStmt(body)).with_attr("target", TARGET)
    return AssignPoolInfo()(IRModule({**operators, GlobalVar("__tvm_main__"): main}))


def main() -> None:
    """Print the table."""
    print(f"{'calls':>6} {'buffers':>8} {'seconds':>8} {'us/call':>8}")
    for calls in CALLS:
        mod = program(calls)
        start = time.perf_counter()
        analysis = extract_buffer_info(mod["__tvm_main__"], mod)
        seconds = time.perf_counter() - start
        buffers = len(analysis.buffer_info_stmts)
        print(f"{calls:>6} {buffers:>8} {seconds:>8.2f} {seconds / calls * 1e6:>8.0f}")


if __name__ == "__main__":
    main()
