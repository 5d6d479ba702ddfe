"""What each statement of a main function does to memory.

The statements are walked one by one with the walk that finds live ranges (see `liveness`), so that
both agree on who may access what through views, pointers and calls of any depth.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx
from tvm.ir import Call, IRModule, PrimType

from usmp.analysis.access import Access, MemoryUse
from usmp.analysis.addresses import address_of
from usmp.analysis.buffer_size import has_static_size, size_bytes
from usmp.analysis.byte_ranges import Views, parameter_bytes
from usmp.analysis.calls import PrimFuncCall
from usmp.analysis.function_liveness import Span
from usmp.analysis.liveness import FunctionWalk, ModuleLiveness
from usmp.analysis.memory_root import Loop, Root
from usmp.analysis.side_effects import Effect, SideEffects
from usmp.objects.attributes import LIVE_THROUGHOUT_ATTR, MAIN_FUNCTION_NAME, STATE_TENSOR_ATTR


@dataclass(frozen=True)
class PieceAccess:
    """Bytes of a piece of memory that a statement accesses.

    Parameters
    ----------
    piece: number of the piece.
    may_write: whether their content may change.
    start, stop: the bytes; a `stop` of None is the end, wherever that is.
    """

    piece: int
    may_write: bool
    start: int = 0
    stop: int | None = None


@dataclass(frozen=True)
class Argument:
    """A piece of memory that is passed to a PrimFunc.

    Parameters
    ----------
    index: of the parameter.
    parameter: the parameter itself.
    piece, byte_offset: where it points to.
    """

    index: int
    parameter: tirx.Var
    piece: int
    byte_offset: int


@dataclass(frozen=True, eq=False)
class MainStatement:
    """A statement that is no declaration.

    Parameters
    ----------
    stmt: the statement.
    spans: piece of memory -> the positions in the statement between first and last access.
    accesses: to these pieces, and to memory that callees keep from one call to the next.
    scratch: allocations within the statement and what it calls, with their positions.
    callee: the PrimFunc, if the statement does nothing but call it.
    arguments: what it is called with, as far as it is known where that lies.
    effect: what it does beside that.
    """

    stmt: tirx.Stmt
    spans: dict[int, Span]
    accesses: list[PieceAccess]
    scratch: list[tuple[tirx.AllocBuffer, Span]]
    callee: str | None
    arguments: list[Argument]
    effect: Effect


@dataclass(frozen=True, eq=False)
class MainStatements:
    """The body of a main function.

    Parameters
    ----------
    declarations: allocations, views and bound values; they access no memory.
    statements: the others, in the order of the text.
    pieces: by number, the allocation of a piece of memory; None for a parameter.
    """

    declarations: list[tirx.Stmt]
    statements: list[MainStatement]
    pieces: list[tirx.AllocBuffer | None]


def main_statements(mod: IRModule) -> MainStatements | None:
    """The statements of `__tvm_main__`; None if it is not known what they do, because a pointer to
    some memory is kept, or a declaration needs the content of memory.

    Raises
    ------
    ValueError: a PrimFunc that calls itself, or that is not lowered to flat TIR.
    """
    liveness = ModuleLiveness(mod)
    for name in liveness.graph.callees(MAIN_FUNCTION_NAME):
        liveness.liveness_of(name)
    reader = _Reader(liveness)
    for stmt in tirx.stmt_list(mod[MAIN_FUNCTION_NAME].body):
        if not isinstance(stmt, tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind):
            reader.read(stmt)
        elif not reader.declare(stmt):
            return None
    memory = [r for r in reader.walk.roots if r in reader.numbers or r.stmt is not None]
    return None if any(root.escapes for root in memory) else reader.found


class _Reader:
    """Reads one statement after the other."""

    def __init__(self, liveness: ModuleLiveness) -> None:
        self.liveness = liveness
        self.walk = FunctionWalk(liveness, MAIN_FUNCTION_NAME)
        self.effects = SideEffects(liveness.graph)
        self.numbers = {
            root: number
            for number, root in enumerate(self.walk.roots)
            if _may_be_memory(self.walk.func.params[number])
        }
        """Of the pieces of memory that main knows."""
        self.kept: dict[tirx.AllocBuffer, int] = {}
        """Of memory that callees keep from one call to the next."""
        self.sizes: dict[int, int] = {}
        """Bytes of pieces of memory."""
        self.views = Views()
        self.used_bytes: dict[tuple[str, int], int | None] = {}
        self.declared: set[tirx.Var] = set()
        self.found = MainStatements([], [], [None for _ in self.walk.roots])

    def declare(self, stmt: tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind) -> bool:
        """Note a declaration; False if it does more, or declares again."""
        var = stmt.var if isinstance(stmt, tirx.Bind) else stmt.buffer
        if var in self.declared or self.effects.of_main_statement(stmt):
            return False
        if any(root in self.numbers for root in self.step(stmt)):
            return False
        self.declared.add(var)
        self.found.declarations.append(stmt)
        if isinstance(stmt, tirx.AllocBuffer):
            self.numbers[self.walk.roots[-1]] = len(self.found.pieces)
            if has_static_size(stmt.buffer):
                self.sizes[len(self.found.pieces)] = size_bytes(stmt.buffer)
            self.found.pieces.append(stmt)
        else:
            self.views.declare(var, stmt.value if isinstance(stmt, tirx.Bind) else stmt.data)
        return True

    def step(self, stmt: tirx.Stmt) -> set[Root]:
        """Walk a statement; what it touches is noted at these pieces of memory."""
        around = Loop(self.walk.position, concurrent=False)
        self.walk.loops.append(around)
        self.walk.statement(stmt)
        self.walk.loops.pop()
        return around.touched

    def read(self, stmt: tirx.Stmt) -> None:
        """Note what a statement does."""
        start, known = self.walk.position, len(self.walk.roots)
        self.walk.result.allocations.clear()
        spans: dict[int, Span] = {}
        uses: dict[int, Access] = {}
        for root in self.step(stmt):
            if root in self.numbers and root.span is not None:
                number = self.numbers[root]
                spans[number] = (root.span[0] - start, root.span[1] - start)
                uses[number] = root.use.access
                root.span, root.use = None, MemoryUse()
        call = self._call_of(stmt)
        arguments = [] if call is None else self._arguments(call)
        accesses = [
            access
            for piece, use in sorted(uses.items())
            for access in self._accesses(piece, use, call, arguments)
        ]
        self.found.statements.append(
            MainStatement(
                stmt,
                dict(sorted(spans.items())),
                accesses + self._kept_by_callees(),
                self._scratch(start, known),
                None if call is None else call.callee,
                arguments,
                self.effects.of_main_statement(stmt),
            )
        )

    def _call_of(self, stmt: tirx.Stmt) -> PrimFuncCall | None:
        """The call of a PrimFunc, if the statement is nothing else."""
        if not (isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, Call)):
            return None
        call = self.liveness.graph.calls.resolve(stmt.value)
        if call is None or self.walk.layouts:
            return None
        is_plain = not any(address_of(argument).computed for argument in call.arguments)
        return call if is_plain else None

    def _arguments(self, call: PrimFuncCall) -> list[Argument]:
        """Where arguments point to; all of those that point to a piece of memory, or none."""
        arguments: list[Argument] = []
        unknown: set[int] = set()
        callee = self.liveness.finished[call.callee]
        for index, expr in enumerate(call.arguments):
            pieces = [
                self.numbers[root]
                for var in address_of(expr).bases
                for root in self.walk.pointers.get(var, ())
                if root in self.numbers
            ]
            place = self.views.place_of(expr)
            if len(pieces) != 1 or place is None or index >= callee.number_of_parameters:
                unknown.update(pieces)
            else:
                parameter = self.liveness.graph.functions[call.callee].params[index]
                arguments.append(Argument(index, parameter, pieces[0], place.byte_offset))
        return [argument for argument in arguments if argument.piece not in unknown]

    def _accesses(
        self, piece: int, use: Access, call: PrimFuncCall | None, arguments: list[Argument]
    ) -> list[PieceAccess]:
        """What a statement accesses of a piece of memory; all of it unless arguments tell."""
        passed = [argument for argument in arguments if argument.piece == piece]
        if not use:
            return []
        if call is None or not passed:
            return [PieceAccess(piece, use.may_write)]
        uses = self.liveness.finished[call.callee].parameter_use
        func = self.liveness.graph.functions[call.callee]
        accesses = []
        for argument in passed:
            access = uses[argument.index].access
            if access:
                used_bytes = self._parameter_bytes(func, call.callee, argument.index)
                start = argument.byte_offset
                stop = None if used_bytes is None else start + used_bytes
                if start == 0 and stop == self.sizes.get(piece):
                    stop = None
                accesses.append(PieceAccess(piece, access.may_write, start, stop))
        return accesses

    def _parameter_bytes(self, func: tirx.PrimFunc, name: str, index: int) -> int | None:
        if (name, index) not in self.used_bytes:
            self.used_bytes[name, index] = parameter_bytes(func, index)
        return self.used_bytes[name, index]

    def _kept_by_callees(self) -> list[PieceAccess]:
        """Accesses to memory that lives throughout, in what the last statement has called."""
        accesses = []
        for stmt in self.walk.result.allocations:
            if STATE_TENSOR_ATTR in stmt.annotations or LIVE_THROUGHOUT_ATTR in stmt.annotations:
                if stmt not in self.kept:
                    self.kept[stmt] = len(self.found.pieces)
                    self.found.pieces.append(stmt)
                accesses.append(PieceAccess(self.kept[stmt], may_write=True))
        return accesses

    def _scratch(self, start: int, known: int) -> list[tuple[tirx.AllocBuffer, Span]]:
        """Allocations in the last statement, and in what it has called."""
        spans = [(stmt, s) for stmt, found in self.walk.result.allocations.items() for s in found]
        spans += [
            (root.stmt, root.span)
            for root in self.walk.roots[known:]
            if root.stmt is not None and root.span is not None
        ]
        unplannable = self.walk.result.unplannable
        return [
            (stmt, (first - start, stop - start))
            for stmt, (first, stop) in spans
            if stmt not in unplannable
        ]


def _may_be_memory(param: tirx.Var) -> bool:
    """Not a number."""
    return not isinstance(param.ty, PrimType) or "handle" in str(param.ty)
