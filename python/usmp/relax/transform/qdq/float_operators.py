"""Operators of a quantized model that compute in float."""

from __future__ import annotations

from collections import Counter

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, GenericConst

from usmp.ops.views import RESHAPES
from usmp.relax.static_shapes import flatten_types
from usmp.tir.nodes import fields_of

_UNCOUNTED = ("relax.quantize", "relax.dequantize", "relax.shape_of", *RESHAPES)
"""Conversions between floats and integers, and operators that read no element."""


def float_operators(main: relax.Function) -> Counter[str]:
    """Count the operators that read or write float tensors, by name.

    Operators before the first R.quantize and after the last R.dequantize are counted, too, because
    the microcontroller computes them in float. R.quantize, R.dequantize, R.shape_of, reshapes, and
    operators of constants are not counted.
    """
    names: Counter[str] = Counter()
    constants: set[tvm.ir.Var] = set()

    def on_binding(binding: relax.VarBinding) -> None:
        call = binding.value
        if not isinstance(call, Call):
            return
        inputs = _inputs(call)
        if inputs and all(isinstance(i, GenericConst) or i in constants for i in inputs):
            constants.add(binding.var)
        elif _name(call) not in _UNCOUNTED and any(map(_is_float, [*inputs, call])):
            names[operator_name(call)] += 1

    tvm_ffi.structural_walk(main.body, (relax.VarBinding, on_binding))
    return names


def operator_name(call: Call) -> str:
    """Return the name of an operator, as "conv2d", or of the called PrimFunc."""
    return _name(call).removeprefix("relax.").removeprefix("nn.")


def _name(call: Call) -> str:
    """Return the full name of an operator, or of the called PrimFunc."""
    name = str(getattr(call.op, "name", call.op))
    callee = call.args[0] if name.startswith("relax.call_tir") else None
    return str(callee.name_hint) if isinstance(callee, tvm.ir.GlobalVar) else name


def _inputs(call: Call) -> list[relax.Expr]:
    """Return the tensors that a call reads, also those in tuples."""
    leaves = [leaf for argument in call.args for leaf in fields_of(argument)]
    return [leaf for leaf in leaves if isinstance(leaf, (tvm.ir.Var, GenericConst))]


def _is_float(expr: relax.Expr) -> bool:
    return any("float" in str(getattr(ty, "dtype", "")) for ty in flatten_types(expr.ty))
