"""Statements that C has in a function of their own.

A compiler keeps the variables of all loops of a function in its registers as well as it can. An
inner loop that needs all of them then stores and loads those of the outer loops again and again,
unless it is in another function.
"""

from __future__ import annotations

from tvm import tirx
from tvm.ir import StringImm

OWN_FUNCTION_ATTR = "usmp.own_function"


def own_function(name: str, body: tirx.Stmt) -> tirx.AttrStmt:
    """`body`, which C has in a function that is never inlined.

    Parameters
    ----------
    name
        what the function's name ends with.
    body
        may use variables and buffers from outside, but jumps to nowhere outside.
    """
    return tirx.AttrStmt(StringImm(name), OWN_FUNCTION_ATTR, tirx.IntImm("int32", 1), body)


def own_function_name(stmt: tirx.AttrStmt) -> str | None:
    """What the name of the function ends with; None if the statement is another one."""
    return (
        str(getattr(stmt.node, "value", stmt.node))
        if str(stmt.attr_key) == OWN_FUNCTION_ATTR
        else None
    )
