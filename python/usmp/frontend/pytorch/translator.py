"""Decomposed PyTorch programs to Relax functions, through TVM's importer."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import torch
import tvm
from torch.export.graph_signature import InputKind, OutputKind
from tvm import relax
from tvm.ir import Call, Expr, GenericConst, Span
from tvm.relax.frontend.torch import exported_program_translator

from usmp.frontend.pytorch.converters import (
    CONVERTERS,
    CONVERTERS_OF_SIZES,
    Missing,
    Operator,
    described,
    known_value,
)
from usmp.frontend.pytorch.converters.operator import name_of
from usmp.frontend.pytorch.converters.scatters import index_put_within
from usmp.frontend.pytorch.model_operators import node_span
from usmp.frontend.pytorch.nested_writes import nested_writes
from usmp.frontend.pytorch.program_sizes import ProgramSizes
from usmp.frontend.pytorch.quantizers import quantizer_converters
from usmp.frontend.pytorch.refused import refusal_of
from usmp.frontend.pytorch.states import KeptTensor, held_tensors, updated_inputs
from usmp.frontend.size_arithmetic import SizeArithmetic, SizesError
from usmp.ops.emit import DynamicShapeError, constant, dtype_of, extents_of
from usmp.ops.overwrite import filled
from usmp.relax.limits import LimitedBuilder
from usmp.relax.static_shapes import has_static_shape
from usmp.relax.symbolic_sizes import bounded_analyzer, shown_shape
from usmp.support.errors import UnsupportedModelError
from usmp.tir.model_operator import joined_span
from usmp.tir.spans import AnySpan


class Translator(exported_program_translator.ExportedProgramImporter):  # type: ignore[misc]
    """TVM's importer with converters of our own, which also knows the node that it is at.

    Parameters
    ----------
    builder
        what the function is appended to.
    program
        decomposed.
    kept
        which of the tensors that the program holds are parameters of the function, and its results
        if it changes them; all others become constants.
    names
        of these parameters, by the fully qualified names of the tensors.
    sizes
        what becomes of the sizes that the program leaves open.
    """

    node: Any = None

    def __init__(
        self,
        builder: LimitedBuilder,
        program: Any,
        kept: Sequence[KeptTensor],
        names: Mapping[str, str],
        sizes: ProgramSizes,
    ) -> None:
        super().__init__()
        self.block_builder = builder
        self._program = program
        self._kept = kept
        self._sizes = sizes
        pairs = zip(sizes.variables, sizes.bounded, strict=True)
        self._arithmetic = SizeArithmetic(bounded_analyzer(list(pairs)))
        self.states = {
            tensor.node: relax.Var(names[tensor.target], _type_of(tensor.value)) for tensor in kept
        }
        held = {spec.arg.name: (spec, value) for spec, value in held_tensors(program)}
        held = {node: each for node, each in held.items() if node not in self.states}
        self._quantizers: Mapping[str, Callable[..., Expr]] = quantizer_converters(
            {node: value.detach().numpy() for node, (_, value) in held.items()}
        )
        self._held = {node: value for node, (_, value) in held.items()}
        self._tensors = {n: v for n, (s, v) in held.items() if s.kind != InputKind.PARAMETER}
        self._values: dict[Any, Any] = {}
        self._updated = updated_inputs(program)
        self._written_in_place = frozenset(self.states.values())
        changes = bool(kept) or bool(self._updated)
        self._nested = nested_writes(program.graph.nodes) if changes else {}
        self._spans: list[Span] = []

    @property
    def span(self) -> AnySpan | None:
        """Of all operators of the program, once its function is appended."""
        return joined_span(self._spans)

    def append_function(self, name: str) -> dict[relax.Var, tvm.runtime.Tensor]:
        """Append the function, whose parameters are the inputs, the kept tensors and then all else
        that the program holds, and whose results are the outputs, and then what the kept tensors
        that it changes have become, and the inputs that it changes.

        Returns
        -------
        dict[relax.Var, tvm.runtime.Tensor]
            What to bind to the last of the parameters.
        """
        nodes = self._program.graph.nodes
        self._check_unsupported_func_type(nodes)
        held, inputs, _ = self.create_input_vars(self._program)
        constants = {node: held[node] for node in held if node not in self.states}
        variables = {**inputs, **self.states, **constants}
        self._inputs = inputs
        # Elements of other shapes have no fixed places.
        updated = (inputs[node] for node in self._updated)
        self._written_in_place |= {var for var in updated if has_static_shape(var.ty)}
        # As in TVM: assertions have effects, which have no place among pure bindings.
        is_pure = not self._has_assert_async(self._program.graph_module)
        builder = self.block_builder
        with builder.function(name, list(variables.values()), {}, pure=is_pure):
            with ExitStack() as stack:
                if is_pure:
                    stack.enter_context(builder.dataflow())
                results = self._in_order(
                    self._translate_fx_graph(self._program.graph_module, nodes, variables)
                )
                result = results[0] if len(results) == 1 else results
                output = builder.emit_output(result) if is_pure else result
            builder.emit_func_output(output)
        return {
            var: self._convert_pytorch_tensor_to_tvm(self._held[node])
            for node, var in constants.items()
        }

    def _in_order(self, results: Sequence[Expr]) -> list[Expr]:
        """The outputs, then what the kept tensors and the inputs have become."""
        specs = self._program.graph_signature.output_specs
        by_node = dict(zip((spec.arg.name for spec in specs), results, strict=True))
        outputs = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        returned = [
            result
            for result, spec in zip(results, specs, strict=True)
            if spec.kind in outputs and result is not None
        ]
        after = [
            self._after(self.states[kept.node], by_node[kept.after])
            for kept in self._kept
            if kept.after is not None
        ]
        inputs = [
            self._after(self._inputs[node], by_node[value]) for node, value in self._updated.items()
        ]
        return [*returned, *after, *inputs]

    def _after(self, state: relax.Var, value: Expr) -> Expr:
        """What a state or an input has become; where all elements are alike, it is filled in its
        place."""
        made = value
        while isinstance(made, relax.Var):
            made = self.block_builder.lookup_binding(made)
        if isinstance(made, Call) and getattr(made.op, "name", "") == "relax.full":
            made = made.args[1]
        if not isinstance(made, GenericConst):
            return value
        # Constants of int64 may have become int32.
        array = made.value.numpy().astype(dtype_of(state))
        if state not in self._written_in_place:
            return value
        if len({element.tobytes() for element in array.reshape(-1)}) == 1:
            return filled(self.block_builder, state, array.reshape(-1)[0])
        return constant(array)

    def create_input_vars(self, exported_program: Any) -> Any:
        """The parameters for what the program holds, and those for its inputs."""
        parameters, inputs, constraints = super().create_input_vars(exported_program)
        shapes = self._sizes.shapes
        own = {
            name: relax.Var(name, relax.TensorType(shapes[name], var.ty.dtype))
            for name, var in inputs.items()
        }
        return parameters, own, constraints

    def _check_unsupported_func_type(self, nodes: Any) -> None:
        for node in nodes:
            target = node.target
            if target is torch.ops.higher_order.with_effects:
                # It puts an operator with effects, such as a check of values, in order.
                target = node.args[1]
            elif target is not torch.ops.higher_order.cond:
                continue
            reason = refusal_of(target.__name__, target.namespace)
            raise UnsupportedModelError(
                f"operator {target} (node {node.name}) is not supported: {reason}"
            )

    def _translate_fx_graph(
        self, graph_module: Any, nodes: Any, inputs: Mapping[str, Expr], *_: Any
    ) -> Any:
        for index, self.node in enumerate(nodes):
            if self.node.op == "placeholder":
                self.env[self.node] = inputs[self.node.name]
                if self.node.name in self._tensors:
                    self._values[self.node] = self._tensors[self.node.name]
            elif self.node.op == "call_function":
                span = node_span(index, self.node, self._held)
                if self.node.target is not operator.getitem:
                    self._spans.append(span)
                self.block_builder.span = span
                self._convert(self.node)
                self.block_builder.span = None
            elif self.node.op == "output":
                results = self._argument(self.node.args[0])
        self.node = None
        return results

    def _convert(self, node: Any) -> None:
        # What nothing reads checks the model; what is wrong with it is not checked here.
        if not node.users:
            return
        if node in self._nested:
            self.env[node] = self._written_within(node)
            return
        value = self._value(node)
        if value is not None:
            self._values[node] = value
            self.env[node] = _constant(value)
        elif node.target is operator.getitem:
            self.env[node] = self._argument(node.args[0])[node.args[1]]
        elif node.target.__name__ in self._quantizers:
            self.env[node] = self._quantizers[node.target.__name__](node, self)
        else:
            self.env[node] = self._converted(node)

    def _written_within(self, node: Any) -> Expr:
        """A tensor of which a part of a part is replaced."""
        write = self._nested[node]
        operator = Operator(write.put, self.block_builder, self._argument)
        whole = self._argument(write.written.whole)
        result = index_put_within(operator, whole, write.written.path)
        return self._checked(node, result, node.meta["val"])

    def _value(self, node: Any) -> Any:
        if node.target is torch.ops.aten.sym_size.int:
            source, axis = node.args
            return extents_of(self._argument(source))[axis]
        return known_value(node, self._values)

    def _converted(self, node: Any) -> Any:
        name, namespace = node.target.__name__, getattr(node.target, "namespace", None)
        converters = CONVERTERS if name in CONVERTERS else CONVERTERS_OF_SIZES
        if namespace != "aten" or name not in converters:
            raise UnsupportedModelError(
                f"{described(node)} is not supported: {refusal_of(name, namespace)}"
            )
        states, arithmetic = self._written_in_place, self._arithmetic
        given = Operator(node, self.block_builder, self._argument, states, arithmetic)
        try:
            result = converters[name](given)
        except SizesError as error:
            raise given.refusal(f"is not supported: {error}") from error
        except DynamicShapeError as error:
            raise given.refusal(str(error)) from error
        if isinstance(result, Expr):
            return self._checked(node, result, node.meta["val"])
        return [
            each if isinstance(each, Missing) else self._checked(node, each, value)
            for each, value in zip(result, node.meta["val"], strict=True)
        ]

    def _checked(self, node: Any, result: Expr, expected: torch.Tensor) -> Expr:
        """The result, bound to a variable, if it has the type and shape that PyTorch gives it."""
        bound = result if isinstance(result, tvm.ir.Var) else self.block_builder.emit(result)
        own, wanted = extents_of(bound), list(expected.shape)
        if dtype_of(bound) != name_of(expected.dtype) or not self._is_shape(own, wanted):
            raise UnsupportedModelError(
                f"{described(node)} is not supported: it becomes {dtype_of(bound)} "
                f"{shown_shape(own)}; in PyTorch it is {name_of(expected.dtype)} "
                f"{shown_shape(wanted)}"
            )
        return bound

    def _is_shape(self, own: Sequence[Any], wanted: Sequence[Any]) -> bool:
        """Whether extents are those of PyTorch, as far as these are numbers; the numbers of others
        follow from the extents of what the operator reads."""
        return len(own) == len(wanted) and all(
            extent == each
            for extent, each in zip(own, wanted, strict=True)
            if isinstance(extent, int) and isinstance(each, int)
        )

    def _argument(self, argument: Any) -> Any:
        """What a node's argument is here."""
        if isinstance(argument, torch.fx.Node):
            value = self.env[argument]
            if isinstance(value, Missing):
                source = argument.args[0] if argument.target is operator.getitem else argument
                raise UnsupportedModelError(f"{described(source)} {value.reason}")
            return value
        if isinstance(argument, tuple | list):
            return [self._argument(each) for each in argument]
        return argument


def _type_of(tensor: torch.Tensor) -> relax.TensorType:
    return relax.TensorType([int(extent) for extent in tensor.shape], name_of(tensor.dtype))


def _constant(value: Any) -> Any:
    """A known value in Relax; numbers stay numbers."""
    if isinstance(value, torch.Tensor):
        return relax.const(value.detach().contiguous().numpy())
    if isinstance(value, tuple | list):
        return [_constant(each) for each in value]
    return value
