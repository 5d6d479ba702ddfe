"""The columns that each operator of a chain computes in each strip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import tvm
from tvm import relax
from tvm.ir import IRModule

from usmp.ops.emit import shape_of
from usmp.ops.form import Interval
from usmp.ops.views import RESHAPES
from usmp.planning.options import PlanningOptions
from usmp.relax.static_shapes import main_function, size_bytes
from usmp.relax.transform.strips.strip_operator import (
    COLUMNS,
    StripOperator,
    strip_operator,
)
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name


@dataclass(frozen=True, eq=False)
class Tensor:
    """Size and lifetime of a tensor in a main function.

    Parameters
    ----------
    size_bytes
        size of the tensor, in bytes.
    made
        index of the operator that computes it; -1 for inputs.
    last
        index of the last operator that reads it; the number of operators for outputs.
    is_application
        whether the application allocates it, outside of the workspace.
    """

    size_bytes: int
    made: int
    last: int
    is_application: bool


@dataclass(frozen=True, eq=False)
class StripMain:
    """The operators of a Relax `main` in their order.

    Parameters
    ----------
    mod
        the module.
    variables
        results of the operators.
    names
        names of their PrimFuncs, or of their results for other operators.
    operators
        operators that support strips; None for others.
    tensors
        variable -> its tensor, for all variables except views.
    views
        view -> the variable of its tensor.
    by_rows
        inputs and outputs that are streamed row by row.
    """

    mod: IRModule
    variables: Sequence[tvm.ir.Var]
    names: Sequence[str]
    operators: Sequence[StripOperator | None]
    tensors: Mapping[tvm.ir.Var, Tensor]
    views: Mapping[tvm.ir.Var, tvm.ir.Var]
    by_rows: frozenset[tvm.ir.Var]
    _shapes: dict[tvm.ir.Var, tuple[int, ...]] = field(default_factory=dict)

    def shape(self, var: tvm.ir.Var) -> tuple[int, ...]:
        """Return the shape of a tensor or view."""
        if var not in self._shapes:
            self._shapes[var] = tuple(shape_of(var))
        return self._shapes[var]

    def is_made_from(self, start: int, var: tvm.ir.Var) -> bool:
        """Return whether operator `start` or a later one computes the tensor of a variable."""
        return self.tensors[self.views.get(var, var)].made >= start

    def comes_by_rows(self, var: tvm.ir.Var) -> bool:
        """Return whether a tensor is streamed row by row."""
        return self.views.get(var, var) in self.by_rows

    @cached_property
    def macs(self) -> int:
        """Multiply-accumulates of all operators that support strips."""
        return sum(operator.macs for operator in self.operators if operator is not None)


def strip_main(mod: IRModule, options: PlanningOptions) -> StripMain:
    """Collect the operators and tensors of `main`.

    Parameters
    ----------
    options
        options that say whether inputs and outputs are in the workspace or streamed.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """
    main = main_function(mod)
    bindings = [binding for block in main.body.blocks for binding in block.bindings]
    views: dict[tvm.ir.Var, tvm.ir.Var] = {}
    maker: dict[tvm.ir.Var, int] = dict.fromkeys(main.params, -1)
    last: dict[tvm.ir.Var, int] = dict.fromkeys(main.params, -1)
    for index, binding in enumerate(bindings):
        value = getattr(binding, "value", binding)
        read = [views.get(var, var) for var in nodes_of(value, tvm.ir.Var)]
        last.update(dict.fromkeys(read, index))
        if op_name(value) in RESHAPES and len(read) == 1:
            views[binding.var] = read[0]
            continue
        maker[binding.var], last[binding.var] = index, index
    outputs = {views.get(var, var) for var in nodes_of(main.body.body, tvm.ir.Var)}
    last.update(dict.fromkeys(outputs, len(bindings)))
    application = set() if options.use_workspace_io else {*main.params, *outputs}
    # Streamed tensors cannot be read or written strip by strip.
    by_rows = {*(main.params if options.stream_inputs else ())}
    by_rows |= outputs if options.stream_outputs else set()
    tensors = {
        var: Tensor(size_bytes(var.ty), maker[var], last[var], var in application) for var in maker
    }
    # Take one Python object for each variable: comparing several objects of one builds expressions.
    known = {var: var for var in (*maker, *views)}
    operators = [
        None if binding.var in views else strip_operator(mod, getattr(binding, "value", None))
        for binding in bindings
    ]
    return StripMain(
        mod,
        [known[binding.var] for binding in bindings],
        [_name(binding) for binding in bindings],
        [operator and operator.with_variables(known) for operator in operators],
        tensors,
        {view: known[var] for view, var in views.items()},
        frozenset(known[var] for var in by_rows),
    )


def _name(binding: relax.Binding) -> str:
    """Return the name of the called PrimFunc, or else of the result."""
    value = getattr(binding, "value", None)
    if value is not None and op_name(value) == "relax.call_tir":
        return str(value.args[0].name_hint)
    return str(binding.var.name)


@dataclass(frozen=True, eq=False)
class StripChain:
    """Consecutive operators, computed in strips.

    Parameters
    ----------
    start, stop
        indices of the first operator, and after the last one.
    strips
        for each strip: result of an operator -> its columns.
    macs
        multiply-accumulates of all strips.
    extra_macs
        multiply-accumulates for recomputed columns.
    """

    start: int
    stop: int
    strips: Sequence[Mapping[tvm.ir.Var, Interval]]
    macs: int
    extra_macs: int


def strip_chain(main: StripMain, start: int, stop: int, count: int) -> StripChain | None:
    """Split the operators from `start` to before `stop` into `count` strips. Return None if one of
    them does not support so many, if other operators read a result before the last one, or if a
    tensor is streamed row by row."""
    operators = main.operators[start:stop]
    if any(operator is None for operator in operators):
        return None
    inside, output = main.variables[start : stop - 1], main.variables[stop - 1]
    if any(main.tensors[var].last >= stop for var in inside) or main.comes_by_rows(output):
        return None
    if any(main.comes_by_rows(var) for o in operators if o is not None for var, _ in o.columns):
        return None
    width = main.shape(output)[COLUMNS]
    if count > width:
        return None
    strips = []
    for index in range(count):
        columns = (width * index // count, width * (index + 1) // count)
        ranges = _needed_columns(main, start, stop, columns)
        if ranges is None:
            return None
        strips.append(ranges)
    macs = sum(_macs(main, index, strips) for index in range(start, stop))
    whole = sum(operator.macs for operator in operators if operator is not None)
    return StripChain(start, stop, strips, macs, macs - whole)


def _needed_columns(
    main: StripMain, start: int, stop: int, columns: Interval
) -> Mapping[tvm.ir.Var, Interval] | None:
    """Return the columns of each result in the chain that some columns of the last one need; None
    if a range is empty."""
    ranges = {main.variables[stop - 1]: columns}
    for index in range(stop - 1, start - 1, -1):
        operator, var = main.operators[index], main.variables[index]
        if operator is None or var not in ranges:
            return None
        for operand, read in operator.columns:
            begin, end = read.needed(ranges[var], main.shape(operand)[COLUMNS])
            if end <= begin:
                return None
            if main.is_made_from(start, operand):
                known = ranges.get(operand, (begin, end))
                ranges[operand] = min(known[0], begin), max(known[1], end)
    return ranges


def _macs(main: StripMain, index: int, strips: Sequence[Mapping[tvm.ir.Var, Interval]]) -> int:
    """Return the multiply-accumulates of an operator in all strips."""
    operator, var = main.operators[index], main.variables[index]
    assert operator is not None
    columns = sum(end - begin for begin, end in (ranges[var] for ranges in strips))
    return operator.macs * columns // main.shape(var)[COLUMNS]
