"""One PrimFunc that runs the operators of a segment interleaved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import tvm_ffi
from tvm import tirx
from tvm.ir import TensorLoad

from usmp.analysis.memory.access import item_bytes
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.analysis.memory.memories import Memory
from usmp.planning.streaming.interleaving import Ring, Timing
from usmp.planning.streaming.operator_loop import OperatorLoop
from usmp.planning.streaming.streamed_main import MainOperator, Segment
from usmp.support.unique_names import UniqueNames
from usmp.tir.nodes import nodes_of, sequence
from usmp.tir.tensor_intrin import tensor_intrin


@dataclass(frozen=True, eq=False)
class StreamedFunction:
    """The PrimFunc of a segment.

    Parameters
    ----------
    func
        the PrimFunc.
    arguments
        what `__tvm_main__` calls it with.
    """

    func: tirx.PrimFunc
    arguments: Sequence[tirx.Expr]


def streamed_function(segment: Segment) -> StreamedFunction | None:
    """The PrimFunc of a segment; None if an operator uses a ring in a way that is not known."""
    builder = _Builder(segment)
    try:
        return builder.build()
    except _NotStreamed:
        return None


class _NotStreamed(Exception):
    """An operator uses a tensor otherwise than by its elements."""


@dataclass(frozen=True, eq=False)
class _Kept:
    """The buffer in which a tensor of a segment is kept.

    Parameters
    ----------
    buffer
        (elements) of it.
    ring
        how, if not all of it is there.
    maker
        when the rows are made.
    front
        the first element of the tensor that is in the buffer.
    """

    buffer: tirx.Var
    ring: Ring | None
    maker: Timing | None
    front: tirx.Var | None

    @property
    def row(self) -> int:
        """Elements of a row."""
        assert self.ring is not None
        return self.ring.row_bytes // item_bytes(str(self.buffer.dtype))


@dataclass
class _Builder:
    segment: Segment
    params: list[tirx.Var] = field(default_factory=list)
    arguments: list[tirx.Expr] = field(default_factory=list)
    names: UniqueNames = field(default_factory=UniqueNames)
    declarations: list[tirx.Stmt] = field(default_factory=list)
    kept: dict[Memory, _Kept] = field(default_factory=dict)
    passed: dict[object, tirx.Var] = field(default_factory=dict)

    def build(self) -> StreamedFunction:
        interleaving = self.segment.interleaving
        tick = tirx.Var("tick", "int32")
        for memory in self.segment.inside:
            self._keep(memory)
        stages = [
            self._stage(operator, timing, tick)
            for operator, timing in zip(self.segment.operators, interleaving.timings, strict=True)
        ]
        fronts = [
            tirx.Bind(kept.front, _front(kept, tick))
            for kept in self.kept.values()
            if kept.front is not None
        ]
        body = sequence([*fronts, *stages])
        loop = tirx.For(tick, 0, interleaving.ticks, tirx.ForKind.SERIAL, body)
        func = tirx.PrimFunc(self.params, sequence([*self.declarations, loop]))
        return StreamedFunction(func.with_attrs(_attributes(self.segment)), self.arguments)

    def _keep(self, memory: Memory) -> None:
        """Allocate a tensor that only the segment uses."""
        dtype, name = str(memory.dtype), memory.name
        timing = front = None
        size = size_bytes(memory)
        ring = self.segment.interleaving.rings.get(memory)
        if ring is not None:
            timing = self.segment.interleaving.timings[self.segment.makers[memory]]
            size, name = ring.size_bytes, f"{name}_ring"
            front = tirx.Var(f"{memory.name}_front", "int32")
        buffer = tirx.decl_buffer(
            (size // item_bytes(dtype),), dtype, self.names.unique(name), scope=memory.scope()
        )
        annotations = self.segment.inside[memory]
        self.declarations.append(tirx.AllocBuffer(buffer, annotations=dict(annotations)))
        self.kept[memory] = _Kept(buffer, ring, timing, front)

    def _stage(self, operator: MainOperator, timing: Timing, tick: tirx.Var) -> tirx.Stmt:
        """What an operator does in a tick."""
        loop = operator.loop
        assert loop is not None
        run = tirx.Var("run", "int32")
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
        elements = _Elements(loop, places, outside)
        self.declarations += elements.declarations
        made = [
            place
            for index, place in places.items()
            if place.ring is not None and index in loop.writes
        ]
        step = elements.loop_var
        if timing.number == 1:
            body: list[tirx.Stmt] = [tirx.Bind(step, _as(run, step)), *elements.body]
        else:
            i = tirx.Var("i", "int32")
            number = tirx.IntImm("int32", timing.number)
            first = run * number
            extent: tirx.Expr = number
            if loop.steps % timing.number:
                extent = tirx.min(number, loop.steps - first)
            steps = sequence([tirx.Bind(step, _as(first + i, step)), *elements.body])
            body = [tirx.For(i, 0, extent, tirx.ForKind.SERIAL, steps)]
        last = timing.runs - 1
        statements = [
            tirx.Bind(run, _quotient(tick - timing.start, timing.period)),
            *(_move(place, run) for place in made if place.ring and _moves(place.ring)),
            *_when(run.same_as, run == 0, elements.before),
            *body,
            *_when(run.same_as, run == last, elements.after),
        ]
        conditions = []
        if timing.start > 0:
            conditions.append(tick >= timing.start)
        if timing.end < self.segment.interleaving.ticks:
            conditions.append(tick < timing.end)
        if timing.period > 1:
            conditions.append(tirx.Mod(tick - timing.start, _int(timing.period)) == 0)
        inner = sequence(statements)
        return tirx.IfThenElse(tirx.all(*conditions), inner, None) if conditions else inner

    def _param(self, operator: MainOperator, index: int, param: tirx.Var) -> tirx.Var:
        """The parameter for an argument from outside."""
        argument = operator.statement.stmt.value.args[index]
        key = tvm_ffi.structural_hash(argument, map_free_vars=False), str(param.ty)
        known = self.passed.get(key)
        if known is not None and tvm_ffi.structural_equal(
            self.arguments[self.params.index(known)], argument
        ):
            return known
        made = tirx.Var(self.names.unique(param.name), param.ty)
        self.params.append(made)
        self.arguments.append(argument)
        self.passed[key] = made
        return made


class _Elements:
    """The statements of an operator, with variables of their own, on what a segment keeps.

    Parameters
    ----------
    loop
        the operator.
    places
        by index of a parameter, where that is kept.
    outside
        the other parameters, and what takes their places.
    """

    def __init__(
        self,
        loop: OperatorLoop,
        places: Mapping[int, _Kept],
        outside: Mapping[tirx.Var, tirx.Var],
    ) -> None:
        renamed: dict[tirx.Var, tirx.Var] = dict(outside)
        kept: dict[tirx.Var, _Kept] = {}
        stays = []
        by_param = {loop.func.params[index]: place for index, place in places.items()}
        for stmt in loop.declarations:
            param = stmt.data
            if param in by_param:
                if not _is_plain(stmt.buffer, by_param[param]):
                    raise _NotStreamed
                kept[stmt.buffer] = by_param[param]
            else:
                stays.append(stmt)
        statements = [*stays, *loop.allocations, *loop.before, loop.loop, *loop.after]
        for stmt in statements:
            for var in _defined(stmt):
                renamed[var] = tirx.Var(var.name, var.ty)

        def own(stmt: tirx.Stmt) -> tirx.Stmt:
            moved = _on_rings(stmt, kept)
            if any(var in by_param or var in kept for var in nodes_of(moved, tirx.Var)):
                raise _NotStreamed
            return tvm_ffi.structural_map(moved, (tirx.Var, lambda var: renamed.get(var, var)))

        # Views of allocations are among the others.
        self.declarations = [own(stmt) for stmt in (*loop.allocations, *stays)]
        self.before = [own(stmt) for stmt in loop.before]
        self.loop_var = renamed[loop.loop.loop_var]
        self.body = [own(loop.loop.body)]
        self.after = [own(stmt) for stmt in loop.after]


def _on_rings(stmt: tirx.Stmt, kept: Mapping[tirx.Var, _Kept]) -> tirx.Stmt:
    """A statement with the elements of tensors where they are kept."""

    def load(node: TensorLoad) -> TensorLoad:
        place = kept.get(node.source)
        if place is None:
            return node
        return tirx.BufferLoad(place.buffer, _indices(place, node.indices))

    def store(node: tirx.BufferStore) -> tirx.BufferStore:
        place = kept.get(node.buffer)
        if place is None:
            return node
        return tirx.BufferStore(place.buffer, node.value, _indices(place, node.indices))

    return tvm_ffi.structural_map(stmt, [(TensorLoad, load), (tirx.BufferStore, store)])


def _indices(place: _Kept, indices: Sequence[tirx.Expr]) -> list[tirx.Expr]:
    (index,) = indices
    return [index] if place.front is None else [index - place.front]


def _is_plain(buffer: tirx.Var, place: _Kept) -> bool:
    """Whether a view is of all elements of a tensor, one after the other."""
    offset = buffer.ty.elem_offset
    is_at_start = offset is None or (isinstance(offset, tirx.IntImm) and int(offset) == 0)
    has_strides = bool(buffer.ty.strides)
    is_flat = len(buffer.shape) == 1 and is_at_start and not has_strides
    return is_flat and buffer.dtype == place.buffer.dtype


def _defined(stmt: tirx.Stmt) -> Iterator[tirx.Var]:
    """The variables that a statement defines."""
    for kind, name in (
        (tirx.For, "loop_var"),
        (tirx.Bind, "var"),
        (tirx.Let, "var"),
        (tirx.AllocBuffer, "buffer"),
        (tirx.DeclBuffer, "buffer"),
    ):
        for node in nodes_of(stmt, kind):
            yield getattr(node, name)


def _front(place: _Kept, tick: tirx.Var) -> tirx.Expr:
    """The first element that a ring has in a tick, from its maker's run on."""
    assert place.ring is not None and place.maker is not None
    ring, maker = place.ring, place.maker
    run = _quotient(_at_least_zero(tick - maker.start, maker.start), maker.period)
    if maker.start + maker.period * maker.runs > maker.end - 1:
        run = tirx.min(run, _int(maker.runs - 1))
    lacking = run + (ring.moved - ring.rows)
    if ring.rows > ring.moved:
        lacking = tirx.max(lacking, _int(0))
    return _quotient(lacking, ring.moved) * (ring.moved * place.row)


