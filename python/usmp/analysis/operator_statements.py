"""The statements of a main function that run operators."""

from __future__ import annotations

from tvm import tirx
from tvm.ir import Call

from usmp.analysis.memory.calls import CallResolver, possible_calls


def operator_statements(main: tirx.PrimFunc, calls: CallResolver) -> dict[int, list[Call]]:
    """Return the calls of PrimFuncs in the top-level statements of a main function.

    Parameters
    ----------
    main
        the AoT main PrimFunc of an entry.
    calls
        resolver of the callees.

    Returns
    -------
    dict[int, list[Call]]
        The calls in order, by index of the statement in the body. A branch or a loop may have
        several; statements without calls are left out.
    """
    operators = {}
    for index, statement in enumerate(tirx.stmt_list(main.body)):
        possible = possible_calls(statement)
        called = [p.call for p in possible if calls.resolve_possible(p) is not None]
        if called:
            operators[index] = called
    return operators
