"""The operators that the entries of a planned module run: what each computes, on what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tvm import tirx
from tvm.ir import Call, IRModule, PointerType

from usmp.analysis.memory.facts import FunctionFacts, module_facts
from usmp.analysis.operator_statements import operator_statements
from usmp.objects import ConstantPoolInfo
from usmp.objects.attributes import POOL_ARGS_ATTR
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.extent import size_expression
from usmp.objects.operator_attributes import (
    OPERATOR_SHAPES_ATTR,
    SEGMENT_ATTR,
    SHARED_FUNCTION_ATTR,
)
from usmp.objects.operator_step import OperatorStep
from usmp.objects.schedule import SCHEDULE_ATTR, Schedule
from usmp.objects.symbolic_size import symbolic_sizes
from usmp.ops.operator_steps import steps_of
from usmp.plain.size_expression import shape_at, sizes_in
from usmp.tir.model_operator import ModelOperator, joined_span, operators_in
from usmp.tir.nodes import nodes_of


@dataclass(frozen=True)
class OperatorTensor:
    """A tensor that an operator takes or gives.

    Parameters
    ----------
    dtype
        its element type.
    shape
        its extents; one, if only the number of elements is known. Those that depend on symbolic
        sizes are the ones at the upper bounds.
    """

    dtype: str
    shape: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """Both by name."""
        return {"dtype": self.dtype, "shape": list(self.shape)}


@dataclass(frozen=True)
class EmittedCall:
    """A statement of the main function of an entry that runs operators, mostly one.

    Parameters
    ----------
    entry
        name of the entry.
    functions
        names of the PrimFuncs that it calls.
    steps
        what these compute, in order.
    schedules
        the tiles of those that have some, in order.
    inputs, outputs
        their tensors, without constants and scratch memory; what is changed is an output.
    segments
        of those that run several operators interleaved, what metadata.json says of them.
    model_operators
        the operators of the model file that it was made from, in their order there.
    """

    entry: str
    functions: list[str]
    steps: list[OperatorStep]
    inputs: list[OperatorTensor]
    outputs: list[OperatorTensor]
    schedules: list[Schedule] = field(default_factory=list)
    segments: list[dict[str, Any]] = field(default_factory=list)
    model_operators: tuple[ModelOperator, ...] = ()

    @property
    def macs(self) -> int | None:
        """Its multiply-accumulates; None if they are not known."""
        counts = [step.macs for step in self.steps]
        return None if None in counts else sum(count for count in counts if count is not None)

    def as_json(self) -> dict[str, Any]:
        """What metadata.json says of it."""
        known: dict[str, Any] = {} if self.macs is None else {"macs": self.macs}
        if self.schedules:
            known["schedules"] = [schedule.as_json() for schedule in self.schedules]
        if self.segments:
            known["segments"] = self.segments
        return {
            "entry": self.entry,
            "functions": self.functions,
            "steps": [step.as_json() for step in self.steps],
            "inputs": [tensor.as_json() for tensor in self.inputs],
            "outputs": [tensor.as_json() for tensor in self.outputs],
            **known,
        }


def emitted_calls(mod: IRModule) -> list[EmittedCall]:
    """The operators of a planned module as its entries run them, one entry after the other.

    The index in this list is the number that `usmp.transform.CallOperatorHooks` gives to an
    operator.
    """
    facts = module_facts(mod)
    return [
        _emitted_call(mod, facts.of(entry_function_name(entry)), entry, calls)
        for entry in entries_of(mod)
        for calls in operator_statements(
            mod[entry_function_name(entry)], facts.of(entry_function_name(entry)).calls
        ).values()
    ]


def model_operators(mod: IRModule) -> dict[str, tuple[ModelOperator, ...]]:
    """The operators of the model file of each entry, in order, also those that nothing is computed
    for; none if the file's importer does not say."""
    return {e: operators_in(mod[entry_function_name(e)].span) for e in entries_of(mod)}


