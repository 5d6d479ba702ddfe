"""The subgraphs that operators run: which ones, and whether they end."""

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
"""How deep subgraphs may be nested; converters write two or three."""

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
        of the subgraph.
    inputs, outputs
        how many it must have, for the operator to give and take them.
    """

    number: int
    inputs: int
    outputs: int


def subgraphs_run_by(model: tflite.Model, operator: tflite.Operator) -> list[RunSubgraph]:
    """The subgraphs of an operator: those of the branches of IF, the condition and the body of
    WHILE, the decomposition of STABLEHLO_COMPOSITE; none of any other operator.

    Raises
    ------
    UnsupportedModelError
        its options do not say.
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
    """Check that what the operators of `entries` run is there, ends, and is not too much.

    Raises
    ------
    UnsupportedModelError
        a subgraph is missing, takes or gives other numbers of tensors, runs itself, keeps state, or
        runs others in a way that is not supported.
    LimitError
        written out, there are more operators, or bytes of constants, than a model may have.
    """
    walk = _Walk(model, limits)
    for entry in entries:
        walk.count(entry)


@dataclass
class _Walk:
    model: tflite.Model
    limits: Limits
    counted: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Of subgraphs that were looked at: how many operators they are, written out, how deep, and how
    many bytes of constants."""
    running: list[int] = field(default_factory=list)
    stateless: set[int] = field(default_factory=set)
    """Subgraphs that operators run, which an entry may be too, and that keep nothing."""

    def count(self, number: int) -> tuple[int, int, int]:
        """How many operators a subgraph is, with those of all that it runs, how deep they are
        nested, and how many bytes their constants take."""
        if number in self.counted:
            return self.counted[number]
        graph, total, depth, constants = self.model.Subgraphs(number), 0, 1, 0
        self.running.append(number)
        for position in range(graph.OperatorsLength()):
            operator = graph.Operators(position)
            name = operator_name(self.model, operator)
            where = f" of subgraph {number}" if number else ""
            what = f"operator {position}{where} ({name})"
            total += 1
            for run in subgraphs_run_by(self.model, operator):
                self._check_run(operator, run, what)
                inner, levels, size = self.count(run.number)
                total, depth, constants = total + inner, max(depth, levels + 1), constants + size
                if depth > _DEEPEST:
                    raise UnsupportedModelError(_TOO_DEEP.format(what))
                self.limits.check_operators(
                    f"with the subgraphs that operators run, subgraph {number} has", total
                )
                # Each run has its own; those of the main graph are in the file.
                self.limits.check_constants(constants, f"among the {size} of {what}")
        self.running.pop()
        self.counted[number] = total, depth, constants + self._constant_bytes(number)
        return self.counted[number]

    def _constant_bytes(self, number: int) -> int:
        graph = self.model.Subgraphs(number)
        buffers = {graph.Tensors(index).Buffer() for index in range(graph.TensorsLength())}
        return sum(self.model.Buffers(buffer).DataLength() for buffer in buffers)

    def _check_run(self, operator: tflite.Operator, run: RunSubgraph, what: str) -> None:
        count = self.model.SubgraphsLength()
        if not 0 <= run.number < count:
            raise UnsupportedModelError(
                f"the file is damaged: {what} runs subgraph {run.number}, and there are {count}"
            )
        if run.number in self.running:
            raise UnsupportedModelError(
                f"{what} runs subgraph {run.number}, in which it stands itself; recursion has no "
                "static memory: write it as a loop"
            )
        if len(self.running) >= _DEEPEST:
            raise UnsupportedModelError(_TOO_DEEP.format(what))
        graph = self.model.Subgraphs(run.number)
        given = graph.InputsLength(), graph.OutputsLength()
        if given != (run.inputs, run.outputs) or run.inputs < 0:
            raise UnsupportedModelError(
                f"the file is damaged: {what} runs subgraph {run.number}, which has {given[0]} "
                f"inputs and {given[1]} outputs; it should have {max(run.inputs, 0)} and "
                f"{run.outputs}"
            )
        if run.number not in self.stateless:
            self._check_keeps_nothing(run.number, what)
            self.stateless.add(run.number)

    def _check_keeps_nothing(self, number: int, what: str) -> None:
        graph = self.model.Subgraphs(number)
        for index in range(graph.TensorsLength()):
            if graph.Tensors(index).IsVariable():
                raise UnsupportedModelError(
                    f'{what} runs subgraph {number}, whose tensor "{tensor_name(graph, index)}"'
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
    """The options of an operator that runs subgraphs."""
    name = operator_name(model, operator)
    is_new = kind is tflite.StableHLOCompositeOptions
    numbers = tflite.BuiltinOptions2 if is_new else tflite.BuiltinOptions
    given = operator.BuiltinOptions2Type() if is_new else operator.BuiltinOptionsType()
    table = operator.BuiltinOptions2() if is_new else operator.BuiltinOptions()
    if table is None or given != getattr(numbers, kind.__name__):
        raise UnsupportedModelError(
            f"the file is damaged: the options of {name} do not say which subgraphs it runs"
        )
    options = kind()
    options.Init(table.Bytes, table.Pos)
    return options
