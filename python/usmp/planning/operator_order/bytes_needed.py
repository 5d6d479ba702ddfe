"""The bytes that a call needs, depending on the tensors that are live before and after it."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.planning.operator_order.graph import GraphCall, OperatorGraph

BEFORE, AFTER = 2, 1
"""Flags of a tensor that is live before a call, and of one that is live after it."""

_MOST_PAIRINGS = 1000
"""Most sets of paired tensors to try; there can be as many as subsets of the dying tensors."""


def bytes_needed(
    graph: OperatorGraph, call: GraphCall, liveness: Sequence[int], shares: bool
) -> int:
    """Return the most bytes that are live at one moment of a call, of the tensors that it uses.

    Parameters
    ----------
    graph
        the graph with the tensors.
    call
        one of its calls.
    liveness
        flags of each of `call.uses`.
    shares
        whether tensors that die may share bytes with those that become live, see `GraphCall`.
    """
    # Test only moments at which a tensor becomes live, because the sum grows only there.
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
    """Return the indices of the `call.uses` that are live at the moment."""
    return [
        index
        for index, (use, live) in enumerate(zip(call.uses, liveness, strict=True))
        if (live & BEFORE or use.first <= moment) and (live & AFTER or moment <= use.last)
    ]


def _most_shared(call: GraphCall, dying: Sequence[int], born: Sequence[int]) -> int:
    """Return the most bytes that pairs of tensors can share, each tensor in one pair; or an upper
    bound, if there are too many ways to pair them."""
    rows = [
        (1 << x, [(1 << y, saved) for y in dying if (saved := call.reuse_bytes.get((y, x), 0))])
        for x in born
    ]
    columns = sum(1 << y for y in dying)
    most_by_paired = {0: 0}
    for x, reuse_bytes in rows:
        for paired, shared in list(most_by_paired.items()):
            for y, saved in reuse_bytes:
                if not paired & (x | y):
                    after = paired | y | x & columns
                    most_by_paired[after] = max(most_by_paired.get(after, 0), shared + saved)
        if len(most_by_paired) > _MOST_PAIRINGS:
            return sum(
                max((saved for _, saved in reuse_bytes), default=0) for _, reuse_bytes in rows
            )
    return max(most_by_paired.values())
