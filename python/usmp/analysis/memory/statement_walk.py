"""A walk over the statements of a PrimFunc in flat TIR, one method a kind of statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tvm import tirx


class StatementWalk:
    """What walks have in common.

    Parameters
    ----------
    name: of the PrimFunc, for messages.
    """

    _STATEMENTS: ClassVar[dict[type, Callable[..., None]]]
    """The method for each kind of statement that flat TIR has."""

    def __init__(self, name: str) -> None:
        self.name = name

    def statement(self, stmt: tirx.Stmt) -> None:
        """Walk a statement.

        Raises
        ------
        ValueError: it is not flat TIR.
        """
        visit = self._STATEMENTS.get(type(stmt))
        if visit is None:
            raise ValueError(
                f"{self.name}: {type(stmt).__name__} found; "
                "lower the PrimFunc to flat TIR (usmp.transform.LowerToFlatTIR) before planning"
            )
        visit(self, stmt)

    def sequence(self, stmt: tirx.SeqStmt) -> None:
        """Walk statements that follow each other."""
        for child in stmt.seq[:]:
            self.statement(child)
