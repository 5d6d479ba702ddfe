"""A walk over the statements of a PrimFunc in flat TIR, one method a kind of statement."""

from __future__ import annotations

from typing import ClassVar

from tvm import tirx


class StatementWalk:
    """What walks have in common. A walk has a method for each kind of statement.

    Parameters
    ----------
    name
        of the PrimFunc, for messages.
    """

    _STATEMENTS: ClassVar[dict[type, str]] = {
        tirx.SeqStmt: "_sequence",
        tirx.AllocBuffer: "_allocate",
        tirx.DeclBuffer: "_declare",
        tirx.Bind: "_bind",
        tirx.BufferStore: "_store",
        tirx.Evaluate: "_evaluate",
        tirx.Return: "_return",
        tirx.Break: "_jump",
        tirx.Continue: "_jump",
        tirx.AssertStmt: "_assert",
        tirx.AttrStmt: "_attribute",
        tirx.IfThenElse: "_branch",
        tirx.For: "_for",
        tirx.While: "_while",
    }
    """The method for each kind of statement that flat TIR has."""

    def __init__(self, name: str) -> None:
        self.name = name

    def statement(self, stmt: tirx.Stmt) -> None:
        """Walk a statement.

        Raises
        ------
        ValueError
            it is not flat TIR.
        """
        method = self._STATEMENTS.get(type(stmt))
        if method is None:
            raise ValueError(
                f"{self.name}: {type(stmt).__name__} found; "
                "lower the PrimFunc to flat TIR (usmp.transform.LowerToFlatTIR) before planning"
            )
        getattr(self, method)(stmt)

    def _sequence(self, stmt: tirx.SeqStmt) -> None:
        """Walk statements that follow each other."""
        for child in stmt.seq[:]:
            self.statement(child)
