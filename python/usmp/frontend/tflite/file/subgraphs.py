"""The subgraphs that operators run, and checks that they exist and end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import tflite

from usmp.frontend.tflite.file.read import (
    builtin_code,
    operator_name,
    tensor_name,
)
from usmp.relax.limits import Limits
from usmp.support.errors import UnsupportedModelError

_DEEPEST = 16
"""Most levels of nested subgraphs; converters write two or three."""

_TOO_DEEP = f"{{}} runs subgraphs more than {_DEEPEST} levels deep; nest them less deeply"

_KEEP_STATE = (
    tflite.BuiltinOperator.VAR_HANDLE,
    tflite.BuiltinOperator.READ_VARIABLE,
    tflite.BuiltinOperator.ASSIGN_VARIABLE,
    tflite.BuiltinOperator.CALL_ONCE,
)
_RUN_SUBGRAPHS = (
    tflite.BuiltinOperator.IF,
    tflite.BuiltinOperator.WHILE,
    tflite.BuiltinOperator.STABLEHLO_COMPOSITE,
)


@dataclass(frozen=True)
class RunSubgraph:
    """A subgraph that an operator runs.

    Parameters
    ----------
    number
        the number of the subgraph.
    inputs, outputs
        the numbers of inputs and outputs that it must have to fit the operator.
    """

    number: int
    inputs: int
    outputs: int


def subgraphs_run_by(model: tflite.Model, operator: tflite.Operator) -> list[RunSubgraph]:
    """Return the subgraphs of an operator: the branches of IF, the condition and the body of WHILE,
    the decomposition of STABLEHLO_COMPOSITE; none for any other operator.

    Raises
    ------
    UnsupportedModelError
        the operator's options do not name the subgraphs.
    """
    code = builtin_code(model, operator)
    inputs, outputs = operator.InputsLength(), operator.OutputsLength()
    if code == tflite.BuiltinOperator.IF:
        branches = _options(model, operator, tflite.IfOptions)
        return [
            RunSubgraph(int(number), inputs - 1, outputs)
            for number in (branches.ThenSubgraphIndex(), branches.ElseSubgraphIndex())
        ]
    if code == tflite.BuiltinOperator.WHILE:
        loop = _options(model, operator, tflite.WhileOptions)
        condition, body = loop.CondSubgraphIndex(), loop.BodySubgraphIndex()
        return [
            RunSubgraph(int(condition), inputs, 1),
            RunSubgraph(int(body), inputs, inputs),
        ]
    if code == tflite.BuiltinOperator.STABLEHLO_COMPOSITE:
        composite = _options(model, operator, tflite.StableHLOCompositeOptions)
        return [RunSubgraph(int(composite.DecompositionSubgraphIndex()), inputs, outputs)]
    return []


def check_subgraphs(model: tflite.Model, entries: Iterable[int], limits: Limits) -> None:
    """Check that the subgraphs run by `entries` exist, do not recurse, and stay within limits.

    Raises
    ------
    UnsupportedModelError
        a subgraph is missing, has other numbers of inputs or outputs, runs itself, keeps state, or
        runs others in a way that is not supported.
    LimitError
        the model with inlined subgraphs has too many operators or bytes of constants.
    """
    walk = _Walk(model, limits)
    for entry in entries:
        walk.count(entry)


@dataclass
class _Walk:
    model: tflite.Model
    limits: Limits
    counted: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Operators, levels of nesting and bytes of constants of visited subgraphs, with all that they
    run."""
    running: list[int] = field(default_factory=list)
    stateless: set[int] = field(default_factory=set)
    """Subgraphs that operators run and that keep no state; an entry may be one of them."""

    def count(self, number: int) -> tuple[int, int, int]:
        """Return the operators, levels of nesting and bytes of constants of a subgraph, with all
        that it runs."""
        if number in self.counted:
            return self.counted[number]
        graph, total, depth, constants = self.model.Subgraphs(number), 0, 1, 0
        self.running.append(number)
        for position in range(graph.OperatorsLength()):
            operator = graph.Operators(position)
            name = operator_name(self.model, operator)
            where = f" of subgraph {number}" if number else ""
            label = f"operator {position}{where} ({name})"
            total += 1
            for run in subgraphs_run_by(self.model, operator):
                self._check_run(operator, run, label)
                inner, levels, size = self.count(run.number)
                total, depth, constants = total + inner, max(depth, levels + 1), constants + size
                if depth > _DEEPEST:
                    raise UnsupportedModelError(_TOO_DEEP.format(label))
                self.limits.check_operators(
                    f"with the subgraphs that operators run, subgraph {number} has", total
                )
                # Only inlined subgraphs count, because each run gets copies of their constants.
                self.limits.check_constants(constants, f"among the {size} of {label}")
        self.running.pop()
        self.counted[number] = total, depth, constants + self._constant_bytes(number)
        return self.counted[number]

    def _constant_bytes(self, number: int) -> int:
        graph = self.model.Subgraphs(number)
        buffers = {graph.Tensors(index).Buffer() for index in range(graph.TensorsLength())}
        return sum(self.model.Buffers(buffer).DataLength() for buffer in buffers)

    def _check_run(self, operator: tflite.Operator, run: RunSubgraph, label: str) -> None:
        count = self.model.SubgraphsLength()
        if not 0 <= run.number < count:
            raise UnsupportedModelError(
                f"the file is damaged: {label} runs subgraph {run.number}, and there are {count}"
            )
        if run.number in self.running:
            raise UnsupportedModelError(
                f"{label} runs subgraph {run.number}, in which it stands itself; recursion has no "
                "static memory: write it as a loop"
            )
        if len(self.running) >= _DEEPEST:
            raise UnsupportedModelError(_TOO_DEEP.format(label))
        graph = self.model.Subgraphs(run.number)
        counts = graph.InputsLength(), graph.OutputsLength()
        if counts != (run.inputs, run.outputs) or run.inputs < 0:
            raise UnsupportedModelError(
                f"the file is damaged: {label} runs subgraph {run.number}, which has {counts[0]} "
                f"inputs and {counts[1]} outputs; it should have {max(run.inputs, 0)} and "
                f"{run.outputs}"
            )
        if run.number not in self.stateless:
            self._check_keeps_nothing(run.number, label)
            self.stateless.add(run.number)

    def _check_keeps_nothing(self, number: int, label: str) -> None:
        graph = self.model.Subgraphs(number)
        for index in range(graph.TensorsLength()):
            if graph.Tensors(index).IsVariable():
                raise UnsupportedModelError(
                    f'{label} runs subgraph {number}, whose tensor "{tensor_name(graph, index)}"'
                    " is variable; state inside of control flow is not supported: keep it in the "
                    "main graph"
                )
        for position in range(graph.OperatorsLength()):
            operator = graph.Operators(position)
            if builtin_code(self.model, operator) in _KEEP_STATE:
                where = f" of subgraph {number}" if number else ""
                name = operator_name(self.model, operator)
                raise UnsupportedModelError(
                    f"operator {position}{where} ({name}) is in a subgraph that control flow runs; "
                    "state inside of control flow is not supported: keep it in the main graph"
                )


def _options(model: tflite.Model, operator: tflite.Operator, kind: type) -> Any:
    """Return the options of an operator that runs subgraphs."""
    name = operator_name(model, operator)
    is_new = kind is tflite.StableHLOCompositeOptions
    numbers = tflite.BuiltinOptions2 if is_new else tflite.BuiltinOptions
    options_type = operator.BuiltinOptions2Type() if is_new else operator.BuiltinOptionsType()
    table = operator.BuiltinOptions2() if is_new else operator.BuiltinOptions()
    if table is None or options_type != getattr(numbers, kind.__name__):
        raise UnsupportedModelError(
            f"the file is damaged: the options of {name} do not say which subgraphs it runs"
        )
    options = kind()
    options.Init(table.Bytes, table.Pos)
    return options
