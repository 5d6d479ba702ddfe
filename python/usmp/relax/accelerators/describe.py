"""Descriptions of Relax functions for accelerators: tensors, constants, operators in order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, GlobalVar, IRModule

from usmp.objects.operator_step import OperatorStep
from usmp.ops.accelerator_function import AcceleratorOperator, AcceleratorParameter
from usmp.ops.macs import macs_of
from usmp.ops.operator_steps import steps_of
from usmp.ops.quantized.rescaling.weighted_constants import CONSTANTS
from usmp.ops.records.products import WeightedOp
from usmp.relax.accelerators.patterns import WORKSPACE_SIZE_ATTR, record_of
from usmp.relax.static_shapes import flatten_types
from usmp.support.errors import UnsupportedModelError
from usmp.support.text.unique_names import UniqueNames

Value: TypeAlias = "str | relax.Function | tuple[Value, ...]"
"""The value of a Relax variable: a tensor's name, a function, or a tuple of values."""


@dataclass
class Partition:
    """The content of a function for an accelerator.

    Parameters
    ----------
    constants
        name -> value, in order of first use.
    steps
        its operators, for reports.
    composites
        names of the patterns that matched its operators.
    other_operators
        number of operators that no pattern matched.
    workspace_bytes
        bytes of scratch memory that the patterns ask for.
    """

    inputs: list[AcceleratorParameter] = field(default_factory=list)
    outputs: list[AcceleratorParameter] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    operators: list[AcceleratorOperator] = field(default_factory=list)
    steps: list[OperatorStep] = field(default_factory=list)
    composites: list[str] = field(default_factory=list)
    other_operators: int = 0
    workspace_bytes: int = 0

    @property
    def parameters(self) -> list[AcceleratorParameter]:
        """The pointer parameters of the C function, in order."""
        constants = [
            AcceleratorParameter(name, "constant", list(value.shape), str(value.dtype))
            for name, value in self.constants.items()
        ]
        workspace = [
            AcceleratorParameter("workspace", "workspace", [self.workspace_bytes], "uint8")
        ]
        return [*self.inputs, *constants, *self.outputs, *(workspace * bool(self.workspace_bytes))]


def describe_partition(function: relax.Function, mod: IRModule) -> Partition:
    """Describe a function with the attribute `Codegen`.

    Raises
    ------
    UnsupportedModelError
        the function returns an input, a constant, or a tensor twice.
    """
    return _Reader(mod).read(function)


