"""ONNX files to Relax, through TVM's importer."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import inliner
from tvm import relax
from tvm.ir import Expr, IRModule
from tvm.relax.frontend.onnx import onnx_frontend

from usmp.frontend.onnx.check import read_onnx
from usmp.frontend.onnx.compared import why_refused
from usmp.frontend.onnx.convert import convert_operator
from usmp.frontend.onnx.fold import fold_shape_arithmetic
from usmp.frontend.onnx.imported_types import TensorTypes
from usmp.frontend.onnx.node import NotSupported, OnnxNode
from usmp.frontend.onnx.normalize import normalize_onnx
from usmp.frontend.onnx.opsets import opset_version, to_compared_opset
from usmp.frontend.onnx.sizes import check_onnx_sizes, computed_size, parts_made
from usmp.objects.attributes import OUTPUT_NAMES_ATTR
from usmp.relax.limits import DEFAULT_LIMITS, LimitedBuilder, LimitError, Limits
from usmp.relax.static_shapes import flatten_types, has_static_shape
from usmp.support.errors import UnsupportedModelError
from usmp.support.one_line import one_line


def import_onnx(content: bytes, folder: Path, limits: Limits = DEFAULT_LIMITS) -> IRModule:
    """Import an `.onnx` file; values that it keeps in other files are looked for in `folder`.

    Raises
    ------
    UnsupportedModelError
        the content is damaged or not ONNX, an input has a dynamic shape, an
        operator cannot be imported, or the model asks for more than it may.
    """
    model = to_compared_opset(read_onnx(content, folder, limits))
    if model.functions:
        model = inliner.inline_local_functions(model)
    model = fold_shape_arithmetic(model)
    normalize_onnx(model)
    check_onnx_sizes(model.graph, limits)
    importer = _Importer({}, {}, sanitize=False)
    importer.bb = LimitedBuilder(limits)
    try:
        # TVM prints what it was at when it fails; the error says it too.
        with contextlib.redirect_stdout(io.StringIO()):
            mod = importer.from_onnx(model.graph, opset_version(model))
    except LimitError as error:
        raise UnsupportedModelError(f"{_described(importer.node)}: {error}") from error
    except UnsupportedModelError:
        raise
    except Exception as error:
        # TVM's importer raises many kinds of exceptions; each means that it cannot import this.
        where = f" at {_described(importer.node)}" if importer.node else ""
        raise UnsupportedModelError(
            f"TVM's ONNX importer failed{where}: {one_line(error)}"
        ) from error
    main = mod["main"]
    _check_outputs_have_elements(main, model.graph)
    names = [output.name for output in model.graph.output]
    mod.update_func(mod.get_global_var("main"), main.with_attr(OUTPUT_NAMES_ATTR, names))
    return mod


class _Importer(onnx_frontend.ONNXGraphImporter):  # type: ignore[misc]
    """TVM's importer, which also knows the node that it is at."""

    node: onnx.NodeProto | None = None
    types: TensorTypes
    bb: LimitedBuilder

    def _check_for_unsupported_ops(self, graph: onnx.GraphProto) -> None:
        self.types = TensorTypes(graph)
        for node in graph.node:
            refusal = why_refused(_qualified(node))
            if refusal:
                raise UnsupportedModelError(f"{_described(node)} is not supported{refusal}")

    def _parse_value_proto(self, value_proto: Any) -> str:
        if isinstance(value_proto, onnx.NodeProto):
            self.node = value_proto
        name: str = super()._parse_value_proto(value_proto)
        return name

    def _convert_operator(
        self, op_name: str, inputs: Sequence[Expr | None], attrs: Mapping[str, Any], opset: int
    ) -> Expr:
        assert self.node is not None
        limits = self.bb.limits
        limits.check_operators(
            "it cuts its input into", parts_made(op_name, inputs, attrs), "parts"
        )
        limits.check_tensor("its result", *computed_size(op_name, inputs, attrs))
        node = OnnxNode(self.bb, inputs, attrs, opset, len(self.node.output))
        try:
            expr = convert_operator(_qualified(self.node), node)
            if expr is None or isinstance(expr, OnnxNode):
                node = expr or node
                given = onnx_frontend.onnx_input(node.inputs)
                expr = super()._convert_operator(op_name, given, dict(node.attributes), opset)
            expr = self.bb.normalize(expr)
            self.types.check(self.node.output, expr.ty)
        except NotSupported as error:
            described = _described(self.node)
            raise UnsupportedModelError(f"{described} is not supported: {error}") from error
        return expr


def _qualified(node: onnx.NodeProto) -> str:
    """The name of the operator, with its domain if that is not ONNX's own."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def _described(node: onnx.NodeProto | None) -> str:
    if node is None:
        return "an input"
    name = f'node "{node.name}", ' if node.name else ""
    return f'operator {_qualified(node)} ({name}output "{node.output[0]}")'


def _check_outputs_have_elements(main: relax.Function, graph: onnx.GraphProto) -> None:
    for output, ty in zip(graph.output, flatten_types(main.body.body.ty), strict=True):
        shape = [int(extent) for extent in ty.shape] if has_static_shape(ty) else []
        if 0 in shape:
            raise UnsupportedModelError(f'output "{output.name}" of shape {shape} has no elements')
