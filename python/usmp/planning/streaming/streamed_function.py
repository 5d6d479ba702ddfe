"""One PrimFunc that runs the operators of a segment interleaved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tvm_ffi
from tvm import tirx
from tvm.ir import Range
from tvm.sym import Analyzer

from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.memories import Memory
from usmp.objects.attributes.annotations import ALIGNMENT_ATTR
from usmp.objects.attributes.attribute import Attribute
from usmp.objects.attributes.operator_attributes import (
    OPERATOR_SHAPES_ATTR,
    OPERATOR_STEPS_ATTR,
    OPERATORS_ATTR,
    SEGMENT_ATTR,
)
from usmp.objects.schedule import SCHEDULE_ATTR, Schedule
from usmp.planning.streaming.operator_loop import OperatorLoop
from usmp.planning.streaming.ring_elements import Elements, Fronts, Kept, NotStreamed
from usmp.planning.streaming.segment import MainOperator, Segment, interleaving_instructions
from usmp.planning.streaming.timing import Ring, Timing
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.dtypes import item_bytes
from usmp.tir.nodes import int32, sequence
from usmp.tir.tensor_intrin import tensor_intrin

_OF_FIRST = ("target", "s_tir")
"""Attributes that are copied from the first operator, because they are equal in all."""

_WORD = 4
"""Bytes that are moved at once where sizes allow it."""


@dataclass(frozen=True, eq=False)
class StreamedFunction:
    """The PrimFunc of a segment.

    Parameters
    ----------
    func
        the PrimFunc.
    arguments
        arguments of its call in `__tvm_main__`.
    """

    func: tirx.PrimFunc
    arguments: Sequence[tirx.Expr]


def streamed_function(segment: Segment) -> StreamedFunction | None:
    """Return the PrimFunc of a segment; None if an operator uses a ring in an unknown way."""
    builder = _Builder(segment)
    try:
        return builder.build()
    except NotStreamed:
        return None


@dataclass
class _Builder:
    segment: Segment
    params: list[tirx.Var] = field(default_factory=list)
    arguments: list[tirx.Expr] = field(default_factory=list)
    names: UniqueNames = field(default_factory=UniqueNames)
    declarations: list[tirx.Stmt] = field(default_factory=list)
    kept: dict[Memory, Kept] = field(default_factory=dict)
    passed: dict[object, tirx.Var] = field(default_factory=dict)
    renamed: dict[tirx.Var, str] = field(default_factory=dict)
    tick: tirx.Var = field(default_factory=lambda: tirx.Var("tick", "int32"))
    column: tirx.Var = field(default_factory=lambda: tirx.Var("column", "int32"))

    def build(self) -> StreamedFunction:
        interleaving = self.segment.interleaving
        for memory in self.segment.inside:
            self._keep(memory)
        stages = [
            self._stage(operator, timing)
            for operator, timing in zip(self.segment.operators, interleaving.timings, strict=True)
        ]
        body = sequence(stages)
        if interleaving.columns > 1:
            columns = tirx.For(self.column, 0, interleaving.columns, tirx.ForKind.SERIAL, body)
            body = sequence([*self._runs(), columns])
        loop = tirx.For(self.tick, 0, interleaving.ticks, tirx.ForKind.SERIAL, body)
        func = tirx.PrimFunc(self.params, sequence([*self.declarations, loop]))
        attributes = _attributes(self.segment, self.renamed)
        return StreamedFunction(func.with_attrs(attributes), self.arguments)

    def _keep(self, memory: Memory) -> None:
        """Allocate the ring of a tensor that only the segment uses, or else the whole tensor."""
        dtype, name, size = str(memory.dtype), memory.name, size_bytes(memory)
        interleaving = self.segment.interleaving
        ring = self.segment.rings.get(memory)
        if ring is not None:
            size, name = ring.size_bytes, f"{name}_ring"
        shape = (size // item_bytes(dtype),)
        buffer = tirx.decl_buffer(shape, dtype, self.names.unique(name), scope=memory.scope())
        annotations = dict(self.segment.inside[memory])
        if ring is None:
            self.declarations.append(tirx.AllocBuffer(buffer, annotations))
            self.kept[memory] = Kept(buffer)
            return
        # Align rings whose parts move, because words are moved faster than bytes.
        annotations |= ALIGNMENT_ATTR.entry(_WORD) if ring.places > ring.moved else {}
        self.declarations.append(tirx.AllocBuffer(buffer, annotations))
        maker = interleaving.timings[self.segment.makers[memory]]
        by_column = [
            tirx.Var(f"{memory.name}_{suffix}", "int32") if interleaving.columns > 1 else None
            for suffix in ("made", "late")
        ]
        self.kept[memory] = Kept(buffer, ring, maker, *by_column)

    def _runs(self) -> Iterator[tirx.Stmt]:
        """Yield the bindings of `Kept.made` and `Kept.late` in a tick, before its columns."""
        for place in self.kept.values():
            timing = place.maker
            if timing is None or place.made is None or place.late is None:
                continue
            run = self._latest_run(timing)
            yield tirx.Bind(place.made, self._simplified(run * timing.columns.parts))
            since = self.tick - timing.start - run * timing.period
            late = since * self.segment.interleaving.columns - timing.columns.start
            yield tirx.Bind(place.late, self._simplified(late))

    def _simplified(self, expr: tirx.Expr) -> tirx.Expr:
        """Return an expression simplified for the ranges of ticks and columns."""
        analyzer, interleaving = Analyzer(), self.segment.interleaving
        analyzer.bind(self.tick, Range(0, interleaving.ticks))
        analyzer.bind(self.column, Range(0, interleaving.columns))
        return analyzer.simplify(expr)

    def _latest_run(self, timing: Timing) -> tirx.Expr:
        """Return the number of an operator's run in this tick, or of the last run before."""
        since = self.tick - timing.start
        if timing.start > 0:
            since = tirx.max(since, int32(0))
        run = _quotient(since, timing.period)
        if timing.start + timing.period * timing.runs < self.segment.interleaving.ticks:
            run = tirx.min(run, int32(timing.runs - 1))
        return run

    def _front(self, place: Kept, part: tirx.Expr | None) -> tirx.Expr:
        """Return the tensor index of a ring's first element after the current part is computed.

        Parameters
        ----------
        part
            the current part, if it is known.
        """
        ring = place.ring
        assert ring is not None
        latest = self._latest_part(place) if part is None else part
        lacking = latest + (ring.moved - ring.places)
        if ring.places > ring.moved or place.made is not None:
            lacking = tirx.max(lacking, int32(0))
        return self._simplified(_quotient(lacking, ring.moved) * (ring.moved * place.part))

    def _latest_part(self, place: Kept) -> tirx.Expr:
        """Return the number of the part that is computed in this tick or column, or of the last
        part before."""
        timing = place.maker
        assert timing is not None
        if place.made is None or place.late is None:
            return self._latest_run(timing)
        columns = timing.columns
        # The number of the part within this run; -1 before its first part.
        since = tirx.max(self.column + place.late + columns.period, int32(0))
        part = tirx.min(_quotient(since, columns.period) - 1, int32(columns.parts - 1))
        return place.made + part

    def _stage(self, operator: MainOperator, timing: Timing) -> tirx.Stmt:
        """Return the statement of an operator in a tick, or in a column of it."""
        loop, columns, width = operator.loop, timing.columns, self.segment.interleaving.columns
        assert loop is not None
        run, part = tirx.Var("run", "int32"), tirx.Var("part", "int32")
        places = {
            index: self.kept[memory]
            for index, memory in operator.memories.items()
            if memory in self.kept
        }
        outside = {
            param: self._param(operator, index, param)
            for index, param in enumerate(loop.func.params)
            if index not in places
        }
        self.renamed |= {param: str(outer.name) for param, outer in outside.items()}
        latest: tirx.Expr = run if width == 1 else run * columns.parts + part
        # A ring of one part that is read when it is computed begins with the current part.
        at_once = {
            id(place): latest * place.part
            for place in places.values()
            if place.ring and place.ring.places == 1 and place.maker == timing
        }
        fronts = {
            id(place): tirx.Var("front", "int32")
            for place in places.values()
            if place.ring and id(place) not in at_once
        }
        steps = _step_values(loop, timing, run, part)
        elements = Elements(loop, places, outside, Fronts(fronts, at_once, steps))
        self.declarations += elements.declarations
        conditions = _conditions(
            self.tick, timing.start, timing.end, timing.period, self.segment.interleaving.ticks
        )
        statements: list[tirx.Stmt] = [
            tirx.Bind(run, _quotient(self.tick - timing.start, timing.period))
        ]
        is_first, is_last = run == 0, run == timing.runs - 1
        if width > 1:
            conditions += _conditions(
                self.column, columns.start, columns.end, columns.period, width
            )
            statements.append(
                tirx.Bind(part, _quotient(self.column - columns.start, columns.period))
            )
            is_first = tirx.all(is_first, part == 0)
            # The last run may have fewer steps than others.
            last = (loop.steps - 1) % timing.number if loop.columns == 1 else columns.parts - 1
            is_last = tirx.all(is_last, part == (last if columns.parts > 1 else 0))
        written = [place for index, place in places.items() if index in loop.writes]
        statements += [_move(p, latest) for p in written if p.ring and _moves(p.ring)]
        kept = {id(place): place for place in places.values()}
        own = {id(place) for place in written}
        statements += [
            tirx.Bind(front, self._front(kept[key], latest if key in own else None))
            for key, front in fronts.items()
        ]
        if elements.before:
            statements.append(tirx.IfThenElse(is_first, sequence(elements.before), None))
        statements += _steps(loop, timing, elements, run, part)
        if elements.after:
            statements.append(tirx.IfThenElse(is_last, sequence(elements.after), None))
        inner = sequence(statements)
        return tirx.IfThenElse(tirx.all(*conditions), inner, None) if conditions else inner

    def _param(self, operator: MainOperator, index: int, param: tirx.Var) -> tirx.Var:
        """Return the parameter for an argument from outside; equal arguments share one."""
        argument = operator.statement.stmt.value.args[index]
        key = tvm_ffi.structural_hash(argument, map_free_vars=False), str(param.ty)
        known = self.passed.get(key)
        if known is not None and tvm_ffi.structural_equal(
            self.arguments[self.params.index(known)], argument
        ):
            return known
        variable = tirx.Var(self.names.unique(param.name), param.ty)
        self.params.append(variable)
        self.arguments.append(argument)
        self.passed[key] = variable
        return variable