class _Reader:
    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.partition = Partition()
        self.depth = 0
        self.values: dict[tirx.Var, Value] = {}
        self.names = UniqueNames(["device", "workspace"])

    def read(self, function: relax.Function) -> Partition:
        types = [leaf for param in function.params for leaf in flatten_types(param.ty)]
        names = iter(self._numbered("input", len(types)))
        for param in function.params:
            self.values[param] = self._named(param.ty, names)
        for name, ty in zip(self._numbered("input", len(types)), types, strict=True):
            self.partition.inputs.append(_parameter(name, "input", ty))
        for name in [*self._numbered("input", len(types)), *self._outputs(function)]:
            self.names.unique(name)
        results = [*_flatten(self._function(function))]
        self._rename(results, self._outputs(function))
        for name, ty in zip(self._outputs(function), _leaves(function), strict=True):
            self.partition.outputs.append(_parameter(name, "output", ty))
        return self.partition

    def _outputs(self, function: relax.Function) -> list[str]:
        return self._numbered("output", len(_leaves(function)))

    def _numbered(self, stem: str, count: int) -> list[str]:
        return [stem] if count == 1 else [f"{stem}{index}" for index in range(count)]

    def _named(self, ty: tvm.ir.Type, names: Any) -> Value:
        if isinstance(ty, tvm.ir.TupleType):
            return tuple(self._named(element, names) for element in ty.fields)
        return str(next(names))

    def _function(self, function: relax.Function) -> Value:
        """Add the operators of a function whose parameters have values, and return its result."""
        attrs = function.attrs or {}
        if "Composite" in attrs:
            self.partition.composites.append(str(attrs["Composite"]))
        self.depth += "Composite" in attrs
        self.partition.workspace_bytes += int(attrs.get(WORKSPACE_SIZE_ATTR, 0))
        for block in function.body.blocks:
            for binding in block.bindings:
                self.values[binding.var] = self._value(binding.value)
        result = self._value(function.body.body)
        self.depth -= "Composite" in attrs
        return result

    def _value(self, expr: tvm.ir.Expr) -> Value:
        if isinstance(expr, relax.Function):
            return expr
        if isinstance(expr, relax.Tuple):
            return tuple(self._value(element) for element in expr.fields)
        if isinstance(expr, relax.TupleGetItem):
            whole = self._value(expr.tuple_value)
            assert isinstance(whole, tuple)
            return whole[expr.index]
        if isinstance(expr, GenericConst):
            return self._constant("constant", expr.value.numpy())
        if isinstance(expr, relax.ShapeExpr):
            return json.dumps([int(extent) for extent in expr.values])
        if isinstance(expr, Call):
            return self._call(expr)
        return self.values[expr] if expr in self.values else str(expr)

    def _call(self, call: Call) -> Value:
        callee = self._callee(call)
        if callee is not None:
            for param, argument in zip(callee.params, call.args, strict=True):
                self.values[param] = self._value(argument)
            return self._function(callee)
        self.partition.other_operators += self.depth == 0
        if call.op.name == "relax.call_tir":
            return self._operator_prim_func(call)
        arguments = [name for argument in call.args for name in _flatten(self._value(argument))]
        name = call.op.name.removeprefix("relax.")
        self.partition.steps.append(OperatorStep(name, _macs_of(call)))
        return self._emit(name, arguments, call, attributes_of(call))

    def _callee(self, call: Call) -> relax.Function | None:
        """Return the called Relax function, or None."""
        if isinstance(call.op, GlobalVar):
            function = self.mod[call.op]
        else:
            function = self.values.get(call.op) if isinstance(call.op, tvm.ir.Var) else None
        return function if isinstance(function, relax.Function) else None

    def _operator_prim_func(self, call: Call) -> Value:
        """Add the operator of a PrimFunc; with a record, under its kind and with quantization."""
        record = record_of(call, self.mod)
        self.partition.steps += steps_of(self.mod[call.args[0]], str(call.args[0].name_hint))
        operands = call.args[1].fields
        tensors = [self._value(e) for e in operands if not isinstance(e, GenericConst)]
        constants = [e.value.numpy() for e in operands if isinstance(e, GenericConst)]
        arguments = [name for tensor in tensors for name in _flatten(tensor)]
        is_weighted = isinstance(record, WeightedOp) and len(constants) == len(CONSTANTS)
        names = CONSTANTS if is_weighted else ("constant",) * len(constants)
        arguments += [self._constant(*named) for named in zip(names, constants, strict=True)]
        if record is None:
            return self._emit(str(call.args[0].name_hint), arguments, call, {})
        held = record.as_json()
        quantization = {name: held[name] for name in ("inputs", "outputs")}
        return self._emit(record.kind, arguments, call, held["parameters"], quantization)

    def _constant(self, name: str, value: np.ndarray) -> str:
        if name == "constant":
            name += str(sum(known.startswith("constant") for known in self.partition.constants))
        name = self.names.unique(name)
        self.partition.constants[name] = value
        return name

    def _emit(
        self,
        name: str,
        arguments: Sequence[str],
        call: Call,
        attributes: Mapping[str, Any],
        quantization: Mapping[str, Any] | None = None,
    ) -> Value:
        leaves = flatten_types(call.ty)
        results = [self.names.unique("result") for _ in leaves]
        operator = AcceleratorOperator(
            name, list(arguments), list(results), dict(attributes), dict(quantization or {})
        )
        self.partition.operators.append(operator)
        return self._named(call.ty, iter(results))

    def _rename(self, results: list[str], outputs: list[str]) -> None:
        """Rename the results that the function returns to the names of its outputs."""
        computed = {name for operator in self.partition.operators for name in operator.results}
        if len(set(results)) < len(results) or not computed.issuperset(results):
            raise UnsupportedModelError(
                "a function for an accelerator returns an input, a constant, or a tensor twice: "
                f"{', '.join(results)}; leave what only passes a tensor on to the CPU"
            )
        names = dict(zip(results, outputs, strict=True))
        self.partition.operators = [
            AcceleratorOperator(
                operator.name,
                [names.get(argument, argument) for argument in operator.arguments],
                [names.get(result, result) for result in operator.results],
                operator.attributes,
                operator.quantization,
            )
            for operator in self.partition.operators
        ]


def attributes_of(call: Call) -> dict[str, Any]:
    """Return the attributes of a Relax operator that are set, as JSON values."""
    info = getattr(type(call.attrs), "__tvm_ffi_type_info__", None)
    values = {f.name: _plain(getattr(call.attrs, f.name)) for f in (info.fields if info else ())}
    return {name: value for name, value in values.items() if value is not None}


def _macs_of(call: Call) -> int | None:
    """Return the multiply-accumulates of TVM's legalization of a Relax operator; None if it has
    none."""
    legalize = call.op.get_attr("FLegalize")
    if legalize is None:
        return None
    builder = relax.BlockBuilder()
    try:
        with builder.testing_scope([]):
            legalize(builder, call)
    except Exception:
        # Legalizations raise errors of many types, but the accelerator does not need them.
        return None
    counts = [macs_of(f) for f in builder.get().functions.values() if isinstance(f, tirx.PrimFunc)]
    known = [count for count in counts if count is not None]
    return sum(known) if counts and len(known) == len(counts) else None


def _plain(value: Any) -> Any:
    """Return a value of TVM as a JSON value, or as text if JSON has no equivalent."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, tirx.IntImm):
        return int(value)
    if isinstance(value, tirx.FloatImm):
        return float(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(element) for element in value]
    return str(value)


def _leaves(function: relax.Function) -> list[tvm.ir.Type]:
    return flatten_types(function.ret_ty)


def _flatten(value: Value) -> list[str]:
    if isinstance(value, tuple):
        return [name for element in value for name in _flatten(element)]
    assert isinstance(value, str)
    return [value]


def _parameter(name: str, role: str, ty: tvm.ir.Type) -> AcceleratorParameter:
    return AcceleratorParameter(name, role, [int(extent) for extent in ty.shape], str(ty.dtype))
