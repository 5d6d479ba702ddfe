"""Operators that run other subgraphs: IF, WHILE, STABLEHLO_COMPOSITE.

A subgraph that runs exactly once is inlined at its operator. Others become bodies of control flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from tvm import relax
from tvm.ir import IRModule

from usmp.frontend.tflite.context import Context, converts
from usmp.frontend.tflite.file.graph import Tensors, operators_of
from usmp.frontend.tflite.file.model import TfliteOperator, TfliteTensor
from usmp.frontend.tflite.file.read import vector
from usmp.frontend.tflite.file.subgraphs import subgraphs_run_by
from usmp.ops.control_flow import ControlFlow, call_control_flow
from usmp.ops.emit import constant
from usmp.relax.limits import LimitedBuilder
from usmp.relax.open_function import open_function

_UNTIL_FALSE = -1
"""The trip count of a loop that runs until its condition is false."""


@converts("STABLEHLO_COMPOSITE", moves=True)
def convert_composite(context: Context, operator: TfliteOperator) -> None:
    """Append the decomposition of a STABLEHLO_COMPOSITE, which LiteRT runs, too."""
    (run,) = subgraphs_run_by(operator.model, operator.table)
    inputs = _passed_inputs(operator, 0)
    _inline(context, operator, run.number, inputs)


@converts("IF", moves=True)
def convert_if(context: Context, operator: TfliteOperator) -> None:
    """Append the branch that a known condition selects, or both branches as control flow."""
    branches = subgraphs_run_by(operator.model, operator.table)
    condition = operator.input(0)
    _require_bool(operator, condition)
    inputs = _passed_inputs(operator, 1)
    if condition.data is not None:
        selected = branches[0 if condition.data.item() else 1]
        _inline(context, operator, selected.number, inputs)
        return
    if not operator.outputs:
        return
    body = _Body(context, operator, inputs, range(len(inputs)))
    bodies = tuple(body.module(branch.number, operator.outputs) for branch in branches)
    arguments = [context.value(inputs[index]) for index in body.passed]
    types = [relax.TensorType(tensor.shape, tensor.dtype) for tensor in operator.outputs]
    results = call_control_flow(
        context.builder,
        "if_then_else",
        ControlFlow(bodies),
        [context.value(condition), *arguments],
        types,
    )
    for result, tensor in zip(results, operator.outputs, strict=True):
        context.set_moved(operator, result, tensor)


@converts("WHILE", moves=True)
def convert_while(context: Context, operator: TfliteOperator) -> None:
    """Append a loop that carries the tensors that its body changes."""
    condition, body = subgraphs_run_by(operator.model, operator.table)
    inputs = _passed_inputs(operator, 0)
    graph = operator.model.Subgraphs(body.number)
    before, after = vector(graph, "Inputs"), vector(graph, "Outputs")
    carried = [index for index in range(len(inputs)) if before[index] != after[index]]
    if not carried:
        raise operator.unsupported(
            f"its body, subgraph {body.number}, changes none of its tensors, so that it never runs "
            "or never ends; convert the model without it"
        )
    order = [*carried, *(index for index in range(len(inputs)) if index not in carried)]
    for tensor, output in zip(inputs, operator.outputs, strict=True):
        _require_same_type(operator, body.number, "result", output, tensor)
    bodies = _Body(context, operator, inputs, order, carried)
    condition_module = bodies.module(condition.number, [None])
    body_module = bodies.module(body.number, inputs, carried)
    arguments = [context.value(inputs[index]) for index in bodies.passed]
    flow = ControlFlow((condition_module, body_module), trips=_UNTIL_FALSE, carried=len(carried))
    results = call_control_flow(context.builder, "while_loop", flow, arguments, [])
    changed = dict(zip(carried, results, strict=True))
    for index, output in enumerate(operator.outputs):
        tensor = inputs[index]
        if index in changed:
            context.set_moved(operator, changed[index], output)
        elif tensor.data is not None:
            context.set_known(operator, tensor.data, output)
        else:
            context.set_moved(operator, context.value(tensor), output)


def _passed_inputs(operator: TfliteOperator, first: int) -> list[TfliteTensor]:
    """Return the inputs that the operator passes to its subgraphs: those from `first` on."""
    inputs = [operator.input(index) for index in range(first, len(operator.inputs))]
    for tensor in inputs:
        if tensor.dtype == "resource":
            raise operator.unsupported(
                f'"{tensor.name}" is the handle of a variable; state inside of control flow is not '
                "supported: keep it in the main graph"
            )
    return inputs


def _inline(
    context: Context, operator: TfliteOperator, number: int, inputs: Sequence[TfliteTensor]
) -> None:
    """Append the operators of a subgraph with these inputs; its outputs are the operator's."""
    inner = context.of_subgraph(operator, number)
    values = [context.value(tensor) for tensor in inputs]
    outputs, results = _converted(inner, operator, number, inputs, values)
    for tensor, result, output in zip(outputs, results, operator.outputs, strict=True):
        _require_same_type(operator, number, "output", tensor, output)
        if tensor.data is not None:
            context.set_known(operator, tensor.data, output)
        else:
            context.set_moved(operator, result, output)


