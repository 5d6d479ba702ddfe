"""The accesses of a PrimFunc to elements of its parameters, with the loops around them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tvm import tirx
from tvm.ir import TensorLoad

from usmp.analysis.memory.addresses import address_of
from usmp.analysis.memory.walk.event_walk import memory_events
from usmp.analysis.memory.walk.events import (
    Declare,
    Define,
    Enter,
    Evaluation,
    Event,
    Leave,
    Load,
    Operate,
    Pass,
)
from usmp.tir.nodes import is_const_int, nodes_of

_THREADS = ("thread_extent", "virtual_thread")
_UNROLLS = frozenset(
    {"pragma_auto_unroll_max_step", "pragma_unroll_explicit", "pragma_unroll_offset"}
)
"""Annotations that do not change the order of statements."""


@dataclass(frozen=True, eq=False)
class ElementLoop:
    """A loop, or a group of threads, around accesses.

    Parameters
    ----------
    variable, extent
        variable and extent of a loop that begins at 0; None for other loops.
    """

    variable: tirx.Var | None = None
    extent: tirx.Expr | None = None


@dataclass(frozen=True, eq=False)
class ElementAccess:
    """A load or store of one element.

    Parameters
    ----------
    order
        position of the statement in program order. Accesses of equal order belong to one statement,
        which loads all elements before it stores one.
    loops
        the loops around the access, outermost first.
    indices
        the indices, by dimension of the buffer.
    is_write
        whether the access is a store.
    """

    order: int
    loops: tuple[ElementLoop, ...]
    indices: tuple[tirx.Expr, ...]
    is_write: bool


@dataclass
class ElementAccesses:
    """The accesses of a PrimFunc to its parameters.

    Parameters
    ----------
    by_buffer
        the accesses to each buffer that is a parameter, in program order.
    pointed_to
        parameters with aliases or passed to calls, so that there may be other accesses.
    has_threads
        whether several threads run the statements of the body.
    is_serial
        whether all loops run one iteration after the other.
    is_reordered
        whether annotations may change the order of the statements of one iteration.
    bound
        the variables of `Bind` and `Let` in the body.
    read_again
        parameters that the bounds of a loop load from, because some compilers load bounds anew in
        each iteration.
    """

    by_buffer: dict[tirx.Var, list[ElementAccess]] = field(default_factory=dict)
    pointed_to: set[tirx.Var] = field(default_factory=set)
    has_threads: bool = False
    is_serial: bool = True
    is_reordered: bool = False
    bound: set[tirx.Var] = field(default_factory=set)
    read_again: set[tirx.Var] = field(default_factory=set)


def element_accesses(func: tirx.PrimFunc) -> ElementAccesses:
    """Return the accesses of a PrimFunc to elements of its parameters.

    Parameters
    ----------
    func
        a PrimFunc without blocks; buffers may have several dimensions.

    Raises
    ------
    ValueError
        the PrimFunc is not lowered.
    """
    fold = _Fold(func)
    for event in memory_events("element accesses", func.body):
        fold.take(event)
    return fold.found


class _Fold:
    def __init__(self, func: tirx.PrimFunc) -> None:
        self.found = ElementAccesses()
        self.parameters = set(func.params)
        self.loops: list[ElementLoop] = []
        self.order = 0

    def take(self, event: Event) -> None:
        if isinstance(event, Evaluation):
            self.evaluate(event)
        elif isinstance(event, Define):
            self.found.bound.add(event.var)
        elif isinstance(event, Declare):
            self.declare(event.stmt)
        elif isinstance(event, Enter):
            self.enter(event.region.stmt, event.head)
        elif isinstance(event, Leave) and _is_loop(event.region.stmt):
            self.loops.pop()

    def declare(self, stmt: tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind) -> None:
        """Record the buffers that a view or pointer aliases."""
        if isinstance(stmt, tirx.AllocBuffer):
            return
        if isinstance(stmt, tirx.Bind):
            self.found.bound.add(stmt.var)
        address = stmt.value if isinstance(stmt, tirx.Bind) else stmt.data
        self.found.pointed_to.update(address_of(address).bases)

    def evaluate(self, evaluation: Evaluation) -> None:
        self.order += 1
        for part in evaluation.parts:
            if isinstance(part, Load):
                self.note(part.buffer, part.indices, is_write=False)
            elif isinstance(part, Pass):
                self.found.pointed_to.add(part.pointer)
            elif isinstance(part, Define):
                self.found.bound.add(part.var)
            elif isinstance(part, Operate):
                # The operator may write an argument that looks like a load.
                self.found.pointed_to.update(
                    load.source for load in nodes_of(part.call, TensorLoad)
                )
        store = evaluation.store
        if store is not None:
            self.note(store.buffer, store.indices, is_write=True)

    def enter(self, stmt: tirx.For | tirx.While | tirx.AttrStmt, head: Evaluation) -> None:
        if isinstance(stmt, tirx.For):
            self.enter_loop(stmt, head)
        elif isinstance(stmt, tirx.While):
            self.loops.append(ElementLoop())
            self.evaluate(head)
        elif _is_loop(stmt):
            self.found.has_threads = True
            self.found.is_serial = False
            self.loops.append(ElementLoop(stmt.node.var, stmt.value))
        elif str(stmt.attr_key) not in _UNROLLS:
            self.found.is_reordered = True

    def enter_loop(self, stmt: tirx.For, head: Evaluation) -> None:
        if any(str(key) not in _UNROLLS for key in stmt.annotations):
            self.found.is_reordered = True
        is_simple = stmt.step is None or is_const_int(stmt.step, 1)
        if not is_simple or stmt.kind == tirx.ForKind.THREAD_BINDING:
            raise ValueError("a loop that is not lowered")
        if stmt.kind != tirx.ForKind.SERIAL:
            self.found.is_serial = False
        self.evaluate(head)
        self.found.read_again.update(part.buffer for part in head.parts if isinstance(part, Load))
        starts_at_zero = is_const_int(stmt.min, 0)
        loop = ElementLoop(stmt.loop_var, stmt.extent) if starts_at_zero else ElementLoop()
        self.loops.append(loop)

    def note(self, buffer: tirx.Var, indices: tuple[tirx.Expr, ...], is_write: bool) -> None:
        if buffer in self.parameters:
            access = ElementAccess(self.order, tuple(self.loops), indices, is_write)
            self.found.by_buffer.setdefault(buffer, []).append(access)


def _is_loop(stmt: tirx.For | tirx.While | tirx.AttrStmt) -> bool:
    """Return whether the body runs several times, one after the other or in threads."""
    return not isinstance(stmt, tirx.AttrStmt) or str(stmt.attr_key) in _THREADS
