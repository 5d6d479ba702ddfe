"""Relax calls whose results can be computed in parts along an axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from tvm import relax, tirx
from tvm.ir import Call, GenericConst, GlobalVar, IRModule, Var

from usmp.objects.attributes.operator_attributes import SHARED_CODE_ATTR
from usmp.ops.emit import add_prim_func, constant, shape_of, without_record
from usmp.ops.form import AxisAccess, Interval, along, form_of, part_of
from usmp.ops.real.gather import GATHER_OPERATORS
from usmp.ops.records import QuantizedOp, operator_of
from usmp.ops.records.windowed import WindowedOp
from usmp.ops.views import RESHAPES, AxisRange, ViewKind, names_of, parts_of, whole_or_slice
from usmp.relax.static_shapes import has_static_shape
from usmp.tir.op_names import calls_outside, op_name

_SLICES = names_of(ViewKind.SLICE)
_SAME_ATTRIBUTES = (
    *("relax.abs", "relax.add", "relax.astype", "relax.clip", "relax.concat", "relax.dequantize"),
    *("relax.divide", "relax.exp", "relax.maximum", "relax.minimum", "relax.multiply"),
    *("relax.negative", "relax.nn.relu", "relax.permute_dims", "relax.quantize", "relax.sigmoid"),
    *("relax.subtract", "relax.tanh"),
)
"""Operators of Relax whose attributes stay valid if only some indices of an axis are computed."""


@dataclass(frozen=True, eq=False)
class AxisOperator:
    """A call whose result can be computed in parts along an axis.

    Parameters
    ----------
    call
        the call that computes the whole result.
    access
        how the PrimFunc of the call, or the one that a Relax operator is legalized to, reads
        operands along the axis.
    operands
        parameter index -> the tensor, for tensors that are read in parts.
    arguments
        all arguments of the PrimFunc, in order.
    callee
        the called PrimFunc; None for an operator of Relax.
    """

    call: Call
    access: AxisAccess
    operands: Mapping[int, Var]
    arguments: Sequence[relax.Expr]
    callee: GlobalVar | None = None

    def emit(
        self,
        builder: relax.BlockBuilder,
        indices: Interval,
        given: Mapping[int, Interval],
        tensors: Mapping[int, relax.Expr],
    ) -> relax.Expr:
        """Emit a call that computes the result at some indices of the axis.

        Parameters
        ----------
        given, tensors
            parameter index -> the index range of the operand that is available; parameter index
            -> the tensor with this range.
        """
        shape = list(shape_of(self.call))
        shape[self.access.axis] = indices[1] - indices[0]
        if self.callee is None:
            return self._relax_operator(indices, given, tensors, shape)
        for index, read in self.access.reads.items():
            if index not in self.operands:
                values = self.arguments[index].value.numpy()
                own = read.needed(indices, values.shape[read.axis])
                sliced = np.ascontiguousarray(values.take(range(*own), read.axis))
                given, tensors = {**given, index: own}, {**tensors, index: constant(sliced)}
        func = self.access.form.func
        record, part = operator_of(func), without_record(part_of(self.access, indices, given))
        name = SHARED_CODE_ATTR.of(func) or str(self.callee.name_hint)
        if record is not None:
            record, name = self._record(record, indices, given), record.kind
        variable = add_prim_func(builder, part, name, record)
        arguments = [tensors.get(index, a) for index, a in enumerate(self.arguments)]
        return relax.call_tir(variable, arguments, relax.TensorType(shape, str(self.call.ty.dtype)))

    def _record(
        self, record: QuantizedOp, indices: Interval, given: Mapping[int, Interval]
    ) -> QuantizedOp:
        """Return the record of a call for some indices, with the padding before the first index."""
        if not isinstance(record, WindowedOp):
            return record
        (top, left), read = record.padding, self.access.reads[0]
        more = given[0][0] - read.stride * indices[0]
        is_row = record.layout.data.axes[read.axis] == "H"
        return replace(record, padding=(top + more, left) if is_row else (top, left + more))

    def _relax_operator(
        self,
        indices: Interval,
        given: Mapping[int, Interval],
        tensors: Mapping[int, relax.Expr],
        shape: Sequence[int],
    ) -> relax.Expr:
        call, name = self.call, self.call.op.name
        if name in RESHAPES:
            return relax.op.reshape(tensors[0], shape)
        if name in _SLICES:
            return self._slice(indices, given[0][0], tensors[0])
        by_operand = {var: tensors[index] for index, var in self.operands.items()}
        return _with_operands(call, by_operand)

    def _slice(self, indices: Interval, begin: int, tensor: relax.Expr) -> relax.Expr:
        """Return the slice at some indices, read from `tensor`, which starts at index `begin` of
        the operand."""
        parts, read = parts_of(self.call), self.access.reads[0]
        assert parts is not None
        first = read.stride * indices[0] + read.first - begin
        of_axis = AxisRange(first, indices[1] - indices[0], read.stride)
        return whole_or_slice(tensor, {**parts[0], read.axis: of_axis})


def axis_operator(
    mod: IRModule,
    value: relax.Expr,
    axes: Mapping[Var, int],
    is_constant: Callable[[relax.Expr], bool],
    slices_constants: bool = False,
) -> AxisOperator | None:
    """Return a call as an `AxisOperator`; None if it cannot be computed in parts along an axis.

    Parameters
    ----------
    axes
        tensors that are read in parts -> the axis. All other operands must be constant.
    is_constant
        returns whether a tensor has the same elements in every run.
    slices_constants
        whether each part may read a slice of the constants.
    """
    if not isinstance(value, Call) or not isinstance(value.ty, relax.TensorType):
        return None
    if not has_static_shape(value.ty):
        return None
    if op_name(value) == "relax.call_tir":
        return _of_prim_func(mod, value, axes, is_constant, slices_constants)
    return _of_relax(value, axes, is_constant)


def _of_prim_func(
    mod: IRModule,
    call: Call,
    axes: Mapping[Var, int],
    is_constant: Callable[[relax.Expr], bool],
    slices_constants: bool,
) -> AxisOperator | None:
    func, arguments = mod.functions.get(call.args[0]), call.args[1].fields
    if not isinstance(func, tirx.PrimFunc) or len(call.args) != 2:
        return None
    record = operator_of(func)
    if record is None and calls_outside(func):
        return None  # External functions hide what they access.
    accessed = _accessed(func, arguments, axes, is_constant, slices_constants)
    if accessed is None:
        return None
    access, operands = accessed
    if record is not None and not _describes_parts(record, access):
        return None
    return AxisOperator(call, access, operands, arguments, call.args[0])


def _describes_parts(record: QuantizedOp, access: AxisAccess) -> bool:
    """Return whether a record stays valid if only some indices of the axis are computed.

    The record of a window operator stays valid along rows and columns. Any other record stays valid
    if it has no extents or positions, and each index is computed from equal indices of operands.
    """
    if isinstance(record, WindowedOp):
        return set(access.reads) == {0} and record.layout.data.axes[access.reads[0].axis] in "HW"
    return not record.describes_extents and access.is_uniform and access.is_parallel


def _accessed(
    func: tirx.PrimFunc,
    arguments: Sequence[relax.Expr],
    axes: Mapping[Var, int],
    is_constant: Callable[[relax.Expr], bool],
    slices_constants: bool = False,
) -> tuple[AxisAccess, dict[int, Var]] | None:
    operands = {i: a for i, a in enumerate(arguments) if isinstance(a, Var) and a in axes}
    others = [a for i, a in enumerate(arguments) if i not in operands]
    if len(func.params) != len(arguments) + 1 or not all(map(is_constant, others)):
        return None
    form = form_of(func)
    own = {index: axes[var] for index, var in operands.items()}
    constants = [i for i, a in enumerate(arguments) if isinstance(a, GenericConst)]
    access = None if form is None else along(form, own, constants if slices_constants else ())
    return None if access is None else (access, operands)


def _of_relax(
    call: Call, axes: Mapping[Var, int], is_constant: Callable[[relax.Expr], bool]
) -> AxisOperator | None:
    if op_name(call) not in (*_SLICES, *RESHAPES, *_SAME_ATTRIBUTES):
        return None
    legalized = _legalized(call)
    if legalized is None:
        return None
    func, arguments = legalized
    accessed = _accessed(func, arguments, axes, is_constant)
    if accessed is None:
        return None
    access, operands = accessed
    is_unchanged = all(read.is_same for read in access.reads.values())
    if not access.is_uniform or (not is_unchanged and call.op.name not in _SLICES):
        return None
    return AxisOperator(call, access, operands, arguments)


def _legalized(call: Call) -> tuple[tirx.PrimFunc, list[relax.Expr]] | None:
    """Return the PrimFunc that a Relax operator is legalized to, and its arguments. Return None if
    legalization does not give exactly one call."""
    variables = list(dict.fromkeys(_variables(call.args)))
    params = [relax.Var(f"x{index}", var.ty) for index, var in enumerate(variables)]
    inner = dict(zip(variables, params, strict=True))
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(_with_operands(call, inner)))
    mod = relax.transform.LegalizeOps(dict(GATHER_OPERATORS))(builder.get())
    values = [b.value for block in mod["main"].body.blocks for b in block.bindings]
    if len(values) != 1 or op_name(values[0]) != "relax.call_tir":
        return None
    outer = dict(zip(params, variables, strict=True))
    named = {str(param.name): var for param, var in outer.items()}
    arguments = [named[str(a.name)] if isinstance(a, Var) else a for a in values[0].args[1].fields]
    return mod[values[0].args[0]], arguments


def _with_operands(call: Call, operands: Mapping[Var, relax.Expr]) -> Call:
    """Return the call with some variables replaced."""

    def replaced(argument: relax.Expr) -> relax.Expr:
        if isinstance(argument, relax.Tuple):
            return relax.Tuple([replaced(field) for field in argument.fields])
        return operands.get(argument, argument) if isinstance(argument, Var) else argument

    return Call(call.op, [replaced(a) for a in call.args], call.attrs, call.ty_args)


def _variables(arguments: Sequence[relax.Expr]) -> list[Var]:
    variables: list[Var] = []
    for argument in arguments:
        if isinstance(argument, relax.Tuple):
            variables += _variables(argument.fields)
        elif isinstance(argument, Var):
            variables.append(argument)
    return variables