def _conditions(tick: tirx.Var, start: int, end: int, period: int, ticks: int) -> list[tirx.Expr]:
    """Return the conditions under which an operator runs in one of `ticks` ticks."""
    conditions = []
    if start > 0:
        conditions.append(tick >= start)
    if end < ticks:
        conditions.append(tick < end)
    if period > 1:
        conditions.append(tirx.Mod(tick - start, int32(period)) == 0)
    return conditions


def _step_values(
    loop: OperatorLoop, timing: Timing, run: tirx.Var, part: tirx.Var
) -> dict[tirx.Var, tirx.Expr]:
    """Return the values of an operator's loop variables; empty if a tick has several steps."""
    variable = loop.loop.loop_var
    is_part = timing.columns.parts > 1
    if is_part and loop.columns > 1:
        column = loop.loop.body.loop_var
        return {variable: _as(run, variable), column: _as(part, column)}
    if is_part:
        return {variable: _as(run * timing.number + part, variable)}
    return {variable: _as(run, variable)} if timing.number == 1 else {}


def _steps(
    loop: OperatorLoop, timing: Timing, elements: Elements, run: tirx.Var, part: tirx.Var
) -> list[tirx.Stmt]:
    """Return the statements for the steps of a run, or of a part of it."""
    step, number = elements.loop_var, timing.number
    is_part = timing.columns.parts > 1
    if is_part and loop.columns > 1:
        inner = elements.body
        variable = inner.loop_var
        return [
            tirx.Bind(step, _as(run, step)),
            tirx.Bind(variable, _as(part, variable)),
            inner.body,
        ]
    if number == 1:
        return [tirx.Bind(step, _as(run, step)), elements.body]
    if is_part:
        bound = tirx.Bind(step, _as(run * number + part, step))
        if loop.steps % number == 0:
            return [bound, elements.body]
        return [bound, tirx.IfThenElse(run * number + part < loop.steps, elements.body, None)]
    i, extent = tirx.Var("i", "int32"), int32(number)
    if loop.steps % number:
        extent = tirx.min(extent, loop.steps - run * number)
    steps = sequence([tirx.Bind(step, _as(run * number + i, step)), elements.body])
    return [tirx.For(i, 0, extent, tirx.ForKind.SERIAL, steps)]


