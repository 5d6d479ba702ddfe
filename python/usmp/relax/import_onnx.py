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

from usmp.objects.attributes import OUTPUT_NAMES_ATTR
from usmp.objects.errors import UnsupportedModelError
from usmp.relax.check_onnx import opset_version, read_onnx
from usmp.relax.check_static_shapes import flatten_types, has_static_shape
from usmp.relax.fold_onnx import fold_shape_arithmetic, known_shapes
from usmp.relax.normalise_onnx import normalise_onnx
from usmp.relax.one_line import one_line
from usmp.relax.onnx_operators import convert_operator

_DOMAINS = frozenset({"", "ai.onnx", "com.microsoft"})
"""Whose operators TVM's importer knows; it looks at the names of operators only."""


def import_onnx(content: bytes, folder: Path) -> IRModule:
    """Import an `.onnx` file; values that it keeps in other files are looked for in `folder`.

    Raises
    ------
    UnsupportedModelError: the content is damaged or not ONNX, an input has a dynamic shape, or
        an operator cannot be imported.
    """
    model = read_onnx(content, folder)
    if model.functions:
        model = inliner.inline_local_functions(model)
    model = fold_shape_arithmetic(model)
    normalise_onnx(model)
    importer = _Importer({}, {}, sanitize=False)
    try:
        # TVM prints what it was at when it fails; the error says it too.
        with contextlib.redirect_stdout(io.StringIO()):
            mod = importer.from_onnx(model.graph, opset_version(model))
    except UnsupportedModelError:
        raise
    except Exception as error:
        # TVM's importer raises many kinds of exceptions; each means that it cannot import this.
        where = f" at {_described(importer.node)}" if importer.node else ""
        raise UnsupportedModelError(
            f"TVM's ONNX importer failed{where}: {one_line(error)}"
        ) from error
    main = mod["main"]
    _check_output_shapes(main, model.graph)
    names = [output.name for output in model.graph.output]
    mod.update_func(mod.get_global_var("main"), main.with_attr(OUTPUT_NAMES_ATTR, names))
    return mod


class _Importer(onnx_frontend.ONNXGraphImporter):  # type: ignore[misc]
    """TVM's importer, which also tells the node that it is at."""

    node: onnx.NodeProto | None = None

    def _check_for_unsupported_ops(self, graph: onnx.GraphProto) -> None:
        known = onnx_frontend._get_convert_map()
        for node in graph.node:
            if node.op_type == "If":
                raise UnsupportedModelError(
                    f"{_described(node)} is not supported: which branch runs must be known at "
                    "compile time"
                )
            if node.op_type not in known or node.domain not in _DOMAINS:
                raise UnsupportedModelError(
                    f"{_described(node)} is not supported by TVM's ONNX importer"
                )

    def _parse_value_proto(self, value_proto: Any) -> str:
        if isinstance(value_proto, onnx.NodeProto):
            self.node = value_proto
        name: str = super()._parse_value_proto(value_proto)
        return name

    def _convert_operator(
        self, op_name: str, inputs: Sequence[Expr | None], attrs: Mapping[str, Any], opset: int
    ) -> Expr:
        expr = convert_operator(op_name, inputs, attrs)
        if expr is not None:
            return self.bb.normalize(expr)
        return super()._convert_operator(op_name, inputs, attrs, opset)


def _described(node: onnx.NodeProto) -> str:
    domain = f"{node.domain}." if node.domain else ""
    name = f'node "{node.name}", ' if node.name else ""
    return f'operator {domain}{node.op_type} ({name}output "{node.output[0]}")'


def _check_output_shapes(main: relax.Function, graph: onnx.GraphProto) -> None:
    """What TVM made of the model must have the shapes that ONNX infers."""
    expected = known_shapes(graph)
    for output, ty in zip(graph.output, flatten_types(main.body.body.ty), strict=True):
        if output.name not in expected or not has_static_shape(ty):
            continue
        shape = [int(extent) for extent in ty.shape]
        if shape != expected[output.name]:
            raise UnsupportedModelError(
                f'TVM\'s ONNX importer gives output "{output.name}" the shape {shape}; '
                f"in ONNX it has the shape {expected[output.name]}"
            )
