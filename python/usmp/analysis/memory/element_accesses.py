"""The accesses of a PrimFunc to elements of its parameters, with the loops that they stand in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, Op, TensorLoad

from usmp.analysis.memory.addresses import is_op
from usmp.analysis.memory.statement_walk import StatementWalk
from usmp.tir.nodes import nodes_of
from usmp.tir.walk_expressions import walk_expressions

_VIRTUAL_THREAD = "virtual_thread"
_THREAD_EXTENT = "thread_extent"
_UNROLLS = frozenset(
    {"pragma_auto_unroll_max_step", "pragma_unroll_explicit", "pragma_unroll_offset"}
)
"""Annotations that keep the order of statements."""


@dataclass(frozen=True, eq=False)
class ElementLoop:
    """A loop around accesses, or threads that run what stands in it.

    Parameters
    ----------
    variable, extent
        of the loop, which begins at 0; None where it is another one.
    """

    variable: tirx.Var | None = None
    extent: tirx.Expr | None = None


@dataclass(frozen=True, eq=False)
class ElementAccess:
    """A load or store of one element.

    Parameters
    ----------
    order
        of its statement in the text. Accesses of one order are those of one store, which loads all
        before it writes.
    loops
        around it, outermost first.
    indices
        by dimension of the buffer.
    is_write
        whether it is a store.
    """

    order: int
    loops: tuple[ElementLoop, ...]
    indices: tuple[tirx.Expr, ...]
    is_write: bool


@dataclass
class ElementAccesses:
    """What a PrimFunc does to its parameters.

    Parameters
    ----------
    by_buffer
        the accesses to each buffer that is a parameter, in the order of the text.
    pointed_to
        parameters that something has a pointer to, so that there may be other accesses.
    has_threads
        whether several threads run statements that follow each other.
    is_serial
        whether all loops run one iteration after the other.
    is_reordered
        whether annotations may change the order of the statements of one iteration.
    bound
        the variables that are bound in the body.
    read_again
        parameters that the bounds of a loop are read from: some compilers do that in each
        iteration.
    """

    by_buffer: dict[tirx.Var, list[ElementAccess]] = field(default_factory=dict)
    pointed_to: set[tirx.Var] = field(default_factory=set)
    has_threads: bool = False
    is_serial: bool = True
    is_reordered: bool = False
    bound: set[tirx.Var] = field(default_factory=set)
    read_again: set[tirx.Var] = field(default_factory=set)


def element_accesses(func: tirx.PrimFunc) -> ElementAccesses:
    """The accesses of a PrimFunc.

    Parameters
    ----------
    func
        loops without blocks; buffers may have several dimensions.

    Raises
    ------
    ValueError
        it is not lowered.
    """
    return _Walk(func).run()


class _Walk(StatementWalk):
    def __init__(self, func: tirx.PrimFunc) -> None:
        super().__init__("element accesses")
        self.func = func
        self.found = ElementAccesses()
        self.parameters = set(func.params)
        self.loops: tuple[ElementLoop, ...] = ()
        self.order = 0

    def run(self) -> ElementAccesses:
        self.statement(self.func.body)
        return self.found

    def _allocate(self, stmt: tirx.AllocBuffer) -> None:
        """It is no parameter."""

    def _declare(self, stmt: tirx.DeclBuffer) -> None:
        self.read(stmt.data)

    def _bind(self, stmt: tirx.Bind) -> None:
        self.found.bound.add(stmt.var)
        self.read(stmt.value)

    def _evaluate(self, stmt: tirx.Evaluate) -> None:
        self.read(stmt.value)

    def _return(self, stmt: tirx.Return) -> None:
        self.read(*([] if stmt.value is None else [stmt.value]))

    def _jump(self, stmt: tirx.Break | tirx.Continue) -> None:
        """What follows may not run."""

    def _assert(self, stmt: tirx.AssertStmt) -> None:
        self.read(stmt.condition)

    def _store(self, stmt: tirx.BufferStore) -> None:
        self.order += 1
        predicate = getattr(stmt, "predicate", None)
        self.expressions([stmt.value, *stmt.indices, *([] if predicate is None else [predicate])])
        self.note(stmt.buffer, stmt.indices, is_write=True)

    def _branch(self, stmt: tirx.IfThenElse) -> None:
        self.read(stmt.condition)
        self.statement(stmt.then_case)
        if stmt.else_case is not None:
            self.statement(stmt.else_case)

    def _attribute(self, stmt: tirx.AttrStmt) -> None:
        key = str(stmt.attr_key)
        if key in (_THREAD_EXTENT, _VIRTUAL_THREAD):
            self.found.has_threads = True
            self.found.is_serial = False
            self.inside(ElementLoop(stmt.node.var, stmt.value), stmt.body)
        elif key in _UNROLLS:
            self.statement(stmt.body)
        else:
            self.found.is_reordered = True
            self.read(*([stmt.value] if isinstance(stmt.value, tirx.Expr) else []))
            self.statement(stmt.body)

    def _for(self, stmt: tirx.For) -> None:
        if any(str(key) not in _UNROLLS for key in stmt.annotations):
            self.found.is_reordered = True
        is_simple = stmt.step is None or (
            isinstance(stmt.step, int | tirx.IntImm) and int(stmt.step) == 1
        )
        if not is_simple or stmt.kind == tirx.ForKind.THREAD_BINDING:
            raise ValueError("a loop that is not lowered")
        if stmt.kind != tirx.ForKind.SERIAL:
            self.found.is_serial = False
        self.read(stmt.min, stmt.extent)
        self.found.read_again.update(
            load.source for bound in (stmt.min, stmt.extent) for load in nodes_of(bound, TensorLoad)
        )
        starts_at_zero = isinstance(stmt.min, tirx.IntImm) and int(stmt.min) == 0
        loop = ElementLoop(stmt.loop_var, stmt.extent) if starts_at_zero else ElementLoop()
        self.inside(loop, stmt.body)

    def _while(self, stmt: tirx.While) -> None:
        loop = ElementLoop()
        self.inside(loop, tirx.Evaluate(stmt.condition))
        self.inside(loop, stmt.body)

    def inside(self, loop: ElementLoop, body: tirx.Stmt) -> None:
        around, self.loops = self.loops, (*self.loops, loop)
        self.statement(body)
        self.loops = around

    def read(self, *exprs: tirx.Expr) -> None:
        self.order += 1
        self.expressions(exprs)

    def note(self, buffer: tirx.Var, indices: Iterable[tirx.Expr], is_write: bool) -> None:
        if buffer in self.parameters:
            access = ElementAccess(self.order, self.loops, tuple(indices), is_write)
            self.found.by_buffer.setdefault(buffer, []).append(access)

    def expressions(self, exprs: Iterable[tirx.Expr]) -> None:
        """Note what expressions read, and of what they take pointers."""
        skip, advance = tvm_ffi.WalkResult.SKIP, tvm_ffi.WalkResult.ADVANCE

        def on_load(load: TensorLoad) -> tvm_ffi.WalkResult:
            self.note(load.source, load.indices, is_write=False)
            self.expressions(load.indices)
            return skip

        def on_call(call: Call) -> tvm_ffi.WalkResult:
            if is_op(call, "tirx.address_of") or not _has_no_effect(call):
                # It may write what stands there as a load.
                loads: list[TensorLoad] = []
                tvm_ffi.structural_walk(call, (TensorLoad, loads.append))
                self.found.pointed_to.update(load.source for load in loads)
            return advance

        def on_let(let: tirx.Let) -> tvm_ffi.WalkResult:
            self.found.bound.add(let.var)
            return advance

        def on_variable(var: tirx.Var) -> tvm_ffi.WalkResult:
            if tirx.is_buffer_var(var):
                self.found.pointed_to.add(var)
            return skip

        walk_expressions(
            exprs, {TensorLoad: on_load, Call: on_call, tirx.Let: on_let, tirx.Var: on_variable}
        )


_PURE = 1
"""The greatest `TCallEffectKind` of operators that only compute a value."""


def _has_no_effect(call: Call) -> bool:
    if not isinstance(call.op, Op):
        return False
    kind = call.op.get_attr("TCallEffectKind")
    return kind is not None and int(kind) <= _PURE
