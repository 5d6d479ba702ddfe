"""The translation of decomposed PyTorch programs to Relax functions, node by node."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import tvm
from torch.export.graph_signature import InputKind, OutputKind
from tvm import relax
from tvm.ir import Call, Expr, GenericConst, Span

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
from usmp.frontend.pytorch.quantizers import QuantizerConverter, quantizer_converters
from usmp.frontend.pytorch.refused import refusal_of
from usmp.frontend.pytorch.states import (
    KeptTensor,
    check_type,
    held_tensors,
    updated_inputs,
)
from usmp.frontend.size_arithmetic import SizeArithmetic, SizesError
from usmp.ops.emit import DynamicShapeError, constant, dtype_of, extents_of
from usmp.ops.overwrite import filled
from usmp.relax.limits import LimitedBuilder
from usmp.relax.static_shapes import has_static_shape
from usmp.relax.symbolic_sizes import bounded_analyzer, shown_shape
from usmp.support.errors import UnsupportedModelError
from usmp.tir.model_operator import joined_span
from usmp.tir.spans import AnySpan


class Translator:
    """A translator that appends a program to a builder as a function, and knows its current node.

    Parameters
    ----------
    builder
        the builder of the function.
    program
        the decomposed program.
    kept
        the tensors of the program that are parameters of the function, and its results if it
        changes them; all others become constants.
    names
        the names of these parameters, by the fully qualified names of the tensors.
    sizes
        the shapes of the inputs, with the sizes that the program leaves open.
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
        self._builder = builder
        self._program = program
        self._kept = kept
        pairs = zip(sizes.variables, sizes.bounded, strict=True)
        self._arithmetic = SizeArithmetic(bounded_analyzer(list(pairs)))
        fakes = {n.name: n.meta.get("val") for n in program.graph.nodes if n.op == "placeholder"}
        for name in sizes.shapes:
            check_type(name, fakes[name].dtype, ["bfloat16"])
        self._inputs = {
            name: _variable(name, shape, fakes[name].dtype) for name, shape in sizes.shapes.items()
        }
        self._states = {
            tensor.node: _variable(names[tensor.target], tensor.value.shape, tensor.value.dtype)
            for tensor in kept
        }
        held = {spec.arg.name: (spec, value) for spec, value in held_tensors(program)}
        held = {node: pair for node, pair in held.items() if node not in self._states}
        self._held = {
            node: _variable(node, value.shape, value.dtype) for node, (_, value) in held.items()
        }
        self._arrays = {n: v.detach().contiguous().numpy() for n, (_, v) in held.items()}
        self._quantizers: Mapping[str, QuantizerConverter] = quantizer_converters(self._arrays)
        self._tensors = {n: v for n, (s, v) in held.items() if s.kind != InputKind.PARAMETER}
        self._env: dict[Any, Any] = {}
        self._values: dict[Any, Any] = {}
        self._updated = updated_inputs(program)
        # Inputs of symbolic shape are not written in place: their elements have no fixed offsets.
        changed = (self._inputs[node] for node in self._updated)
        changed_in_place = (var for var in changed if has_static_shape(var.ty))
        self._written_in_place = frozenset([*self._states.values(), *changed_in_place])
        changes = bool(kept) or bool(self._updated)
        self._nested = nested_writes(program.graph.nodes) if changes else {}
        self._spans: list[Span] = []

    @property
    def span(self) -> AnySpan | None:
        """The joined span of all operators of the program, once its function is appended."""
        return joined_span(self._spans)

    def append_function(self, name: str) -> dict[relax.Var, tvm.runtime.Tensor]:
        """Append the function. Its parameters are the inputs, the kept tensors, and then all other
        tensors of the program. Its results are the outputs, and then the new values of the kept
        tensors and of the inputs that it changes.

        Returns
        -------
        dict[relax.Var, tvm.runtime.Tensor]
            The values to bind to the last parameters.
        """
        nodes = self._program.graph.nodes
        _check_effects(nodes)
        variables = {**self._inputs, **self._states, **self._held}
        builder = self._builder
        with builder.function(name, list(variables.values()), {}):
            with builder.dataflow():
                results = self._in_order(self._translated(nodes, variables))
                result = results[0] if len(results) == 1 else results
                output = builder.emit_output(result)
            builder.emit_func_output(output)
        return {var: tvm.runtime.tensor(self._arrays[node]) for node, var in self._held.items()}

    def _in_order(self, results: Sequence[Expr]) -> list[Expr]:
        """Return the outputs, and then the new values of the kept tensors and the inputs."""
        specs = self._program.graph_signature.output_specs
        by_node = dict(zip((spec.arg.name for spec in specs), results, strict=True))
        outputs = (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
        returned = [
            result
            for result, spec in zip(results, specs, strict=True)
            if spec.kind in outputs and result is not None
        ]
        after = [
            self._after(self._states[kept.node], by_node[kept.after])
            for kept in self._kept
            if kept.after is not None
        ]
        inputs = [
            self._after(self._inputs[node], by_node[value]) for node, value in self._updated.items()
        ]
        return [*returned, *after, *inputs]

    def _after(self, state: relax.Var, value: Expr) -> Expr:
        """Return the new value of a state or an input. A constant of equal elements is filled in
        place."""
        source = value
        while isinstance(source, relax.Var):
            source = self._builder.lookup_binding(source)
        if isinstance(source, Call) and getattr(source.op, "name", "") == "relax.full":
            source = source.args[1]
        if not isinstance(source, GenericConst):
            return value
        # Cast back, because constants of int64 may have become int32.
        array = source.value.numpy().astype(dtype_of(state))
        if state not in self._written_in_place:
            return value
        if len({element.tobytes() for element in array.reshape(-1)}) == 1:
            return filled(self._builder, state, array.reshape(-1)[0])
        return constant(array)

    def _translated(self, nodes: Any, variables: Mapping[str, Expr]) -> Any:
        """Append the operators, and return the outputs."""
        for index, self.node in enumerate(nodes):
            if self.node.op == "placeholder":
                self._env[self.node] = variables[self.node.name]
                if self.node.name in self._tensors:
                    self._values[self.node] = self._tensors[self.node.name]
            elif self.node.op == "call_function":
                span = node_span(index, self.node, self._held)
                if self.node.target is not operator.getitem:
                    self._spans.append(span)
                self._builder.span = span
                self._convert(self.node)
                self._builder.span = None
            elif self.node.op == "output":
                results = self._argument(self.node.args[0])
        self.node = None
        return results

    def _convert(self, node: Any) -> None:
        # Nodes that nothing reads only check the model, and need no code.
        if not node.users:
            return
        if node in self._nested:
            self._env[node] = self._written_within(node)
            return
        value = self._value(node)
        if value is not None:
            self._values[node] = value
            self._env[node] = _constant(value)
        elif node.target is operator.getitem:
            self._env[node] = self._argument(node.args[0])[node.args[1]]
        elif node.target.__name__ in self._quantizers:
            self._env[node] = self._quantizers[node.target.__name__](
                node, self._builder, self._argument
            )
        else:
            self._env[node] = self._converted(node)

    def _written_within(self, node: Any) -> Expr:
        """Append a nested write (see `nested_writes`), and return the tensor after it."""
        write = self._nested[node]
        operator = Operator(write.put, self._builder, self._argument)
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
        op = Operator(node, self._builder, self._argument, states, arithmetic)
        try:
            result = converters[name](op)
        except SizesError as error:
            raise op.refusal(f"is not supported: {error}") from error
        except DynamicShapeError as error:
            raise op.refusal(str(error)) from error
        if isinstance(result, Expr):
            return self._checked(node, result, node.meta["val"])
        return [
            output if isinstance(output, Missing) else self._checked(node, output, value)
            for output, value in zip(result, node.meta["val"], strict=True)
        ]

    def _checked(self, node: Any, result: Expr, expected: torch.Tensor) -> Expr:
        """Bind the result to a variable, and check that its type and shape are those in PyTorch."""
        bound = result if isinstance(result, tvm.ir.Var) else self._builder.emit(result)
        own, wanted = extents_of(bound), list(expected.shape)
        if dtype_of(bound) != name_of(expected.dtype) or not self._is_shape(own, wanted):
            raise UnsupportedModelError(
                f"{described(node)} is not supported: it becomes {dtype_of(bound)} "
                f"{shown_shape(own)}; in PyTorch it is {name_of(expected.dtype)} "
                f"{shown_shape(wanted)}"
            )
        return bound

    def _is_shape(self, own: Sequence[Any], wanted: Sequence[Any]) -> bool:
        """Return whether extents agree with those in PyTorch where both are numbers. Other extents
        follow from the operator's inputs."""
        return len(own) == len(wanted) and all(
            extent == expected
            for extent, expected in zip(own, wanted, strict=True)
            if isinstance(extent, int) and isinstance(expected, int)
        )

    def _argument(self, argument: Any) -> Any:
        """Return the value of a node's argument in Relax."""
        if isinstance(argument, torch.fx.Node):
            value = self._env[argument]
            if isinstance(value, Missing):
                source = argument.args[0] if argument.target is operator.getitem else argument
                raise UnsupportedModelError(f"{described(source)} {value.reason}")
            return value
        if isinstance(argument, tuple | list):
            return [self._argument(item) for item in argument]
        return argument


def _check_effects(nodes: Any) -> None:
    """Check that no operator has ordered side effects, such as checks of values, or branches.

    Raises
    ------
    UnsupportedModelError
        an operator has such effects, or is a branch (`cond`).
    """
    for node in nodes:
        target = node.target
        if target is torch.ops.higher_order.with_effects:
            target = node.args[1]
        elif target is not torch.ops.higher_order.cond:
            continue
        reason = refusal_of(target.__name__, target.namespace)
        raise UnsupportedModelError(
            f"operator {target} (node {node.name}) is not supported: {reason}"
        )


def _variable(name: str, shape: Sequence[Any], dtype: torch.dtype) -> relax.Var:
    """Return a parameter of the function."""
    return relax.Var(name, relax.TensorType(list(shape), name_of(dtype)))


def _constant(value: Any) -> Any:
    """Return a known value in Relax; numbers stay numbers."""
    if isinstance(value, torch.Tensor):
        return relax.const(value.detach().contiguous().numpy())
    if isinstance(value, tuple | list):
        return [_constant(item) for item in value]
    return value
