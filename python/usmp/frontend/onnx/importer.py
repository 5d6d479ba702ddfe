"""Import of ONNX files to Relax, through TVM's importer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
from onnx import inliner
from tvm import relax, tirx
from tvm.ir import Expr, IRModule
from tvm.relax.frontend.onnx import onnx_frontend

from usmp.frontend.dynamic_sizes import AskedSizes
from usmp.frontend.onnx.checks.asked_sizes import asked_size
from usmp.frontend.onnx.checks.check import input_shapes, read_onnx
from usmp.frontend.onnx.checks.check_node import check_before_inference, check_inferred, check_node
from usmp.frontend.onnx.checks.constant_operands import check_constant_operands
from usmp.frontend.onnx.checks.sizes import check_onnx_sizes, parts_made
from usmp.frontend.onnx.converters.control_flow import (
    CHOICE,
    CONTROL_FLOW,
    Scope,
    convert_control_flow,
)
from usmp.frontend.onnx.converters.operators import convert_operator, why_refused
from usmp.frontend.onnx.graph.imported_types import TensorTypes
from usmp.frontend.onnx.graph.model_operators import ModelNodes
from usmp.frontend.onnx.graph.node import NotSupported, OnnxNode
from usmp.frontend.onnx.graph.nodes import described_node, missing_input, qualified_name
from usmp.frontend.onnx.graph.operands import operand_of_expr
from usmp.frontend.onnx.graph.opsets import opset_version, to_compared_opset
from usmp.frontend.onnx.rewrites.fold import fold_shape_arithmetic
from usmp.frontend.onnx.rewrites.normalize import normalize_onnx
from usmp.frontend.onnx.rewrites.qoperator import to_qdq_form
from usmp.frontend.onnx.rewrites.schema_functions import write_out_schema_functions
from usmp.frontend.onnx.shapes.dynamic import convert_dynamic
from usmp.frontend.onnx.shapes.shape_values import ShapeValues
from usmp.frontend.size_arithmetic import SizeArithmetic
from usmp.objects.attributes.module_attributes import OUTPUT_NAMES_ATTR
from usmp.objects.symbolic_size import SymbolicSize
from usmp.ops.emit import DynamicShapeError
from usmp.relax.limits import DEFAULT_LIMITS, LimitedBuilder, LimitError, Limits
from usmp.relax.symbolic_sizes import bounded_analyzer, with_bounds
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.one_line import one_line
from usmp.tir.nodes import nodes_of
from usmp.tir.spans import with_function_span


def import_onnx(
    content: bytes, folder: Path, limits: Limits = DEFAULT_LIMITS, asked: AskedSizes | None = None
) -> IRModule:
    """Import an `.onnx` file, with external data from `folder`.

    Parameters
    ----------
    asked
        the user's input shapes, and largest values of dynamic sizes.

    Raises
    ------
    UnsupportedModelError
        the content is damaged or not ONNX, an input has a dynamic shape without bounds, an
        operator cannot be imported, or the model exceeds `limits`.
    ValueError
        the model does not have a size that the user names.
    """
    original, dynamic_sizes = read_onnx(content, folder, limits, asked)
    sizes = [size.bounded for size in dynamic_sizes if size.number is None]
    nodes = ModelNodes(original.graph)
    model = to_compared_opset(original)
    if model.functions:
        model = inliner.inline_local_functions(model)
    mod, types = _import_model(model, limits, nodes, sizes)
    main = with_bounds(mod["main"], sizes)
    names = [output.name for output in model.graph.output]
    main = with_function_span(main, nodes.joined_span(types.of))
    mod.update_func(mod.get_global_var("main"), OUTPUT_NAMES_ATTR.put(main, names))
    return mod


def _import_model(
    model: onnx.ModelProto, limits: Limits, nodes: ModelNodes, sizes: Sequence[SymbolicSize] = ()
) -> tuple[IRModule, TensorTypes]:
    """Import a model without functions, or a nested graph, as `main`; return the types of its
    tensors as well."""
    check_before_inference(model.graph, opset_version(model))
    origins: dict[str, onnx.NodeProto] = {}
    branches: set[str] | None = None
    while branches != (branches := _branches(model.graph)):
        # Repeat, because a folded `If` adds the nodes of its branch.
        model = write_out_schema_functions(model, limits)
        origins |= to_qdq_form(model)
        model = fold_shape_arithmetic(model)
    normalize_onnx(model)
    check_onnx_sizes(model.graph, limits)
    origins |= _name_choices(model.graph)
    variables = {str(size.name): tirx.Var(str(size.name), "int64") for size in sizes}
    importer = _Importer(input_shapes(model.graph, variables), {}, sanitize=False)
    importer.bb = LimitedBuilder(limits)
    importer.model_nodes = nodes
    importer.origins = origins
    importer.opsets = model.opset_import
    if sizes:
        bounds = [(variables[str(size.name)], size) for size in sizes]
        arithmetic = SizeArithmetic(bounded_analyzer(bounds))
        importer.sizes = ShapeValues(arithmetic, model.opset_import)
    try:
        mod = importer.imported(model.graph, opset_version(model))
    except LimitError as error:
        raise UnsupportedModelError(f"{importer.described()}: {error}") from error
    except UnsupportedModelError:
        raise
    except Exception as error:
        # TVM's importer raises many kinds of exceptions; each means that the import failed.
        where = f" at {importer.described()}" if importer.node else ""
        hint = "; with fixed input shapes it may not" if sizes else ""
        raise UnsupportedModelError(
            f"TVM's ONNX importer failed{where}: {one_line(error)}{hint}"
        ) from error
    return mod, importer.types


def _name_choices(graph: onnx.GraphProto) -> dict[str, onnx.NodeProto]:
    """Rename each `If` to `CHOICE`; return the original nodes by their outputs."""
    origins: dict[str, onnx.NodeProto] = {}
    for node in graph.node:
        if qualified_name(node) == "If":
            origin = onnx.NodeProto(name=node.name, op_type=node.op_type, output=node.output)
            origins.update((name, origin) for name in node.output)
            node.op_type = CHOICE
    return origins


def _branches(graph: onnx.GraphProto) -> set[str]:
    """Return the names of the outputs of `If` nodes."""
    return {name for node in graph.node if node.op_type == "If" for name in node.output}


class _Unprinted(BaseException):
    """A carrier of an error through TVM's importer. TVM would print an `Exception` to stdout."""


