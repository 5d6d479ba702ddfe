"""What each statement of a main function does to memory.

All is taken from the walk that finds live ranges (see `liveness`), so that both agree on who may
access what through views, pointers and calls of any depth.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx
from tvm.ir import Call, PrimType

from usmp.analysis.memory.access import Access
from usmp.analysis.memory.addresses import address_of
from usmp.analysis.memory.buffer_size import has_static_size, size_bytes
from usmp.analysis.memory.byte_ranges import Views
from usmp.analysis.memory.calls import PrimFuncCall
from usmp.analysis.memory.facts import FunctionFacts, ModuleFacts
from usmp.analysis.memory.function_liveness import Span, StatementLiveness
from usmp.analysis.memory.side_effects import Effect
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


def main_statements(facts: ModuleFacts) -> MainStatements | None:
    """The statements of `__tvm_main__`; None if it is not known what they do, because a pointer to
    some memory is kept, or a declaration needs the content of memory.

    Raises
    ------
    ValueError: a PrimFunc that calls itself, or that is not lowered to flat TIR.
    """
    main = facts.of(MAIN_FUNCTION_NAME)
    reader = _Reader(main)
    for statement in main.liveness.statements:
        if not isinstance(statement.stmt, tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind):
            reader.read(statement)
        elif not reader.declare(statement, statement.stmt):
            return None
    pieces = enumerate(main.liveness.pieces)
    memory = [p for number, p in pieces if number in reader.numbers or p.stmt is not None]
    return None if any(piece.escapes for piece in memory) else reader.found


class _Reader:
    """Reads one statement after the other."""

    def __init__(self, main: FunctionFacts) -> None:
        self.main = main
        self.numbers = {
            number: number for number, param in enumerate(main.func.params) if _may_be_memory(param)
        }
        """Piece of memory of the liveness -> number of a piece of memory that main knows."""
        self.kept: dict[tirx.AllocBuffer, int] = {}
        """Of memory that callees keep from one call to the next."""
        self.sizes: dict[int, int] = {}
        """Bytes of pieces of memory."""
        self.views = Views()
        self.declared: set[tirx.Var] = set()
        self.found = MainStatements([], [], [None for _ in main.func.params])

    def declare(
        self,
        statement: StatementLiveness,
        stmt: tirx.AllocBuffer | tirx.DeclBuffer | tirx.Bind,
    ) -> bool:
        """Note a declaration; False if it does more, or declares again."""
        var = stmt.var if isinstance(stmt, tirx.Bind) else stmt.buffer
        if var in self.declared or self.main.effect_of_main_statement(stmt):
            return False
        if any(piece in self.numbers for piece in statement.spans):
            return False
        self.declared.add(var)
        self.found.declarations.append(stmt)
        if isinstance(stmt, tirx.AllocBuffer):
            (piece,) = statement.pieces
            self.numbers[piece] = len(self.found.pieces)
            if has_static_size(stmt.buffer):
                self.sizes[len(self.found.pieces)] = size_bytes(stmt.buffer)
            self.found.pieces.append(stmt)
        else:
            self.views.declare(var, stmt.value if isinstance(stmt, tirx.Bind) else stmt.data)
        return True

    def read(self, statement: StatementLiveness) -> None:
        """Note what a statement does."""
        spans = {
            self.numbers[piece]: (first - statement.start, stop - statement.start)
            for piece, (first, stop) in statement.spans.items()
            if piece in self.numbers
        }
        call = self._call_of(statement.stmt)
        arguments = [] if call is None else self._arguments(call, statement)
        accesses = [
            access
            for piece, use in sorted(
                (self.numbers[piece], use)
                for piece, use in statement.accesses.items()
                if piece in self.numbers
            )
            for access in self._accesses(piece, use, call, arguments)
        ]
        self.found.statements.append(
            MainStatement(
                statement.stmt,
                dict(sorted(spans.items())),
                accesses + self._kept_by_callees(statement),
                self._scratch(statement),
                None if call is None else call.callee,
                arguments,
                self.main.effect_of_main_statement(statement.stmt),
            )
        )

    def _call_of(self, stmt: tirx.Stmt) -> PrimFuncCall | None:
        """The call of a PrimFunc, if the statement is nothing else."""
        if not (isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, Call)):
            return None
        call = self.main.calls.resolve(stmt.value)
        if call is None or self.main.liveness.has_loaded_layouts:
            return None
        is_plain = not any(address_of(argument).computed for argument in call.arguments)
        return call if is_plain else None

    def _arguments(self, call: PrimFuncCall, statement: StatementLiveness) -> list[Argument]:
        """Where arguments point to; all of those that point to a piece of memory, or none."""
        arguments: list[Argument] = []
        unknown: set[int] = set()
        params = self.main.callees[call.callee].func.params
        (pointed,) = statement.arguments
        for index, expr in enumerate(call.arguments):
            pieces = [self.numbers[piece] for piece in pointed[index] if piece in self.numbers]
            place = self.views.place_of(expr)
            if len(pieces) != 1 or place is None or index >= len(params):
                unknown.update(pieces)
            else:
                arguments.append(Argument(index, params[index], pieces[0], place.byte_offset))
        return [argument for argument in arguments if argument.piece not in unknown]

    def _accesses(
        self, piece: int, use: Access, call: PrimFuncCall | None, arguments: list[Argument]
    ) -> list[PieceAccess]:
        """What a statement accesses of a piece of memory; all of it unless arguments tell."""
        passed = [argument for argument in arguments if argument.piece == piece]
        if call is None or not passed:
            return [PieceAccess(piece, use.may_write)]
        callee = self.main.callees[call.callee]
        accesses = []
        for argument in passed:
            access = callee.liveness.parameter_use[argument.index].access
            if access:
                used_bytes = callee.used_bytes(argument.index)
                start = argument.byte_offset
                stop = None if used_bytes is None else start + used_bytes
                if start == 0 and stop == self.sizes.get(piece):
                    stop = None
                accesses.append(PieceAccess(piece, access.may_write, start, stop))
        return accesses

    def _kept_by_callees(self, statement: StatementLiveness) -> list[PieceAccess]:
        """Accesses to memory that lives throughout, in what the statement calls."""
        accesses = []
        for stmt in statement.allocations:
            if STATE_TENSOR_ATTR in stmt.annotations or LIVE_THROUGHOUT_ATTR in stmt.annotations:
                if stmt not in self.kept:
                    self.kept[stmt] = len(self.found.pieces)
                    self.found.pieces.append(stmt)
                accesses.append(PieceAccess(self.kept[stmt], may_write=True))
        return accesses

    def _scratch(self, statement: StatementLiveness) -> list[tuple[tirx.AllocBuffer, Span]]:
        """Allocations in the statement, and in what it calls."""
        spans = [(stmt, s) for stmt, found in statement.allocations.items() for s in found]
        for piece in statement.pieces:
            stmt = self.main.liveness.pieces[piece].stmt
            if stmt is not None and piece in statement.spans:
                spans.append((stmt, statement.spans[piece]))
        return [
            (stmt, (first - statement.start, stop - statement.start))
            for stmt, (first, stop) in spans
            if stmt not in self.main.liveness.unplannable
        ]


def _may_be_memory(param: tirx.Var) -> bool:
    """Not a number."""
    return not isinstance(param.ty, PrimType) or "handle" in str(param.ty)
