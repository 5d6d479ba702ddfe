"""The choice of chains for strips, by dynamic programming over the order of operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from usmp.relax.transform.strips.strip_chain import StripChain, StripMain, strip_chain
from usmp.relax.transform.strips.strip_costs import ChainBytes, ChainCosts, operator_bytes

_MOST_OPERATORS = 16
"""Most operators of a chain."""

_MOST_STRIPS = 6

_MOST_WORK = 200_000
"""Most operators to examine, over all strips of all chains."""

_SHARES = (1.0, 0.5, 0.25)
"""Shares of the allowed extra multiply-accumulates; each share gives a choice to plan."""


@dataclass(frozen=True)
class _Way:
    """A way to compute an interval of operators.

    Parameters
    ----------
    chain
        the chain, of one strip if it is not split; None for a single operator that has to run
        whole.
    """

    chain: StripChain | None
    taken: ChainBytes
    extra_macs: int


_Estimate: TypeAlias = Callable[[ChainBytes], int]
_Ways: TypeAlias = Mapping[tuple[int, int], Sequence[_Way]]


def strip_choices(main: StripMain, extra_macs: int) -> list[list[StripChain]]:
    """Return choices of disjoint chains that may take less memory in strips. Choices with more
    extra multiply-accumulates allowed (`_SHARES`) come first.

    Parameters
    ----------
    extra_macs
        largest number of extra multiply-accumulates of a choice.
    """
    ways = _ways(main, extra_macs)
    estimates: tuple[_Estimate, ...] = (lambda b: b.by_columns, lambda b: b.by_rows)
    choices: list[tuple[int, list[StripChain]]] = []
    # Choices that do not lower the estimate of no strips are hardly worth a plan.
    unsplit = [_min_max(len(main.operators), ways, estimate, 0)[0] for estimate in estimates]
    for share in _SHARES:
        for estimate, as_it_is in zip(estimates, unsplit, strict=True):
            least, chosen = _min_max(len(main.operators), ways, estimate, int(extra_macs * share))
            chains = [chain for chain in chosen if len(chain.strips) > 1]
            known = [[_key(chain) for chain in chains] for _, chains in choices]
            if least < as_it_is and [_key(chain) for chain in chains] not in known:
                choices.append((least, chains))
    return [chains for _, chains in choices]


def _key(chain: StripChain) -> tuple[int, int, int]:
    return chain.start, chain.stop, len(chain.strips)


def _ways(main: StripMain, extra_macs: int) -> _Ways:
    """Return a map from (start, stop) of an interval of operators to the ways to compute it."""
    count, work = len(main.operators), 0
    ways: dict[tuple[int, int], list[_Way]] = {}
    for length in range(1, _MOST_OPERATORS + 1):
        for start in range(count - length + 1):
            costs = ChainCosts(main, start, start + length)
            for strips in range(1, _MOST_STRIPS + 1):
                work += strips * length
                chain = None
                if length == 1 or work <= _MOST_WORK:
                    chain = strip_chain(main, start, start + length, strips)
                if chain is None or chain.extra_macs > extra_macs:
                    break
                way = _Way(chain, costs.of(chain), chain.extra_macs)
                ways.setdefault((start, start + length), []).append(way)
    for index in range(count):
        # Operators that do not support strips, or that read or write streamed tensors.
        if (index, index + 1) not in ways:
            taken = operator_bytes(main, index)
            ways[index, index + 1] = [_Way(None, ChainBytes(taken, taken), 0)]
    return ways


def _min_max(
    count: int, ways: _Ways, estimate: _Estimate, extra_macs: int
) -> tuple[int, list[StripChain]]:
    """Return the smallest possible maximum over intervals, in bytes, with at most `extra_macs`, and
    among the chains that reach it those with the fewest extra multiply-accumulates."""
    levels = sorted({estimate(way.taken) for some in ways.values() for way in some})
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high) // 2
        if _fewest_macs(count, ways, estimate, levels[middle])[0] <= extra_macs:
            high = middle
        else:
            low = middle + 1
    return levels[low], _fewest_macs(count, ways, estimate, levels[low])[1]


def _fewest_macs(
    count: int, ways: _Ways, estimate: _Estimate, limit: int
) -> tuple[float, list[StripChain]]:
    """Return the fewest extra multiply-accumulates with which no interval takes more than `limit`
    bytes, and the chains with these; infinity and no chains if it is impossible."""
    best: list[tuple[float, int]] = [(0.0, 0)] + [(inf, 0)] * count
    back: list[tuple[int, StripChain | None]] = [(0, None)] * (count + 1)
    for stop in range(1, count + 1):
        for start in range(max(stop - _MOST_OPERATORS, 0), stop):
            for way in ways.get((start, stop), ()):
                if estimate(way.taken) > limit or best[start][0] == inf:
                    continue
                strips = 1 if way.chain is None else len(way.chain.strips)
                total = best[start][0] + way.extra_macs, best[start][1] + strips
                if total < best[stop]:
                    best[stop], back[stop] = total, (start, way.chain)
    if best[count][0] == inf:
        return inf, []
    chosen: list[StripChain] = []
    stop = count
    while stop:
        start, chain = back[stop]
        if chain is not None:
            chosen.append(chain)
        stop = start
    return best[count][0], chosen[::-1]
