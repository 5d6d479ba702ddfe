"""Evaluation of operators at compile time, with TVM's LLVM."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, Op, PointerType, PrimType, TupleType
from tvm.target import Target

from usmp.codegen.c.calls import extern_name
from usmp.codegen.llvm.expressions import UnsupportedByLLVM
from usmp.codegen.llvm.intrinsics import LLVM_INTRINSICS
from usmp.codegen.llvm.module import compile_functions
from usmp.support.tvm_errors import apply_to_functions
from usmp.tir.intrinsics import is_low_bits_function
from usmp.tir.math_functions import MATH_FUNCTIONS
from usmp.tir.nodes import nodes_of

_SYMBOL = "evaluate"


def evaluate(func: tirx.PrimFunc, arguments: Sequence[np.ndarray], result: np.ndarray) -> None:
    """Run `func` and write its result into `result`.

    Integers equal those of the emitted C. Floating-point functions are those of this host.

    Parameters
    ----------
    func
        flat TIR that takes typed pointers, the last one to the result.
    arguments
        the arrays for the other pointers.

    Raises
    ------
    UnsupportedByLLVM
        `func` calls functions that only the emitted C has.
    """
    for call in nodes_of(func.body, Call):
        if not _is_known(call):
            raise UnsupportedByLLVM(f"{extern_name(call)} is not there at compile time")
    operator = GlobalVar("operator")
    targeted = IRModule({operator: func.with_attr("target", Target("c"))})
    lowered = apply_to_functions(tirx.transform.LowerIntrin(), targeted)[operator]
    lowered, buffers = _without_allocations(lowered)
    scratch = [
        np.zeros([int(extent) for extent in buffer.shape], str(buffer.dtype)) for buffer in buffers
    ]
    memory = [*map(np.ascontiguousarray, arguments), result, *scratch]
    caller = _called_by_address(operator, lowered)
    module = IRModule({operator: lowered, GlobalVar(_SYMBOL): caller})
    # Use the prefix with which a TVM module finds a function.
    built = compile_functions(module, {_SYMBOL: f"__tvm_ffi_{_SYMBOL}"}, Target("llvm"))
    built[_SYMBOL](*(array.ctypes.data for array in memory))


def _is_known(call: Call) -> bool:
    """Return whether the called function exists at compile time."""
    name = extern_name(call)
    known = name is None or name in (*LLVM_INTRINSICS, *MATH_FUNCTIONS)
    return known or is_low_bits_function(str(name))


def _without_allocations(func: tirx.PrimFunc) -> tuple[tirx.PrimFunc, list[tirx.Var]]:
    """Return the function with parameters instead of allocations, and the allocated buffers.
    Allocations may be too large for the stack."""
    pointers: list[tirx.Var] = []
    buffers: list[tirx.Var] = []

    def declared(stmt: tirx.AllocBuffer) -> tirx.Stmt:
        buffer = stmt.buffer
        pointers.append(tirx.Var(str(buffer.name), PointerType(PrimType(str(buffer.dtype)))))
        buffers.append(buffer)
        return tirx.DeclBuffer(buffer, data=pointers[-1])

    body = tvm_ffi.structural_map(func.body, (tirx.AllocBuffer, declared))
    return tirx.PrimFunc([*func.params, *pointers], body, func.ret_type, func.attrs), buffers


def _called_by_address(operator: GlobalVar, func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Return a function in tvm-ffi's calling convention that takes addresses as integers and calls
    the operator. An argument has 16 bytes, with its value in the last eight."""
    unused, result = (tirx.Var(n, PointerType(PrimType("void"))) for n in ("unused", "result"))
    pointer = tirx.Var("arguments", PointerType(PrimType("int64")))
    count = tirx.Var("count", "int32")
    values = tirx.decl_buffer((2 * len(func.params),), "int64", "values")
    addresses = [
        Call(Op.get("tirx.reinterpret"), [values[2 * index + 1]], ret_ty=param.ty)
        for index, param in enumerate(func.params)
    ]
    body = tirx.SeqStmt(
        [
            tirx.DeclBuffer(values, data=pointer),
            tirx.Evaluate(Call(operator, addresses, ret_ty=TupleType([]))),
            tirx.Return(tirx.IntImm("int32", 0)),
        ]
    )
    return tirx.PrimFunc([unused, pointer, count, result], body, PrimType("int32"))