@dataclass(frozen=True)
class _Body:
    """A subgraph that becomes the body of control flow.

    Parameters
    ----------
    inputs
        the inputs that the operator passes; a known one that does not change is no parameter.
    order
        the order of the parameters, as positions among these inputs.
    carried
        the positions of the inputs that change from one iteration to the next.
    """

    context: Context
    operator: TfliteOperator
    inputs: Sequence[TfliteTensor]
    order: Sequence[int]
    carried: Sequence[int] = ()

    @property
    def passed(self) -> list[int]:
        """The positions of the inputs that are parameters."""
        is_passed = [i in self.carried or t.data is None for i, t in enumerate(self.inputs)]
        return [index for index in self.order if is_passed[index]]

    def module(
        self, number: int, like: Sequence[TfliteTensor | None], places: Sequence[int] | None = None
    ) -> IRModule:
        """Return a module whose `main` is a subgraph.

        Parameters
        ----------
        like
            tensors of the types that the outputs must have; None for a condition.
        places
            the positions of the outputs to return; by default all.
        """
        builder = LimitedBuilder(self.context.builder.limits)
        inner = self.context.of_subgraph(self.operator, number, builder)
        params = {
            index: relax.Var(
                f"x{index}", relax.TensorType(self.inputs[index].shape, self.inputs[index].dtype)
            )
            for index in self.passed
        }
        with open_function(builder, "main"):
            with builder.dataflow():
                # Known inputs are constants here: other modules' variables are out of scope.
                values = [
                    params[index]
                    if tensor.data is None
                    else params.get(index, constant(tensor.data))
                    for index, tensor in enumerate(self.inputs)
                ]
                changing = [i in self.carried for i in range(len(self.inputs))]
                outputs, results = _converted(
                    inner, self.operator, number, self.inputs, values, changing
                )
                for tensor, wanted in zip(outputs, like, strict=True):
                    if wanted is None:
                        _require_bool(self.operator, tensor)
                    else:
                        _require_same_type(self.operator, number, "output", tensor, wanted)
                kept = [results[i] for i in (range(len(results)) if places is None else places)]
                result = builder.emit_output(kept[0] if len(kept) == 1 else relax.Tuple(kept))
            builder.emit_func_output(result, list(params.values()))
        self.context.builder.operators += builder.operators
        self.context.builder.count()
        mod = builder.get()
        mod.update_func(mod.get_global_var("main"), inner.folded.give_back(mod["main"]))
        return mod


def _converted(
    inner: Context,
    operator: TfliteOperator,
    number: int,
    inputs: Sequence[TfliteTensor],
    values: Sequence[relax.Expr],
    changing: Sequence[bool] | None = None,
) -> tuple[list[TfliteTensor], list[relax.Expr]]:
    """Append the operators of a subgraph, and return its outputs and their values.

    Parameters
    ----------
    inputs, values
        the operator's tensors that are the subgraph's inputs, and their values here.
    changing
        for each input, whether it changes between iterations; a value known before is then ignored.
    """
    model = operator.model
    graph = model.Subgraphs(number)
    tensors = Tensors(model, graph)
    for place, index in enumerate(vector(graph, "Inputs")):
        tensor, data = tensors[index], inputs[place].data
        _require_same_type(operator, number, "input", tensor, inputs[place])
        inner.values[index] = values[place]
        if data is not None and not (changing and changing[place]):
            tensor.inferred.values[index] = data
    outputs = [tensors[index] for index in vector(graph, "Outputs")]
    assert inner.convert_graph is not None
    operators = operators_of(model, graph, tensors)
    return outputs, inner.convert_graph(inner, operators, outputs)


def _require_bool(operator: TfliteOperator, condition: TfliteTensor) -> None:
    """Check that a tensor is one bool."""
    if condition.dtype != "bool" or prod(condition.shape) != 1:
        raise operator.unsupported(
            f'condition "{condition.name}" is {condition.dtype}{list(condition.shape)}; it must be '
            "one bool"
        )


def _require_same_type(
    operator: TfliteOperator, number: int, kind: str, inner: TfliteTensor, outer: TfliteTensor
) -> None:
    """Check that a subgraph's tensor has the shape and type of the operator's tensor."""
    inner.take_shape(outer.shape)
    if (inner.dtype, inner.shape) != (outer.dtype, outer.shape):
        raise operator.unsupported(
            f'{kind} "{inner.name}" of subgraph {number} is {inner.dtype}{list(inner.shape)}, and '
            f'"{outer.name}" is {outer.dtype}{list(outer.shape)}; they must be the same'
        )
