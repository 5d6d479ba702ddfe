"""The conversion of images of convolutions, quantized or float, to channels last.

    y = conv2d(x, NCHW)          y' = conv2d(permute_dims(x), NHWC)
    z = relu(y)            ->    z' = relu(y')
    w = flatten(z)               w  = flatten(permute_dims(z'))

ONNX and PyTorch have channels first. With channels last, the channels of a pixel are contiguous, so
kernels read whole pixels, and an output pixel can overwrite its input pixel. Other readers of an
image get the original layout by an R.permute_dims.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, GenericConst, IRModule
from tvm.relax.expr_functor import PyExprMutator, mutator

from usmp.ops.emit import shape_of
from usmp.ops.views import RESHAPES
from usmp.relax.replace_main import rewrite_main
from usmp.relax.static_shapes import main_function, size_bytes
from usmp.relax.transform.qdq.image_operators import (
    CONVOLUTIONS,
    Images,
    Last,
    permuted,
    with_channels_last,
)
from usmp.relax.transform.qdq.images import to_channels_first
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name
from usmp.tir.spans import with_all_spans, with_span


def put_channels_last(mod: IRModule, *, of_floats: bool = False) -> IRModule:
    """Convert quantized convolutions of `main`, and operators between them, to channels last.

    Outputs are the same. Dead code is removed. A module without convertible convolutions is
    returned as it is.

    Parameters
    ----------
    of_floats
        whether to convert float convolutions, too, but no transposed ones. Float outputs may be
        rounded otherwise, because sums are computed in another order.
    """
    if not convolves_images(main_function(mod)):
        return mod
    convolutions: list[Call] = []
    rewritten = rewrite_main(mod, lambda mod: _Rewriter(mod, convolutions, of_floats))
    return with_all_spans(rewritten) if convolutions else mod


def convolves_images(main: relax.Function) -> bool:
    """Return whether a function has 1-D or 2-D convolutions, transposed or not."""
    calls = nodes_of(main.body, Call)
    return any(op_name(call) in CONVOLUTIONS for call in calls)


def copies_pay(as_it_is: IRModule, channels_last: IRModule) -> bool:
    """Return whether a module of integer operators is better with channels last.

    The transpositions that channels last adds may move at most an eighth of the bytes that all
    operators move.
    """
    before, after = (_moved_bytes(mod, "relax.permute_dims") for mod in (as_it_is, channels_last))
    operators = _moved_bytes(as_it_is)
    added = sum(after) - sum(before)
    return 8 * added <= sum(operators)


@mutator
class _Rewriter(PyExprMutator):  # type: ignore[misc]
    """A mutator that rewrites bindings in order, and lists the convolutions that it converts."""

    def __init__(self, mod: IRModule, convolutions: list[Call], of_floats: bool) -> None:
        super().__init__(mod)
        self.convolutions = convolutions
        self.images = Images(self.builder_, self.visit_expr, of_floats)

    def visit_binding_block_(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Rewrite a block; its channels-last images are visible only inside."""
        return self._visit(super().visit_binding_block_, block)

    def visit_dataflow_block_(self, block: relax.DataflowBlock) -> relax.BindingBlock:
        """Rewrite a dataflow block; its channels-last images are visible only inside."""
        return self._visit(super().visit_dataflow_block_, block)

    def _visit(
        self, visit: Callable[[relax.BindingBlock], relax.BindingBlock], block: relax.BindingBlock
    ) -> relax.BindingBlock:
        outer, self.images = self.images, replace(self.images, last={})
        visited = visit(block)
        self.images = outer
        return visited

    def visit_var_binding_(self, binding: relax.VarBinding) -> None:
        """Bind the variable to the same values, computed with channels last if possible."""
        self.images.bound[binding.var] = binding.value
        result = with_channels_last(self.images, binding.value)
        if isinstance(result, Last):
            if binding.value.op.name in CONVOLUTIONS:
                self.convolutions.append(binding.value)
            image = self.builder_.emit(with_span(result.value, binding.value.span))
            self.images.last[binding.var] = image
            result = permuted(image, to_channels_first(len(shape_of(image))))
        elif result is not None:
            result = with_span(result, binding.value.span)
        if result is not None:
            binding = relax.VarBinding(binding.var, result)
        super().visit_var_binding_(binding)


def _moved_bytes(mod: IRModule, *names: str) -> list[int]:
    """Return, for each call in `main` of an operator in `names`, or of any except reshapes if there
    are no names, the bytes that it reads and writes, without constants."""
    moved: list[int] = []

    def on_binding(binding: relax.VarBinding) -> None:
        call = binding.value
        if not isinstance(call, Call) or not isinstance(call.op, tvm.ir.Op):
            return
        name = call.op.name
        if name in names if names else name not in RESHAPES:
            read = [part for part in call.args if not isinstance(part, GenericConst)]
            moved.append(sum(map(_size_bytes, [*read, binding.var])))

    tvm_ffi.structural_walk(mod["main"].body, (relax.VarBinding, on_binding))
    return moved


def _size_bytes(expr: relax.Expr) -> int:
    """Return the bytes of all tensors in an expression."""
    if isinstance(expr, relax.Tuple):
        return sum(map(_size_bytes, expr.fields))
    return size_bytes(expr.ty)