def _moves(ring: Ring) -> bool:
    return ring.places > ring.moved


def _move(place: Kept, latest: tirx.Expr) -> tirx.Stmt:
    """Return a statement that moves the parts still to be read to the front if the ring is full."""
    ring = place.ring
    assert ring is not None
    number, by = (ring.places - ring.moved) * place.part, ring.moved * place.part
    i = tirx.Var("i", "int32")
    buffer = place.buffer
    moved = tirx.BufferStore(buffer, buffer[i + by], [i])
    bytes_ = number * item_bytes(str(buffer.dtype))
    has_words = bytes_ % _WORD == 0 and ring.moved * ring.part_bytes % _WORD == 0
    copied = tensor_intrin(
        "tvmgen_copy_words" if has_words else "tvmgen_copy",
        [buffer[0], buffer[by], bytes_],
        tirx.For(i, 0, number, tirx.ForKind.SERIAL, moved),
    )
    condition = latest >= ring.places
    if ring.moved > 1:
        over = tirx.Mod(latest - ring.places, int32(ring.moved)) == 0
        condition = tirx.all(condition, over)
    return tirx.IfThenElse(condition, copied, None)


def _as(expr: tirx.Expr, var: tirx.Var) -> tirx.Expr:
    """Return a number in the type of a variable."""
    return expr.astype(str(var.ty.dtype))


