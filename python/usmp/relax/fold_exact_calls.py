"""Folding of calls on constants with NumPy, where compiled code gives the same bits.

TVM's FoldConstant compiles and links each function that it runs, which takes a tenth of a second;
large models have dozens of functions that only move the elements of a constant.
"""

from __future__ import annotations

from collections.abc import Iterable

from tvm import relax, tirx
from tvm.ir import GenericConst, IRModule, Var

from usmp.ops.emit import static_shape
from usmp.ops.views import RESHAPES
from usmp.relax.exact_elements import Elements, exact_elements
from usmp.tir.op_names import op_name

_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
"""Element types that TVM and NumPy store alike."""

_Known = dict[Var, GenericConst]


def fold_exact_calls(mod: IRModule) -> IRModule:
    """Replace calls on constants by their results where NumPy can compute these exactly.

    FoldConstant has to run afterwards, because unused constants are not removed here.
    """
    folded = IRModule(mod.functions, attrs=mod.attrs)
    for variable, func in mod.functions.items():
        if isinstance(func, relax.Function) and isinstance(func.body, relax.SeqExpr):
            folded.update_func(variable, _folded(func, mod))
    return folded


def _folded(func: relax.Function, mod: IRModule) -> relax.Function:
    known: _Known = {}
    blocks = [
        _folded_block(block, known, mod) if isinstance(block, relax.DataflowBlock) else block
        for block in func.body.blocks
    ]
    body = relax.SeqExpr(blocks, func.body.body, func.body.span)
    return relax.Function(func.params, body, func.ret_ty, func.is_pure, func.attrs, func.span)


def _folded_block(block: relax.DataflowBlock, known: _Known, mod: IRModule) -> relax.DataflowBlock:
    """Return the block with calls replaced by constants, and add the constants to `known`."""
    bindings = []
    for binding in block.bindings:
        if isinstance(binding, relax.VarBinding):
            elements = _result(binding.value, known, mod)
            if elements is not None:
                # Name the type, because relax.const narrows 64-bit types to 32 bits by default.
                known[binding.var] = relax.const(elements, str(elements.dtype))
                binding = relax.VarBinding(binding.var, known[binding.var], binding.span)
        bindings.append(binding)
    return relax.DataflowBlock(bindings, block.span)


def _result(value: relax.Expr, known: _Known, mod: IRModule) -> Elements | None:
    """Return the result of a call on constants, or None if NumPy cannot compute it exactly."""
    name = op_name(value)
    if name in RESHAPES:
        shape, constants = static_shape(value.ty), _elements([value.args[0]], known)
        return None if shape is None or constants is None else constants[0].reshape(shape)
    if name != "relax.call_tir" or not isinstance(value.args[1], relax.Tuple):
        return None
    func, constants = mod.functions.get(value.args[0]), _elements(value.args[1].fields, known)
    if not isinstance(func, tirx.PrimFunc) or constants is None:
        return None
    return exact_elements(func, constants)


def _elements(exprs: Iterable[relax.Expr], known: _Known) -> list[Elements] | None:
    """Return the elements of `exprs`, or None if one is no constant."""
    constants = [known.get(expr) if isinstance(expr, Var) else expr for expr in exprs]
    if not all(isinstance(c, GenericConst) and str(c.ty.dtype) in _DTYPES for c in constants):
        return None
    return [constant.value.numpy() for constant in constants if constant is not None]
