"""How many bytes does a call need, depending on what is live before and after it?"""

from __future__ import annotations

from collections.abc import Sequence

from usmp.planning.operator_order.graph import GraphCall, OperatorGraph

BEFORE, AFTER = 2, 1
"""Whether a tensor is live before and after a call; flags add up."""

_MOST_PAIRINGS = 1000
"""Sets of tensors that share with others; there are as many as subsets of what dies."""


def bytes_needed(
    graph: OperatorGraph, call: GraphCall, liveness: Sequence[int], shares: bool
) -> int:
    """The most bytes of the tensors that the call uses that are live at one moment.

    Parameters
    ----------
    graph
        has the tensors.
    call
        one of its calls.
    liveness
        of each of `call.uses`, the flags.
    shares
        whether tensors that die may share bytes with those that become live, by `reuse_bytes`.
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


def _live_at(call: GraphCall, moment: int, liveness: Sequence[int]) -> list[int]:
    """Which of `call.uses` are live at the moment."""
    return [
        index
        for index, (use, live) in enumerate(zip(call.uses, liveness, strict=True))
        if (live & BEFORE or use.first <= moment) and (live & AFTER or moment <= use.last)
    ]


def _most_shared(call: GraphCall, dying: Sequence[int], born: Sequence[int]) -> int:
    """The most bytes that can be shared if each tensor shares with one other at most; or more, if
    there are too many ways to pair them."""
    rows = [
        (1 << x, [(1 << y, saved) for y in dying if (saved := call.reuse_bytes.get((y, x), 0))])
        for x in born
    ]
    columns = sum(1 << y for y in dying)
    most_by_taken = {0: 0}
    for x, reuse_bytes in rows:
        for taken, shared in list(most_by_taken.items()):
            for y, saved in reuse_bytes:
                if not taken & (x | y):
                    after = taken | y | x & columns
                    most_by_taken[after] = max(most_by_taken.get(after, 0), shared + saved)
        if len(most_by_taken) > _MOST_PAIRINGS:
            return sum(
                max((saved for _, saved in reuse_bytes), default=0) for _, reuse_bytes in rows
            )
    return max(most_by_taken.values())
