"""The bytes that one PrimFunc needs by itself, before planning."""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx

from usmp.analysis.buffer_extraction import is_plannable
from usmp.analysis.memory.buffer_size import size_bytes
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR


def calculate_workspace_bytes(func: tirx.PrimFunc, workspace_byte_alignment: int) -> int:
    """Return the most bytes of the allocations of `func` that are in scope at once.

    An allocation is in scope from its statement to the end of the body around it, used or not.
    Each size is rounded up to the alignment. Callees, constants, dynamic sizes, and scopes other
    than global memory are left out. This is TVM's `tir.analysis.calculate_workspace_bytes`.

    Parameters
    ----------
    func
        a PrimFunc in flat TIR.
    workspace_byte_alignment
        alignment of each allocation in bytes, at least 1.

    Raises
    ------
    ValueError
        the alignment is less than 1.
    """
    return _walked(func, workspace_byte_alignment, "workspace_byte_alignment").peak


def calculate_constant_bytes(func: tirx.PrimFunc, constant_byte_alignment: int) -> int:
    """Return the bytes of all constants of `func`, each rounded up to the alignment.

    This is TVM's `tir.analysis.calculate_constant_bytes`.

    Parameters
    ----------
    func
        a PrimFunc in flat TIR.
    constant_byte_alignment
        alignment of each constant in bytes, at least 1.

    Raises
    ------
    ValueError
        the alignment is less than 1.
    """
    return _walked(func, constant_byte_alignment, "constant_byte_alignment").constants


@dataclass
class _Scopes:
    """A walk over nested bodies that adds up the bytes in scope and the bytes of constants."""

    alignment: int
    peak: int = 0
    constants: int = 0

    def body(self, stmt: tirx.Stmt | None, outside: int) -> None:
        """Visit a body with `outside` bytes in scope around it."""
        in_scope = outside
        for child in tirx.stmt_list(stmt) if stmt is not None else []:
            if isinstance(child, tirx.AllocBuffer):
                in_scope += self._size(child)
                self.peak = max(self.peak, in_scope)
            elif isinstance(child, tirx.IfThenElse):
                self.body(child.then_case, in_scope)
                self.body(child.else_case, in_scope)
            else:
                self.body(getattr(child, "body", None), in_scope)

    def _size(self, stmt: tirx.AllocBuffer) -> int:
        """Return the workspace bytes of an allocation; constants are added to `constants`."""
        if not is_plannable(stmt):
            return 0
        rounded = -(-size_bytes(stmt.buffer) // self.alignment) * self.alignment
        if CONSTANT_DATA_ATTR.is_on(stmt):
            self.constants += rounded
            return 0
        return rounded


def _walked(func: tirx.PrimFunc, alignment: int, option: str) -> _Scopes:
    if alignment < 1:
        raise ValueError(f"{option} must be at least 1 byte, but is {alignment}")
    scopes = _Scopes(alignment)
    scopes.body(func.body, 0)
    return scopes