class _Importer(onnx_frontend.ONNXGraphImporter):  # type: ignore[misc]
    """TVM's importer, extended by checks, our converters, and the current node."""

    node: onnx.NodeProto | None = None
    types: TensorTypes
    model_nodes: ModelNodes
    bb: LimitedBuilder
    opsets: Sequence[onnx.OperatorSetIdProto] = ()
    origins: Mapping[str, onnx.NodeProto]
    """Output of a rewritten node -> the node in the file."""
    sizes: ShapeValues | None = None
    """The values computed from shapes; None if no size is dynamic."""

    def imported(self, graph: onnx.GraphProto, opset: int) -> IRModule:
        """Import a graph of nodes of an opset."""
        try:
            return self.from_onnx(graph, opset)
        except _Unprinted as unprinted:
            (error,) = unprinted.args
            raise error from error.__cause__

    def described(self, node: onnx.NodeProto | None = None) -> str:
        """Return the name of a node in error messages; by default the current node."""
        node = node or self.node
        nodes = [self.origins[name] for name in node.output if name in self.origins] if node else []
        return described_node(nodes[0] if nodes else node)

    def _check_for_unsupported_ops(self, graph: onnx.GraphProto) -> None:
        self.types = TensorTypes(graph)
        for node in graph.node:
            name = qualified_name(node)
            refusal = None if name in CONTROL_FLOW else why_refused(name)
            if refusal:
                raise UnsupportedModelError(f"{self.described(node)} is not supported{refusal}")

    def _parse_value_proto(self, value_proto: Any) -> str:
        if isinstance(value_proto, onnx.NodeProto):
            self.node = value_proto
        name: str = super()._parse_value_proto(value_proto)
        if isinstance(value_proto, onnx.ValueInfoProto) and self.sizes is not None:
            self._nodes[name] = self.sizes.as_tensor(self.bb, name, self._nodes[name])
        return name

    def _convert_operator(
        self, op_name: str, inputs: Sequence[Expr | None], attrs: Mapping[str, Any], opset: int
    ) -> Expr:
        assert self.node is not None
        self.bb.span = self.model_nodes.span(self.node.output, self.types.of)
        try:
            return self._converted(op_name, inputs, attrs, opset)
        except Exception as error:
            raise _Unprinted(error) from None
        finally:
            self.bb.span = None

    def _import_graph(self, graph: onnx.GraphProto) -> IRModule:
        """Import a nested graph of the current node."""
        model = onnx.helper.make_model(graph, opset_imports=self.opsets)
        mod, _ = _import_model(model, self.bb.limits, ModelNodes(graph))
        self.bb.operators += len(nodes_of(mod["main"].body, relax.VarBinding))
        self.bb.count()
        return mod

    def _converted(
        self, op_name: str, inputs: Sequence[Expr | None], attrs: Mapping[str, Any], opset: int
    ) -> Expr:
        assert self.node is not None
        if self.sizes is not None:
            constant = self.sizes.computed(self.node, inputs, attrs)
            if constant is not None:
                return constant
        limits = self.bb.limits
        unread = self.types.unread(self.node.output)
        node = OnnxNode(self.bb, inputs, attrs, opset, len(self.node.output), unread)
        operands = [operand_of_expr(value) for value in inputs]
        try:
            missing = missing_input(self.node, opset)
            if missing is not None:
                raise NotSupported(f"input {missing} is missing")
            check_node(self.node, opset, operands, attrs)
            limits.check_operators(
                "it cuts its input into", parts_made(op_name, operands, attrs), "parts"
            )
            limits.check_tensor("its result", *asked_size(op_name, operands, attrs))
            try:
                expr = self.bb.normalize(self._expression(op_name, node))
            except (NotSupported, DynamicShapeError, UnsupportedModelError):
                raise
            except Exception:
                # First look for a cause in the model, because TVM's message names code of TVM.
                check_constant_operands(qualified_name(self.node), node)
                check_inferred(self.node, opset, operands, with_types=True)
                raise
            check_inferred(self.node, opset, operands)
            self.types.check(self.node.output, expr.ty)
        except NotSupported as error:
            described = self.described()
            raise UnsupportedModelError(f"{described} is not supported: {error}") from error
        except DynamicShapeError as error:
            raise UnsupportedModelError(f"{self.described()} {error}") from error
        return expr

    def _expression(self, op_name: str, node: OnnxNode) -> Expr:
        """Convert the current node to Relax, by one of our converters or by TVM's."""
        assert self.node is not None
        name = qualified_name(self.node)
        expr = None
        if name in CONTROL_FLOW:
            expr = convert_control_flow(node, Scope(self.node, self._nodes, self._import_graph))
        elif self.sizes is not None:
            expr = convert_dynamic(name, node, self.sizes, self.node.input)
        if expr is None:
            if self.sizes is not None:
                tensors = self.sizes.as_tensors(self.bb, self.node.input, node.inputs)
                node = replace(node, inputs=tensors)
            expr = convert_operator(name, node)
        if expr is None or isinstance(expr, OnnxNode):
            node = expr or node
            inputs = onnx_frontend.onnx_input(node.inputs)
            expr = super()._convert_operator(op_name, inputs, dict(node.attributes), node.opset)
        return expr
