"""The rows of each tensor that the previous run computed, at a shifted position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tvm import relax
from tvm.ir import GenericConst, GlobalVar, IRModule, Var

from usmp.ops.emit import shape_of
from usmp.ops.form import Interval
from usmp.relax.axis_operators import AxisOperator, axis_operator
from usmp.relax.binding_titles import call_title
from usmp.tir.nodes import nodes_of


@dataclass(frozen=True)
class Slide:
    """The movement of a tensor's rows from one run to the next.

    Row `r` equals row `r + shift` of the previous run, if both are in `alike`.

    Parameters
    ----------
    axis
        axis of rows.
    rows
        number of rows.
    shift
        number of new rows in each run.
    alike
        rows [begin, end) that do not depend on padding.
    """

    axis: int
    rows: int
    shift: int
    alike: Interval

    @property
    def kept_end(self) -> int:
        """The end of the rows that the previous run has computed."""
        return self.alike[1] - self.shift


@dataclass(eq=False)
class Slides:
    """The sliding tensors of a function.

    Parameters
    ----------
    slides
        variable -> how it slides, in order.
    operators
        variable -> the operator that computes its rows; inputs have none.
    read
        variable -> the ranges of its rows that are read.
    wholes
        variable -> values that need the whole tensor, in order.
    constants
        variables that are bound to a constant.
    reasons
        variable -> why its reader needs the whole tensor, where another hop would help.
    """

    slides: dict[Var, Slide] = field(default_factory=dict)
    operators: dict[Var, AxisOperator] = field(default_factory=dict)
    read: dict[Var, list[Interval]] = field(default_factory=dict)
    wholes: dict[Var, list[relax.Expr]] = field(default_factory=dict)
    constants: dict[Var, GenericConst] = field(default_factory=dict)
    reasons: dict[Var, str] = field(default_factory=dict)


def slides_of(mod: IRModule, main: relax.Function, inputs: Mapping[Var, Slide]) -> Slides:
    """Find the sliding tensors of a function.

    Parameters
    ----------
    inputs
        parameters that are windows, with their slides.
    """
    result = Slides(dict(inputs), wholes={var: [] for var in inputs})

    def is_constant(expr: relax.Expr) -> bool:
        return isinstance(expr, GenericConst) or expr in result.constants

    bindings = [binding for block in main.body.blocks for binding in block.bindings]
    for binding in bindings:
        value, read = binding.value, _tensors(binding.value)
        sliding = [var for var in read if var in result.slides]
        if not sliding:
            if isinstance(value, GenericConst):
                result.constants[binding.var] = value
            continue
        axes = {var: result.slides[var].axis for var in sliding}
        operator = axis_operator(mod, value, axes, is_constant)
        slide = None if operator is None else _slide(operator, result, call_title(value))
        if operator is None or slide is None:
            for var in sliding:
                result.wholes[var].append(value)
            continue
        result.slides[binding.var], result.operators[binding.var] = slide, operator
        result.wholes[binding.var] = []
    for var in _tensors(main.body.body):
        if var in result.slides:
            result.wholes[var].append(main.body.body)
    _need_rows(result)
    return result


def _tensors(expr: relax.Expr) -> list[Var]:
    """Return the variables that an expression reads, without functions."""
    return [var for var in nodes_of(expr, Var) if not isinstance(var, GlobalVar)]


def _slide(operator: AxisOperator, known: Slides, name: str) -> Slide | None:
    """Return how a result slides, or None if no row can be reused."""
    if operator.access.extent == 1:
        return None
    shifts: set[int] = set()
    begin, end = operator.access.alike
    for index, var in operator.operands.items():
        slide, read = known.slides[var], operator.access.reads[index]
        if slide.shift % read.stride:
            known.reasons.setdefault(
                var,
                f"{name} takes its rows in steps of {read.stride}, of which the {slide.shift} that "
                "are new in each run are no multiple",
            )
            return None
        shifts.add(slide.shift // read.stride)
        first, last = slide.alike[0] - read.first, slide.alike[1] - read.first - read.count
        begin, end = max(begin, -(-first // read.stride)), min(end, last // read.stride + 1)
    if len(shifts) != 1:
        return None
    (shift,) = shifts
    access = operator.access
    if end - shift > begin:
        return Slide(access.axis, access.extent, shift, (begin, end))
    if end > begin:
        for var in operator.operands.values():
            known.reasons.setdefault(
                var,
                f"in each run {shift} rows of {name} are new, of {end - begin} that padding has no "
                "part in",
            )
    return None


def _need_rows(found: Slides) -> None:
    """Fill `found.read`, from the last operator to the first."""
    found.read = {
        var: [(0, slide.rows)] if found.wholes[var] else [] for var, slide in found.slides.items()
    }
    for var in reversed(found.operators):
        for rows in computed_rows(found, var):
            for index, operand in found.operators[var].operands.items():
                read = found.operators[var].access.reads[index]
                found.read[operand].append(read.needed(rows, found.slides[operand].rows))


def computed_rows(found: Slides, var: Var) -> list[Interval]:
    """Return the rows that each run computes: those at the start that depend on padding, if they
    are read, and those at the end."""
    slide = found.slides[var]
    # Rows that depend on padding are not kept, so they are computed only if they are read.
    last = max([slide.alike[1], *(stop for _, stop in found.read[var])])
    begin, end = slide.alike[0], (slide.kept_end, last)
    reads_start = any(first < begin for first, _ in found.read[var])
    return [(0, begin), end] if reads_start else [end]


def kept_rows(found: Slides, var: Var) -> Interval:
    """Return the rows that are kept from the previous run; empty if none are read."""
    begin, end = found.slides[var].alike[0], found.slides[var].kept_end
    firsts = [max(first, begin) for first, last in found.read[var] if first < end and last > begin]
    return min(firsts, default=end), end


def input_slide(param: Var, rows: int) -> Slide | None:
    """Return how a parameter with `rows` new rows in each run slides, or None if it has one row."""
    shape = shape_of(param)
    axis = next((axis for axis, extent in enumerate(shape) if extent > 1), None)
    if axis is None:
        return None
    return Slide(axis, shape[axis], rows, (0, shape[axis]))
