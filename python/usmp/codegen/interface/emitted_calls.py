"""Operator calls in the entries of a planned module: computations, tensors, origins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tvm import tirx
from tvm.ir import Call, IRModule, PointerType

from usmp.analysis.memory.facts import FunctionFacts, module_facts
from usmp.analysis.operator_statements import operator_statements
from usmp.codegen.interface.entry_facts import pool_parameters
from usmp.objects import ConstantPoolInfo
from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    OPERATOR_SHAPES_ATTR,
    SEGMENT_ATTR,
    SHARED_FUNCTION_ATTR,
)
from usmp.objects.entries import entries_of, entry_function_name
from usmp.objects.extent import size_expression
from usmp.objects.operator_step import OperatorStep
from usmp.objects.schedule import SCHEDULE_ATTR, Schedule
from usmp.objects.symbolic_size import symbolic_sizes
from usmp.ops.accelerator_function import AcceleratorFunction
from usmp.ops.operator_steps import steps_of
from usmp.plain.size_expression import shape_at, sizes_in
from usmp.support.model_operators import is_quantizer
from usmp.tir.model_operator import ModelOperator, joined_span, label_in, operators_in
from usmp.tir.nodes import nodes_of


@dataclass(frozen=True)
class OperatorTensor:
    """An input or output tensor of an operator.

    Parameters
    ----------
    dtype
        element type.
    shape
        extents in elements, with symbolic sizes at their upper bounds; a single extent if only the
        number of elements is known.
    """

    dtype: str
    shape: tuple[int, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON."""
        return {"dtype": self.dtype, "shape": list(self.shape)}


@dataclass(frozen=True)
class EmittedCall:
    """A statement in the main function of an entry that runs one operator, or several.

    Parameters
    ----------
    entry
        name of the entry.
    functions
        names of the called PrimFuncs.
    steps
        computations of the PrimFuncs, in order.
    schedules
        schedules of the PrimFuncs that have one, in order.
    inputs, outputs
        tensors without constants and scratch memory; a tensor that is updated is an output.
    segments
        descriptions, for metadata.json, of the PrimFuncs that run several operators interleaved.
    model_operators
        the operators of the model file that the call computes, in file order, quantizers last.
    label
        what the call does if the compiler has inserted it, such as "copy of x"; or "".
    accelerator_functions
        the functions of accelerators among the called PrimFuncs, in order.
    """

    entry: str
    functions: list[str]
    steps: list[OperatorStep]
    inputs: list[OperatorTensor]
    outputs: list[OperatorTensor]
    schedules: list[Schedule] = field(default_factory=list)
    segments: list[Mapping[str, Any]] = field(default_factory=list)
    model_operators: tuple[ModelOperator, ...] = ()
    label: str = ""
    accelerator_functions: Sequence[AcceleratorFunction] = ()

    @property
    def accelerators(self) -> list[str]:
        """The names of the accelerators that run it, in order."""
        return list(dict.fromkeys(str(f.accelerator) for f in self.accelerator_functions))

    @property
    def macs(self) -> int | None:
        """The number of multiply-accumulates; None if a step's number is not known."""
        counts = [step.macs for step in self.steps]
        return None if None in counts else sum(count for count in counts if count is not None)

    def as_json(self) -> dict[str, Any]:
        """Return the entry of the call in metadata.json."""
        known: dict[str, Any] = {} if self.macs is None else {"macs": self.macs}
        if self.label:
            known["label"] = self.label
        if self.accelerators:
            known["accelerators"] = self.accelerators
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
    """Return the operator calls of a planned module, entry by entry, in order of execution.

    `usmp.transform.CallOperatorHooks` numbers operators by their index in this list.
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
    """Return the operators of each entry's model file, in order, including operators without code.
    The lists are empty if the file's importer records no operators."""
    return {e: operators_in(mod[entry_function_name(e)].span) for e in entries_of(mod)}


def _emitted_call(mod: IRModule, main: FunctionFacts, entry: str, calls: list[Call]) -> EmittedCall:
    origins = operators_in(joined_span(call.span for call in calls))
    quantizers_last = tuple(sorted(origins, key=lambda origin: is_quantizer(origin.type)))
    emitted = EmittedCall(entry, [], [], [], [], model_operators=quantizers_last)
    constant = {
        param
        for param, pool in pool_parameters(main.func).items()
        if isinstance(pool.pool_info, ConstantPoolInfo)
    }
    largest = {str(s.name): s.noted_value for s in symbolic_sizes(main.func)}
    functions: list[AcceleratorFunction] = []
    for call in calls:
        called = main.calls.resolve(call)
        assert called is not None
        callee = main.callees[called.callee]
        emitted.functions.append(called.callee)
        emitted.steps.extend(steps_of(callee.func, called.callee))
        schedule = SCHEDULE_ATTR.of(callee.func)
        emitted.schedules.extend([] if schedule is None else [schedule])
        segment = SEGMENT_ATTR.of(callee.func)
        emitted.segments.extend([] if segment is None else [segment])
        function = ACCELERATOR_FUNCTION_ATTR.of(callee.func)
        functions.extend([] if function is None else [function])
        shapes = _shapes(mod, callee.func, largest)
        arguments = zip(callee.func.params, main.calls.passed(called), strict=False)
        for index, (param, argument) in enumerate(arguments):
            memories = {a.memory for a in main.points_to.addresses_of(argument)}
            if param not in shapes or memories & constant:
                continue
            tensor = OperatorTensor(str(param.ty.element_type.dtype), shapes[param])
            is_written = index in callee.written_parameters
            (emitted.outputs if is_written else emitted.inputs).append(tensor)
    emitted = replace(emitted, accelerator_functions=functions)
    labels = {label_in(call.span) for call in calls}
    # A copy that runs interleaved with operators is no statement of its own.
    return emitted if emitted.segments or len(labels) > 1 else replace(emitted, label=labels.pop())


def _shapes(
    mod: IRModule, func: tirx.PrimFunc, largest: Mapping[str, int]
) -> dict[tirx.Var, tuple[int, ...]]:
    """Return the shapes of the tensor parameters of a PrimFunc before they were flattened.

    Parameters
    ----------
    func
        a PrimFunc of the planned module.
    largest
        name of a symbolic size -> its upper bound.
    """
    pointers = {p.name: p for p in func.params if isinstance(p.ty, PointerType)}
    described = OPERATOR_SHAPES_ATTR.of(func)
    name = SHARED_FUNCTION_ATTR.of(func)
    if described is None and name is not None:
        # Read the shapes of the called shared function. It takes integers after pointers.
        shared, (call,) = mod[str(name)], nodes_of(func.body, Call)
        passed = dict(zip(shared.params, call.args, strict=True))
        integers = {v.name: int(a) for v, a in passed.items() if isinstance(a, tirx.IntImm)}
        shared_shapes = _shapes(mod, shared, {**largest, **integers})
        return {passed[param]: shape for param, shape in shared_shapes.items()}
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
    """Return the extents at the upper bounds; None if they depend on other variables."""
    try:
        extents = [size_expression(extent) for extent in shape]
    except ValueError:
        return None
    if any(name not in largest for extent in extents for name in sizes_in(extent)):
        return None
    return tuple(shape_at(extents, largest))
