"""Which statements of a main function run operators?"""

from __future__ import annotations

from tvm import tirx
from tvm.ir import Call

from usmp.analysis.memory.calls import CallResolver, possible_calls


def operator_statements(main: tirx.PrimFunc, calls: CallResolver) -> dict[int, list[Call]]:
    """The top-level statements of a main function that call PrimFuncs.

    Parameters
    ----------
    main
        the AoT main PrimFunc of an entry.
    calls
        knows which PrimFuncs are called.

    Returns
    -------
    dict[int, list[Call]]
        Index of the statement in the body -> the calls of PrimFuncs in it, in order. Most are one
        call; a branch or a loop may have several.
    """
    found = {}
    for index, statement in enumerate(tirx.stmt_list(main.body)):
        possible = possible_calls(statement)
        called = [p.call for p in possible if calls.resolve_possible(p) is not None]
        if called:
            found[index] = called
    return found
