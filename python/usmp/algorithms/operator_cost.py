"""How many bytes does a call need, depending on what is live before and after it?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from usmp.objects.operator_graph import OperatorCall, OperatorGraph

BEFORE, AFTER = 2, 1
"""Whether a tensor is live before and after a call; flags add up."""


def bytes_needed(
    graph: OperatorGraph, call: OperatorCall, liveness: Sequence[int], shares: bool
) -> int:
    """The most bytes of the tensors that the call uses that are live at one moment.

    Parameters
    ----------
    graph: has the tensors.
    call: one of its calls.
    liveness: of each of `call.uses`, the flags.
    shares: whether tensors that die may share bytes with those that become live, as `savings` says.
    """
    # Only where a tensor becomes live can the sum grow.
    moments = {0, *(use.first for use in call.uses)}
    live = [_live_at(call, moment, liveness) for moment in sorted(moments)]
    sums = [sum(graph.tensors[call.uses[use].tensor].size_bytes for use in uses) for uses in live]
    if not shares:
        return max(sums)
    most = 0
    for total, uses in sorted(zip(sums, live, strict=True), key=lambda entry: -entry[0]):
        if total <= most:
            break
        dying = [call.uses[use].tensor for use in uses if not liveness[use] & AFTER]
        born = [call.uses[use].tensor for use in uses if not liveness[use] & BEFORE]
        most = max(most, total - _most_shared(call, dying, born))
    return most


def _live_at(call: OperatorCall, moment: int, liveness: Sequence[int]) -> list[int]:
    """Which of `call.uses` are live at the moment."""
    return [
        index
        for index, (use, live) in enumerate(zip(call.uses, liveness, strict=True))
        if (live & BEFORE or use.first <= moment) and (live & AFTER or moment <= use.last)
    ]


def _most_shared(call: OperatorCall, dying: Sequence[int], born: Sequence[int]) -> int:
    """The most bytes that can be shared if each tensor shares with one other at most."""
    rows = [
        (1 << x, [(1 << y, saved) for y in dying if (saved := call.savings.get((y, x), 0))])
        for x in born
    ]

    @cache
    def best(row: int, taken: int) -> int:
        if row == len(rows):
            return 0
        found = best(row + 1, taken)
        x, savings = rows[row]
        for y, saved in savings:
            if not taken & (x | y):
                found = max(found, saved + best(row + 1, taken | x | y))
        return found

    return best(0, 0)