def _emitted_call(mod: IRModule, main: FunctionFacts, entry: str, calls: list[Call]) -> EmittedCall:
    origins = operators_in(joined_span(call.span for call in calls))
    found = EmittedCall(entry, [], [], [], [], model_operators=origins)
    constant = _constant_pools(main.func)
    largest = {str(s.name): s.noted_value for s in symbolic_sizes(main.func)}
    for call in calls:
        called = main.calls.resolve(call)
        assert called is not None
        callee = main.callees[called.callee]
        found.functions.append(called.callee)
        found.steps.extend(steps_of(callee.func, called.callee))
        schedule = SCHEDULE_ATTR.of(callee.func)
        found.schedules.extend([] if schedule is None else [schedule])
        segment = SEGMENT_ATTR.of(callee.func)
        found.segments.extend([] if segment is None else [_plain(segment)])
        shapes = _shapes(mod, callee.func, largest)
        arguments = zip(callee.func.params, main.calls.passed(called), strict=False)
        for index, (param, argument) in enumerate(arguments):
            memories = {a.memory for a in main.points_to.addresses_of(argument)}
            if param not in shapes or memories & constant:
                continue
            tensor = OperatorTensor(str(param.ty.element_type.dtype), shapes[param])
            is_written = index in callee.written_parameters
            (found.outputs if is_written else found.inputs).append(tensor)
    return found


def _plain(segment: Mapping[str, Any]) -> dict[str, Any]:
    """What the attribute `segment` says, as JSON has it."""
    return {
        str(key): int(value)
        if isinstance(value, int)
        else str(value)
        if isinstance(value, str)
        else [str(name) for name in value]
        for key, value in segment.items()
    }


def _constant_pools(main: tirx.PrimFunc) -> set[tirx.Var]:
    """The parameters that are constant pools; pools come last."""
    pools = list(POOL_ARGS_ATTR.of(main) or ())
    params = list(main.params)[len(main.params) - len(pools) :]
    return {
        param
        for param, pool in zip(params, pools, strict=True)
        if isinstance(pool.pool_info, ConstantPoolInfo)
    }


def _shapes(
    mod: IRModule, func: tirx.PrimFunc, largest: Mapping[str, int]
) -> dict[tirx.Var, tuple[int, ...]]:
    """The shapes of the tensors that a PrimFunc takes, as they were before they became flat.

    Parameters
    ----------
    func
        of the planned module.
    largest
        the upper bounds of symbolic sizes, by their names.
    """
    pointers = {p.name: p for p in func.params if isinstance(p.ty, PointerType)}
    described = OPERATOR_SHAPES_ATTR.of(func)
    name = SHARED_FUNCTION_ATTR.of(func)
    if described is None and name is not None:
        # What it declares is in the function that it shares, which takes integers behind pointers.
        shared, (call,) = mod[str(name)], nodes_of(func.body, Call)
        passed = dict(zip(shared.params, call.args, strict=True))
        integers = {v.name: int(a) for v, a in passed.items() if isinstance(a, tirx.IntImm)}
        found = _shapes(mod, shared, {**largest, **integers})
        return {passed[param]: shape for param, shape in found.items()}
    if described is None:
        shapes = {
            declared.data: declared.buffer.shape
            for declared in nodes_of(func.body, tirx.DeclBuffer)
            if declared.data in pointers.values()
        }
    else:
        shapes = {pointers[n]: shape for n, shape in described.items() if n in pointers}
    known = {param: _extents(shape, largest) for param, shape in shapes.items()}
    return {param: shape for param, shape in known.items() if shape is not None}


def _extents(shape: Sequence[Any], largest: Mapping[str, int]) -> tuple[int, ...] | None:
    """The extents at the upper bounds; None if they depend on something else."""
    try:
        extents = [size_expression(extent) for extent in shape]
    except ValueError:
        return None
    if any(name not in largest for extent in extents for name in sizes_in(extent)):
        return None
    return tuple(shape_at(extents, largest))