def _at_least_zero(expr: tirx.Expr, taken: int) -> tirx.Expr:
    return tirx.max(expr, _int(0)) if taken > 0 else expr


def _moves(ring: Ring) -> bool:
    return ring.rows > ring.moved


def _move(place: _Kept, run: tirx.Var) -> tirx.Stmt:
    """Move the rows that are still to be read to the front, if there is no place for the next."""
    ring = place.ring
    assert ring is not None
    number, by = (ring.rows - ring.moved) * place.row, ring.moved * place.row
    i = tirx.Var("i", "int32")
    buffer = place.buffer
    moved = tirx.BufferStore(buffer, buffer[i + by], [i])
    bytes_ = number * item_bytes(str(buffer.dtype))
    copied = tensor_intrin(
        "tvmgen_copy",
        [buffer[0], buffer[by], bytes_],
        tirx.For(i, 0, number, tirx.ForKind.SERIAL, moved),
    )
    condition = run >= ring.rows
    if ring.moved > 1:
        over = tirx.Mod(run - ring.rows, _int(ring.moved)) == 0
        condition = tirx.all(condition, over)
    return tirx.IfThenElse(condition, copied, None)


def _when(_: object, condition: tirx.Expr, statements: Sequence[tirx.Stmt]) -> list[tirx.Stmt]:
    return [tirx.IfThenElse(condition, sequence(statements), None)] if statements else []


def _as(expr: tirx.Expr, var: tirx.Var) -> tirx.Expr:
    """A number in the type of a variable."""
    return expr.astype(str(var.ty.dtype))


def _quotient(expr: tirx.Expr, divisor: int) -> tirx.Expr:
    """Of what is not negative."""
    return expr if divisor == 1 else tirx.Div(expr, _int(divisor))


def _int(value: int) -> tirx.IntImm:
    return tirx.IntImm("int32", value)


def _attributes(segment: Segment) -> dict[str, object]:
    first = segment.operators[0].loop
    assert first is not None
    return {k: v for k, v in dict(first.func.attrs or {}).items() if k in ("target", "s_tir")}
