"""Statements that the C code generator outlines into functions.

A C compiler keeps the variables of all loops of a function in registers. An inner loop that needs
all registers would spill and reload the variables of outer loops, unless it is in another function.
"""

from __future__ import annotations

from tvm import tirx
from tvm.ir import StringImm

OWN_FUNCTION_ATTR = "usmp.own_function"


def own_function(name: str, body: tirx.Stmt) -> tirx.AttrStmt:
    """Mark `body` to be outlined into a C function that is never inlined.

    Parameters
    ----------
    name
        suffix of the function's name.
    body
        statements that may use outer variables and buffers, but do not jump outside.
    """
    return tirx.AttrStmt(StringImm(name), OWN_FUNCTION_ATTR, tirx.IntImm("int32", 1), body)


def own_function_name(stmt: tirx.AttrStmt) -> str | None:
    """Return the suffix of the function's name; None for other statements."""
    return (
        str(getattr(stmt.node, "value", stmt.node))
        if str(stmt.attr_key) == OWN_FUNCTION_ATTR
        else None
    )
