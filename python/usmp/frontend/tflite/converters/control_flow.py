"""Operators that run other subgraphs: IF, WHILE, STABLEHLO_COMPOSITE.

A subgraph that runs once, and always, is written out where it is run. Others become bodies of
control flow.
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
"""How often a loop runs whose condition is computed."""


@converts("STABLEHLO_COMPOSITE", moves=True)
def convert_composite(context: Context, operator: TfliteOperator) -> None:
    """What it is decomposed into, which is what LiteRT runs."""
    (run,) = subgraphs_run_by(operator.model, operator.table)
    given = _given(operator, 0)
    _write_out(context, operator, run.number, given)


@converts("IF", moves=True)
def convert_if(context: Context, operator: TfliteOperator) -> None:
    """The branch of a condition that is known takes its place; else one of both runs."""
    branches = subgraphs_run_by(operator.model, operator.table)
    condition = operator.input(0)
    _require_bool(operator, condition)
    given = _given(operator, 1)
    if condition.data is not None:
        taken = branches[0 if condition.data.item() else 1]
        _write_out(context, operator, taken.number, given)
        return
    if not operator.outputs:
        return
    body = _Body(context, operator, given, range(len(given)))
    bodies = tuple(body.module(branch.number, operator.outputs) for branch in branches)
    arguments = [context.value(given[index]) for index in body.passed]
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
    """A loop whose body replaces the tensors that it does not hand on as they are."""
    condition, body = subgraphs_run_by(operator.model, operator.table)
    given = _given(operator, 0)
    graph = operator.model.Subgraphs(body.number)
    before, after = vector(graph, "Inputs"), vector(graph, "Outputs")
    carried = [index for index in range(len(given)) if before[index] != after[index]]
    if not carried:
        raise operator.unsupported(
            f"its body, subgraph {body.number}, changes none of its tensors, so that it never runs "
            "or never ends; convert the model without it"
        )
    order = [*carried, *(index for index in range(len(given)) if index not in carried)]
    for tensor, output in zip(given, operator.outputs, strict=True):
        _require_same_type(operator, body.number, "result", output, tensor)
    bodies = _Body(context, operator, given, order, carried)
    asked = bodies.module(condition.number, [None])
    ran = bodies.module(body.number, given, carried)
    arguments = [context.value(given[index]) for index in bodies.passed]
    flow = ControlFlow((asked, ran), trips=_UNTIL_FALSE, carried=len(carried))
    results = call_control_flow(context.builder, "while_loop", flow, arguments, [])
    changed = dict(zip(carried, results, strict=True))
    for index, output in enumerate(operator.outputs):
        tensor = given[index]
        if index in changed:
            context.set_moved(operator, changed[index], output)
        elif tensor.data is not None:
            context.set_known(operator, tensor.data, output)
        else:
            context.set_moved(operator, context.value(tensor), output)


def _given(operator: TfliteOperator, first: int) -> list[TfliteTensor]:
    """What the subgraphs are given: the inputs from the first on."""
    given = [operator.input(index) for index in range(first, len(operator.inputs))]
    for tensor in given:
        if tensor.dtype == "resource":
            raise operator.unsupported(
                f'"{tensor.name}" is the handle of a variable; state inside of control flow is not '
                "supported: keep it in the main graph"
            )
    return given


def _write_out(
    context: Context, operator: TfliteOperator, number: int, given: Sequence[TfliteTensor]
) -> None:
    """Append a subgraph that the operator runs with these of its inputs."""
    inner = context.of_subgraph(operator, number)
    values = [context.value(tensor) for tensor in given]
    outputs, results = _converted(inner, operator, number, given, values)
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
    given
        what the operator runs it with; what is known of it and does not change is no parameter.
    order
        of the parameters, by their places among the inputs.
    carried
        the places of what changes from one iteration to the next.
    """

    context: Context
    operator: TfliteOperator
    given: Sequence[TfliteTensor]
    order: Sequence[int]
    carried: Sequence[int] = ()

    @property
    def passed(self) -> list[int]:
        """The places of the inputs that are parameters."""
        is_passed = [i in self.carried or t.data is None for i, t in enumerate(self.given)]
        return [index for index in self.order if is_passed[index]]

    def module(
        self, number: int, like: Sequence[TfliteTensor | None], places: Sequence[int] | None = None
    ) -> IRModule:
        """A module whose `main` is a subgraph.

        Parameters
        ----------
        like
            tensors that have the types which its outputs must have; None for a condition.
        places
            of the outputs that it gives; by default all.
        """
        builder = LimitedBuilder(self.context.builder.limits)
        inner = self.context.of_subgraph(self.operator, number, builder)
        params = {
            index: relax.Var(
                f"x{index}", relax.TensorType(self.given[index].shape, self.given[index].dtype)
            )
            for index in self.passed
        }
        with open_function(builder, "main"):
            with builder.dataflow():
                # What is known is written here: the operator's function may have a variable for it.
                values = [
                    params[index]
                    if tensor.data is None
                    else params.get(index, constant(tensor.data))
                    for index, tensor in enumerate(self.given)
                ]
                changing = [i in self.carried for i in range(len(self.given))]
                outputs, results = _converted(
                    inner, self.operator, number, self.given, values, changing
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
    given: Sequence[TfliteTensor],
    values: Sequence[relax.Expr],
    changing: Sequence[bool] | None = None,
) -> tuple[list[TfliteTensor], list[relax.Expr]]:
    """The outputs of a subgraph, whose operators are appended, and what they are.

    Parameters
    ----------
    given, values
        what its inputs are.
    changing
        of each input, whether it changes: what is known of it does not hold then.
    """
    model = operator.model
    graph = model.Subgraphs(number)
    tensors = Tensors(model, graph)
    for place, index in enumerate(vector(graph, "Inputs")):
        tensor, data = tensors[index], given[place].data
        _require_same_type(operator, number, "input", tensor, given[place])
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
    operator: TfliteOperator, number: int, what: str, inner: TfliteTensor, outer: TfliteTensor
) -> None:
    """Check that a subgraph takes or gives what the operator has: the bytes are the same then."""
    inner.take_shape(outer.shape)
    if (inner.dtype, inner.shape) != (outer.dtype, outer.shape):
        raise operator.unsupported(
            f'{what} "{inner.name}" of subgraph {number} is {inner.dtype}{list(inner.shape)}, and '
            f'"{outer.name}" is {outer.dtype}{list(outer.shape)}; they must be the same'
        )
