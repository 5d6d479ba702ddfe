"""Signed integers in place of unsigned ones between operators.

    R.dequantize(R.quantize(x, s, 130, "uint8"))  ->  R.dequantize(R.quantize(x, s, 2, "int8"))

Integers and zero points decrease by 128, so real numbers are unchanged. Kernels exist for signed
integers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tvm import relax
from tvm.ir import Call, GenericConst, IRModule, Var
from tvm.relax.expr_functor import PyExprMutator, mutator

from usmp.ops.quantized import OutputLimits, Quantization
from usmp.relax.replace_main import rewrite_main
from usmp.relax.transform.qdq.graph import Output
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name
from usmp.tir.spans import keeps_span, with_span

_OFFSET = 128
_UNSIGNED = "uint8"


def use_signed_integers(mod: IRModule) -> IRModule:
    """Convert results of R.quantize, and constants, that only R.dequantize reads in `main`.

    Inputs and outputs keep their types. A module without other unsigned integers is returned as it
    is.
    """
    main = mod["main"]
    results = _results(main)
    reads = [call for call in nodes_of(main.body, Call) if _is(call, "relax.dequantize")]
    if not results and not any(_is_unsigned_constant(call.args[0]) for call in reads):
        return mod
    return rewrite_main(mod, lambda mod: _Rewriter(mod, results))


def signed(quantization: Quantization) -> Quantization:
    """Return the int8 quantization that is equivalent to one of uint8; return others as they
    are."""
    if quantization.dtype != _UNSIGNED:
        return quantization
    zero_points = tuple(zero_point - _OFFSET for zero_point in quantization.zero_points)
    return replace(quantization, dtype="int8", zero_points=zero_points)


def signed_output(output: Output) -> Output:
    """Return the output of an operator with a signed quantization."""
    before = output.quantization
    after = signed(before)
    if before == after:
        return output
    least, greatest = output.limits.minimum - _OFFSET, output.limits.maximum - _OFFSET
    return Output(after, OutputLimits(after.dtype, least, greatest))


def _results(main: relax.Function) -> set[Var]:
    """Return the variables of unsigned integers that only R.dequantize reads."""
    unsigned: set[Var] = set()
    read: set[Var] = set(nodes_of(main.body.body, Var))
    for block in main.body.blocks:
        for binding in block.bindings:
            value = getattr(binding, "value", binding)
            if _is(value, "relax.quantize") and str(value.attrs.out_dtype) == _UNSIGNED:
                unsigned.add(binding.var)
            if not _is(value, "relax.dequantize"):
                read.update(nodes_of(value, Var))
    return unsigned - read


@mutator
class _Rewriter(PyExprMutator):  # type: ignore[misc]
    """A mutator that rewrites each R.quantize and R.dequantize of unsigned integers."""

    def __init__(self, mod: IRModule, results: set[Var]) -> None:
        super().__init__(mod)
        self.results = results

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        """Bind the variable to signed integers."""
        if binding.var not in self.results:
            super().visit_var_binding_(binding)
            return
        data, scale, zero_point = binding.value.args
        axis = int(binding.value.attrs.axis)
        quantized = relax.op.quantize(
            self.visit_expr(data), self.visit_expr(scale), _less(zero_point), axis, "int8"
        )
        quantized = with_span(quantized, binding.value.span)
        self.set_var_remap(binding.var, self.builder_.emit(quantized))

    @keeps_span
    def visit_call_(self, call: Call) -> relax.Expr:
        """Dequantize integers that are signed now."""
        data = call.args[0] if _is(call, "relax.dequantize") else None
        is_signed = isinstance(data, Var) and data in self.results
        if not (is_signed or _is_unsigned_constant(data)):
            return super().visit_call_(call)
        _, scale, zero_point = call.args
        source = self.visit_expr(data) if is_signed else _less(data)
        attrs = call.attrs
        return relax.op.dequantize(
            source, self.visit_expr(scale), _less(zero_point), int(attrs.axis), attrs.out_dtype
        )


def _is(value: object, name: str) -> bool:
    """Return whether a value is a call of an operator with a constant zero point."""
    if not isinstance(value, Call) or op_name(value) != name:
        return False
    return isinstance(value.args[2], GenericConst)


def _is_unsigned_constant(value: object) -> bool:
    return (
        isinstance(value, GenericConst)
        and isinstance(value.ty, relax.TensorType)
        and str(value.ty.dtype) == _UNSIGNED
    )


def _less(constant: GenericConst) -> GenericConst:
    """Return a constant minus 128."""
    values = constant.value.numpy()
    dtype = np.dtype(np.int8) if values.dtype == np.uint8 else values.dtype
    return relax.const((values.astype(np.int64) - _OFFSET).astype(dtype))