def _quotient(expr: tirx.Expr, divisor: int) -> tirx.Expr:
    """Return the quotient of an expression that is not negative."""
    return expr if divisor == 1 else tirx.Div(expr, int32(divisor))


def _attributes(segment: Segment, names: Mapping[tirx.Var, str]) -> dict[str, object]:
    """Return the attributes of a segment's PrimFunc, joined from its operators.

    Parameters
    ----------
    names
        names of the PrimFunc's parameters, by parameters of the operators.
    """
    functions = [operator.loop.func for operator in segment.operators if operator.loop]
    called = [operator.func for operator in segment.operators if operator.func]
    attrs: dict[str, Any] = {k: v for k, v in dict(called[0].attrs or {}).items() if k in _OF_FIRST}
    joined: tuple[Attribute[Sequence[Any]], ...] = (OPERATORS_ATTR, OPERATOR_STEPS_ATTR)
    for attribute in joined:
        if all(attribute.is_on(func) for func in called):
            items = [item for func in called for item in attribute.required(func)]
            attrs |= attribute.entry(items)
    known_shapes = {
        names[param]: shapes[param.name]
        for func, known in zip(functions, called, strict=True)
        for shapes in [OPERATOR_SHAPES_ATTR.of(known) or {}]
        for param in func.params
        if param in names and param.name in shapes
    }
    if known_shapes:
        attrs |= OPERATOR_SHAPES_ATTR.entry(known_shapes)
    rings, timings = segment.rings, segment.interleaving.timings
    moved = 0
    for memory, ring in rings.items():
        moved += ring.moved_bytes(timings[segment.makers[memory]].parts)
    summary = {
        "operators": [str(operator.statement.callee) for operator in segment.operators],
        "by": "columns" if segment.interleaving.columns > 1 else "rows",
        "ring_size_bytes": sum(ring.size_bytes for ring in rings.values()),
        "tensor_size_bytes": sum(size_bytes(memory) for memory in rings),
        "moved_bytes": moved,
    }
    attrs |= SEGMENT_ATTR.entry(summary)
    schedules = [schedule for func in functions if (schedule := SCHEDULE_ATTR.of(func)) is not None]
    if schedules:
        tiles = " and ".join(dict.fromkeys(schedule.tile for schedule in schedules))
        instructions = segment.work + interleaving_instructions(segment)
        attrs |= SCHEDULE_ATTR.entry(Schedule(tiles, instructions))
    return attrs
