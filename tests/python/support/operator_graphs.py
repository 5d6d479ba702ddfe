"""Small random operator graphs, and what their orders need, found by looking at every moment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations
from random import Random

from usmp.planning.operator_order.graph import GraphCall, GraphTensor, OperatorGraph, TensorUse

_MOMENTS = 4
"""Moments of a drawn call: uses begin and end before it."""


def draw_graph(random: Random, calls: int) -> OperatorGraph:
    """A graph with everything at once: scratch, inputs and outputs that count, tensors that several
    calls write in any order, and tensors that may share bytes."""
    tensors: list[GraphTensor] = []
    uses: list[list[TensorUse]] = [[] for _ in range(calls)]
    after: list[set[int]] = [set() for _ in range(calls)]

    def use(call: int) -> None:
        first = random.randrange(_MOMENTS - 1)
        last = random.randrange(first, _MOMENTS)
        uses[call].append(TensorUse(len(tensors), first, last))

    for call in range(calls):
        for _ in range(random.choice([1, 1, 2])):
            use(call)
            for reader in range(call + 1, calls):
                if random.random() < 1.3 / calls:
                    use(reader)
                    after[reader].add(call)
            tensors.append(
                GraphTensor(random.choice([0, 1, 2, 3, 8, 100]), False, random.random() < 0.1)
            )
    for at_entry in (True, True, False):
        users = [call for call in range(calls) if random.random() < 0.4]
        for call in users:
            use(call)
        if users:
            tensors.append(GraphTensor(random.randint(0, 30), at_entry, random.random() < 0.2))
    return OperatorGraph(
        tuple(tensors),
        tuple(
            GraphCall(tuple(used), tuple(sorted(before)), _draw_savings(random, used, tensors))
            for used, before in zip(uses, after, strict=True)
        ),
    )


def _draw_savings(
    random: Random, uses: Sequence[TensorUse], tensors: Sequence[GraphTensor]
) -> dict[tuple[int, int], int]:
    reuse_bytes = {}
    for y in uses:
        for x in uses:
            if x is not y and random.random() < 0.5:
                most = min(tensors[y.tensor].size_bytes, tensors[x.tensor].size_bytes)
                reuse_bytes[y.tensor, x.tensor] = random.randint(0, most)
    return reuse_bytes


def topological_orders(graph: OperatorGraph) -> Iterator[tuple[int, ...]]:
    """All of them."""
    for order in permutations(range(len(graph.calls))):
        if is_topological(graph, order):
            yield order


def is_topological(graph: OperatorGraph, order: Sequence[int]) -> bool:
    """Whether each call is there once, after those that must come before it."""
    place = {call: index for index, call in enumerate(order)}
    return sorted(order) == list(range(len(graph.calls))) and all(
        place[other] < place[call] for call in order for other in graph.calls[call].after
    )


def peak_bytes(graph: OperatorGraph, order: Sequence[int]) -> int:
    """The most bytes that are live at any moment of any call."""
    begins: dict[int, tuple[int, int]] = {}
    ends: dict[int, tuple[int, int]] = {}
    for index, call in enumerate(order):
        for use in graph.calls[call].uses:
            begins.setdefault(use.tensor, (index, use.first))
            ends[use.tensor] = (index, use.last)
    for number, tensor in enumerate(graph.tensors):
        if tensor.at_entry:
            begins[number] = (-1, 0)
        if tensor.at_exit:
            ends[number] = (len(order), 0)
    peak = 0
    for index, call in enumerate(order):
        for moment in range(_MOMENTS):
            live = {t for t in begins if begins[t] <= (index, moment) <= ends[t]}
            pairs = [
                (y, x, saved)
                for (y, x), saved in graph.calls[call].reuse_bytes.items()
                if {y, x} <= live and ends[y][0] == index == begins[x][0]
            ]
            total = sum(graph.tensors[tensor].size_bytes for tensor in live)
            peak = max(peak, total - _most_saved(pairs))
    return peak


def _most_saved(pairs: list[tuple[int, int, int]]) -> int:
    """By pairs that have no tensor in common."""
    if not pairs:
        return 0
    (y, x, saved), *others = pairs
    apart = [pair for pair in others if not {y, x} & set(pair[:2])]
    return max(_most_saved(others), saved + _most_saved(apart))
