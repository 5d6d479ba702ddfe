"""FoldPadding: explicit zero padding becomes padding of the convolutions that read it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import Call, IRModule, Var

from usmp.ops.emit import extents_of
from usmp.passes import ModulePass
from usmp.relax.convolutions import convolution_like
from usmp.relax.replace_main import with_main_body
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.qdq.graph import INTEGER_TYPES, Graph
from usmp.tir.model_operator import joined_span
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name
from usmp.tir.spans import with_span

_CONVOLUTIONS = tuple(f"relax.nn.conv{rank}d" for rank in (1, 2, 3))


@tvm.transform.module_pass(opt_level=0, name="usmp.FoldPadding")
class FoldPadding(ModulePass):
    """Fold `nn.pad` with zeros into the padding of the convolutions that read the result.

        conv2d(nn.pad(x, [0, 0, 0, 0, 1, 1, 1, 1]))  ->  conv2d(x, padding=[1, 1, 1, 1])

    PyTorch, and files converted from TensorFlow, write asymmetric padding as `nn.pad`. Folding
    avoids the padded copy of the image. It applies in `main` where only convolutions read the copy,
    also through an `R.quantize` and `R.dequantize` at the scale of the image. Results are the same.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Rewrite `main`."""
        main = main_function(mod)
        function = _read(main)
        folded: set[Var] = set()
        # In reverse order, because the input of a pad may be a pad.
        for var, value in reversed(function.values.items()):
            if op_name(value) == "relax.nn.pad":
                folded |= _fold(function, var, value)
        if not folded:
            return mod
        convolutions = {
            before: function.calls[var] for var, before in function.values.items() if var in folded
        }
        body = tvm_ffi.structural_map(main.body, (Call, lambda call: convolutions.get(call, call)))
        # Padded images have no readers any more.
        return relax.transform.DeadCodeElimination()(with_main_body(mod, body))


@dataclass(frozen=True)
class _Main:
    """The function that is being rewritten.

    Parameters
    ----------
    values
        variable -> the value that it is bound to.
    readers
        variable -> results of calls that read it as first argument; None for any other reader.
    calls
        result -> the new convolution.
    """

    values: dict[Var, relax.Expr] = field(default_factory=dict)
    readers: dict[Var, list[Var | None]] = field(default_factory=lambda: defaultdict(list))
    calls: dict[Var, Call] = field(default_factory=dict)

    def call(self, result: Var | None, *names: str) -> Call | None:
        """Return the call that computes a result, if it is of one of these operators."""
        value = None if result is None else self.calls.get(result, self.values.get(result))
        return value if op_name(value) in names else None


def _read(main: relax.Function) -> _Main:
    function = _Main()
    for block in main.body.blocks:
        for binding in block.bindings:
            value = getattr(binding, "value", binding)
            function.values[binding.var] = value
            read = nodes_of(value, Var)
            for var in set(read):
                is_first = isinstance(value, Call) and value.args and value.args[0].same_as(var)
                function.readers[var].append(
                    binding.var if is_first and read.count(var) == 1 else None
                )
    for var in set(nodes_of(main.body.body, Var)):
        function.readers[var].append(None)
    return function


def _fold(main: _Main, padded: Var, pad: Call) -> set[Var]:
    """Let convolutions of a padded image read the image itself, if they are the only readers, and
    return their results."""
    widths = [int(width) for width in pad.attrs.pad_width]
    source, attrs = pad.args[0], pad.attrs
    if str(attrs.pad_mode) != "constant" or float(attrs.pad_value) != 0 or min(widths) < 0:
        return set()
    if not isinstance(source, Var) or not _sees(padded, source):
        return set()
    convolutions: dict[Var, Call] = {}
    for result in _readers(main, padded, source):
        call = main.call(result, *_CONVOLUTIONS)
        padding = None if call is None else _padded(call, widths)
        if result is None or call is None or padding is None:
            return set()
        folded = convolution_like(call, source, padding=padding)
        convolutions[result] = with_span(folded, joined_span([pad.span, call.span]))
    main.calls.update(convolutions)
    main.readers[source] = [r for r in main.readers[source] if r != padded] + [*convolutions]
    return set(convolutions)


def _readers(main: _Main, padded: Var, source: Var) -> list[Var | None]:
    """Return the results of readers of a padded image, also through quantize and dequantize that
    change nothing; None for a reader that must not read `source` instead."""
    results: list[Var | None] = []
    for result in main.readers[padded]:
        if main.call(result, "relax.quantize") is None or result is None:
            results.append(result)
            continue
        for rounded in main.readers[result]:
            same = rounded is not None and _are_at_one_scale(main, source, result, rounded)
            visible = rounded is not None and _sees(result, source) and _sees(rounded, source)
            results += main.readers[rounded] if same and visible else [None]
    return results


def _sees(var: Var, other: Var) -> bool:
    """Return whether readers of `var` can read `other`: dataflow variables are local to their
    block."""
    return isinstance(var, relax.DataflowVar) or not isinstance(other, relax.DataflowVar)


def _are_at_one_scale(main: _Main, *results: Var) -> bool:
    """Return whether dequantize, quantize and dequantize have one scale, so that integers keep
    their values."""
    names = ("relax.dequantize", "relax.quantize", "relax.dequantize")
    calls = [main.call(result, name) for result, name in zip(results, names, strict=True)]
    before, quantize, after = calls
    if before is None or quantize is None or after is None:
        return False
    dtype = str(quantize.attrs.out_dtype)
    if dtype not in INTEGER_TYPES or str(before.args[0].ty.dtype) != dtype:
        return False
    if {str(call.attrs.out_dtype) for call in (before, after)} != {"float32"}:
        return False
    graph = Graph(relax.BlockBuilder(), main.values.get, lambda *_: None)
    scales = [graph.quantization(call, dtype) for call in (before, quantize, after)]
    first = scales[0]
    return first is not None and first.is_per_tensor and all(scale == first for scale in scales)


def _padded(call: Call, widths: list[int]) -> list[int] | None:
    """Return the padding of a convolution plus that of its data (before each axis, then after
    each), or None if other axes are padded or a kernel window would cover only padding."""
    layout, kernel_layout = str(call.attrs.data_layout), str(call.attrs.kernel_layout)
    axes = [axis for axis in layout if axis not in "NC"]
    if len(layout) != len(widths) // 2 or not layout.isalpha() or not layout.isupper():
        return None
    pairs = dict(zip(layout, zip(widths[::2], widths[1::2], strict=True), strict=True))
    if pairs["N"] != (0, 0) or pairs["C"] != (0, 0):
        return None
    own = [int(width) for width in call.attrs.padding]
    added = [pairs[axis][side] for side in (0, 1) for axis in axes]
    padding = [mine + more for mine, more in zip(own, added, strict=True)]
    weight = extents_of(call.args[1])
    dilation = [int(step) for step in call.attrs.dilation]
    for index, axis in enumerate(axes):
        extent = weight[kernel_layout.index(axis)]
        if not isinstance(extent, int):
            return None
        reach = (extent - 1) * dilation[index]
        if max(padding[index], padding[index + len(axes)]) > reach:
            return None
    return padding
