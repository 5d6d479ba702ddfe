"""Calls in Relax that compute rows, and the same for some rows only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule, Var

from usmp.analysis.memory.addresses import is_op
from usmp.objects.attributes import SHARED_CODE_ATTR
from usmp.ops.emit import add_prim_func, shape_of, without_record
from usmp.ops.gather import GATHER_OPERATORS
from usmp.ops.quantized.window import layouts_named
from usmp.ops.record import QuantizedOp, operator_of
from usmp.relax.static_shapes import has_static_shape
from usmp.relax.windows.row_functions import RowFunction, row_function
from usmp.relax.windows.row_parts import Rows, part_of
from usmp.tir.nodes import nodes_of

_WINDOWED = ("average_pool", "conv2d", "depthwise_conv2d", "max_pool")
"""Kinds of records that say how a kernel moves over an image."""
_BY_ROW = (
    *("abs", "add", "add_n", "clamp", "dequantize", "divide", "elu", "equal", "exp"),
    *("fully_connected", "gelu", "greater", "greater_equal", "hard_swish", "l2_normalize"),
    *("leaky_relu", "less", "less_equal", "log", "log_softmax", "logistic", "maximum", "mean"),
    *("minimum", "multiply", "not_equal", "prelu", "quantize", "reduce_max", "reduce_min"),
    *("relu", "requantize", "rescale_to_join", "rsqrt", "softmax", "sqrt", "squared_difference"),
    *("subtract", "sum", "table", "tanh"),
)
"""Kinds of records that say the same of any number of rows."""
_VIEWS = (
    *("relax.reshape", "relax.flatten", "relax.nn.batch_flatten", "relax.squeeze"),
    "relax.expand_dims",
)
_SLICE = "relax.strided_slice"
_SAME = (
    *("relax.abs", "relax.add", "relax.astype", "relax.clip", "relax.concat", "relax.dequantize"),
    *("relax.divide", "relax.exp", "relax.maximum", "relax.minimum", "relax.multiply"),
    *("relax.negative", "relax.nn.relu", "relax.permute_dims", "relax.quantize", "relax.sigmoid"),
    *("relax.subtract", "relax.tanh"),
)
"""Operators of Relax whose attributes say the same of any number of rows."""
_EXTERNAL = ("tirx.call_extern", "tirx.call_pure_extern", "tirx.call_packed")


@dataclass(frozen=True, eq=False)
class RowOperator:
    """A call of which each row of the result is computed from a few rows of the operands.

    Parameters
    ----------
    call
        it.
    found
        the PrimFunc that it calls, or that it would become.
    operands
        by index of the parameter: those that have rows.
    arguments
        all that the PrimFunc takes, in order.
    callee
        what it calls; None of an operator of Relax.
    """

    call: Call
    found: RowFunction
    operands: Mapping[int, Var]
    arguments: Sequence[relax.Expr]
    callee: GlobalVar | None = None

    def emit(
        self,
        builder: relax.BlockBuilder,
        rows: Rows,
        given: Mapping[int, Rows],
        tensors: Mapping[int, relax.Expr],
    ) -> relax.Expr:
        """The call that computes rows [begin, end) of the result.

        Parameters
        ----------
        given, tensors
            by index of the parameter: which rows of an operand there are, and the tensor that has
            them.
        """
        shape = list(shape_of(self.call))
        shape[self.found.axis] = rows[1] - rows[0]
        if self.callee is None:
            return self._relax_operator(rows, given, tensors, shape)
        func = without_record(self.found.func)
        part = part_of(replace(self.found, func=func), rows, given)
        record = operator_of(self.found.func)
        if record is not None:
            record = self._record(record, rows, given)
        name = str(self.found.func.attrs.get(SHARED_CODE_ATTR, self.callee.name_hint))
        variable = add_prim_func(builder, part, name, record)
        arguments = [tensors.get(index, a) for index, a in enumerate(self.arguments)]
        return relax.call_tir(variable, arguments, relax.TensorType(shape, str(self.call.ty.dtype)))

    def _record(self, record: QuantizedOp, rows: Rows, given: Mapping[int, Rows]) -> QuantizedOp:
        """What the record says of these rows: padding is where it was, or cut off."""
        if record.kind not in _WINDOWED:
            return record
        layout, _ = layouts_named(str(record.parameters["layout"]))
        side = "HW".index(layout.axes[self.found.reads[0].axis])
        padding = [int(width) for width in record.parameters["padding"]]  # type: ignore[attr-defined]
        padding[side] += given[0][0] - self.found.reads[0].stride * rows[0]
        return replace(record, parameters={**record.parameters, "padding": padding})

    def _relax_operator(
        self,
        rows: Rows,
        given: Mapping[int, Rows],
        tensors: Mapping[int, relax.Expr],
        shape: Sequence[int],
    ) -> relax.Expr:
        call, name = self.call, self.call.op.name
        if name in _VIEWS:
            return relax.op.reshape(tensors[0], shape)
        if name == _SLICE:
            return self._slice(rows, given[0][0], tensors[0], shape)
        by_operand = {var: tensors[index] for index, var in self.operands.items()}
        return _with_operands(call, by_operand)

    def _slice(
        self, rows: Rows, begin: int, tensor: relax.Expr, shape: Sequence[int]
    ) -> relax.Expr:
        """The slice of rows that are at other places now."""
        call, read = self.call, self.found.reads[0]
        values = [[int(value) for value in argument] for argument in call.args[1:]]
        axes, begins, ends = values[:3]
        strides = values[3] if len(values) > 3 else [1] * len(axes)
        rank = len(shape_of(call))
        for place, axis in enumerate(axes):
            if axis % rank == read.axis:
                begins[place] = read.stride * rows[0] + read.first - begin
                ends[place] = begins[place] + read.stride * (rows[1] - rows[0] - 1) + 1
                strides[place] = read.stride
        if shape_of(tensor) == tuple(shape) and all(stride == 1 for stride in strides):
            return tensor
        return relax.op.strided_slice(tensor, axes, begins, ends, strides)


def row_operator(
    mod: IRModule,
    value: relax.Expr,
    axes: Mapping[Var, int],
    is_constant: Callable[[relax.Expr], bool],
) -> RowOperator | None:
    """A call that computes rows from tensors with rows and constants; None if it is none.

    Parameters
    ----------
    axes
        tensors that have rows, with the axes that these are on.
    is_constant
        whether a tensor is the same in each run.
    """
    if not isinstance(value, Call) or not isinstance(value.ty, relax.TensorType):
        return None
    if not has_static_shape(value.ty):
        return None
    if getattr(value.op, "name", None) == "relax.call_tir":
        return _of_prim_func(mod, value, axes, is_constant)
    return _of_relax(value, axes, is_constant)


def _of_prim_func(
    mod: IRModule,
    call: Call,
    axes: Mapping[Var, int],
    is_constant: Callable[[relax.Expr], bool],
) -> RowOperator | None:
    func, arguments = mod.functions.get(call.args[0]), call.args[1].fields
    if not isinstance(func, tirx.PrimFunc) or len(call.args) != 2:
        return None
    record = operator_of(func)
    if record is None and _calls_c(func):
        return None  # What a function of the user computes is not known.
    if record is not None and record.kind not in (*_WINDOWED, *_BY_ROW):
        return None
    found = _found(func, arguments, axes, is_constant)
    if found is None:
        return None
    row, operands = found
    if record is not None and record.kind in _WINDOWED and not _moves_over(record, row):
        return None
    return RowOperator(call, row, operands, arguments, call.args[0])


def _calls_c(func: tirx.PrimFunc) -> bool:
    calls = nodes_of(func.body, Call)
    return any(is_op(call, name) for call in calls for name in _EXTERNAL)


def _moves_over(record: QuantizedOp, found: RowFunction) -> bool:
    """Whether the rows are lines, or columns, of the image that a kernel moves over."""
    layout, _ = layouts_named(str(record.parameters["layout"]))
    return set(found.reads) == {0} and layout.axes[found.reads[0].axis] in "HW"


def _found(
    func: tirx.PrimFunc,
    arguments: Sequence[relax.Expr],
    axes: Mapping[Var, int],
    is_constant: Callable[[relax.Expr], bool],
) -> tuple[RowFunction, dict[int, Var]] | None:
    operands = {i: a for i, a in enumerate(arguments) if isinstance(a, Var) and a in axes}
    others = [a for i, a in enumerate(arguments) if i not in operands]
    if len(func.params) != len(arguments) + 1 or not all(map(is_constant, others)):
        return None
    found = row_function(func, {index: axes[var] for index, var in operands.items()})
    return None if found is None else (found, operands)


def _of_relax(
    call: Call, axes: Mapping[Var, int], is_constant: Callable[[relax.Expr], bool]
) -> RowOperator | None:
    if getattr(call.op, "name", None) not in (*_VIEWS, *_SAME, _SLICE):
        return None
    legalized = _legalized(call)
    if legalized is None:
        return None
    func, arguments = legalized
    found = _found(func, arguments, axes, is_constant)
    if found is None:
        return None
    row, operands = found
    is_moved = [(a.stride, a.first, a.count) != (1, 0, 1) for a in row.reads.values()]
    if row.alike != (0, row.rows) or (any(is_moved) and call.op.name != _SLICE):
        return None
    return RowOperator(call, row, operands, arguments)


def _legalized(call: Call) -> tuple[tirx.PrimFunc, list[relax.Expr]] | None:
    """The PrimFunc that an operator of Relax becomes, and what it takes; None if it becomes
    something else."""
    variables = list(dict.fromkeys(_variables(call.args)))
    params = [relax.Var(f"x{index}", var.ty) for index, var in enumerate(variables)]
    inner = dict(zip(variables, params, strict=True))
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(_with_operands(call, inner)))
    mod = relax.transform.LegalizeOps(dict(GATHER_OPERATORS))(builder.get())
    values = [b.value for block in mod["main"].body.blocks for b in block.bindings]
    if len(values) != 1 or getattr(values[0].op, "name", None) != "relax.call_tir":
        return None
    outer = dict(zip(params, variables, strict=True))
    named = {str(param.name): var for param, var in outer.items()}
    arguments = [named[str(a.name)] if isinstance(a, Var) else a for a in values[0].args[1].fields]
    return mod[values[0].args[0]], arguments


def _with_operands(call: Call, operands: Mapping[Var, relax.Expr]) -> Call:
    """The call with others in the places of some variables."""

    def taken(argument: relax.Expr) -> relax.Expr:
        if isinstance(argument, relax.Tuple):
            return relax.Tuple([taken(field) for field in argument.fields])
        return operands.get(argument, argument) if isinstance(argument, Var) else argument

    return Call(call.op, [taken(a) for a in call.args], call.attrs, call.ty_args)


def _variables(arguments: Sequence[relax.Expr]) -> list[Var]:
    found: list[Var] = []
    for argument in arguments:
        if isinstance(argument, relax.Tuple):
            found += _variables(argument.fields)
        elif isinstance(argument, Var):
            found.append(argument)
    return found
