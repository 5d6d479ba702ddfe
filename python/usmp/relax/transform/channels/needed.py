"""Which channels of a function's tensors are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import tvm

from usmp.relax.transform.channels.step import Kept, Read, Step, Tied
from usmp.relax.transform.channels.steps import Steps


@dataclass(frozen=True, eq=False)
class _Groups:
    """Channels that are there together or not at all.

    Parameters
    ----------
    of
        variable -> (channels) of int64: the group of each channel.
    count
        how many groups there are.
    """

    of: Mapping[tvm.ir.Var, np.ndarray]
    count: int


def kept_channels(found: Steps) -> dict[tvm.ir.Var, np.ndarray]:
    """The channels that have to stay, of each tensor of which channels are known.

    A channel stays if its group has a channel of a tensor that must be whole, or one that an
    operator needs for a channel that stays. One channel of each tensor stays in any case.

    Returns
    -------
    dict[tvm.ir.Var, np.ndarray]
        variable -> (channels) of int64, ascending.
    """
    groups = _grouped(found.steps)
    is_needed = np.zeros(groups.count, bool)
    for var, step in found.steps.items():
        if var in found.whole:
            is_needed[groups.of[var]] = True
        if step.fixed is not None:
            is_needed[groups.of[var][step.fixed]] = True
        for operand, relation in zip(step.operands, step.relations, strict=True):
            if relation is None and operand in groups.of:
                is_needed[groups.of[operand]] = True
    _spread(found.steps, groups, is_needed)
    for var in reversed(found.steps):
        if not is_needed[groups.of[var]].any():
            is_needed[groups.of[var][0]] = True
            _spread(found.steps, groups, is_needed)
    return {var: np.flatnonzero(is_needed[group]) for var, group in groups.of.items()}


def kept_of(step: Step, var: tvm.ir.Var, kept: Mapping[tvm.ir.Var, np.ndarray]) -> Kept:
    """What stays of a step's operands and output."""
    operands = tuple(
        None if relation is None else kept[operand]
        for operand, relation in zip(step.operands, step.relations, strict=True)
    )
    return Kept(operands, kept[var])


def _grouped(steps: Mapping[tvm.ir.Var, Step]) -> _Groups:
    counts = [step.output.count for step in steps.values()]
    starts = dict(zip(steps, np.cumsum([0, *counts]), strict=False))
    parents = np.arange(sum(counts))

    def root(node: int) -> int:
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    for var, step in steps.items():
        for operand, relation in zip(step.operands, step.relations, strict=True):
            if isinstance(relation, Tied):
                pairs = zip(relation.operand, relation.output, strict=True)
                for source, target in pairs:
                    parents[root(starts[operand] + source)] = root(starts[var] + target)
    roots = np.array([root(node) for node in range(len(parents))], np.int64)
    of = {var: roots[starts[var] : starts[var] + step.output.count] for var, step in steps.items()}
    return _Groups(of, len(parents))


def _spread(steps: Mapping[tvm.ir.Var, Step], groups: _Groups, is_needed: np.ndarray) -> None:
    """Mark what is needed for what is needed, until that is all."""
    while True:
        before = is_needed.sum()
        for var, step in reversed(list(steps.items())):
            for operand, relation in zip(step.operands, step.relations, strict=True):
                if isinstance(relation, Read):
                    read = relation.needs[is_needed[groups.of[var]]].any(axis=0)
                    is_needed[groups.of[operand][read]] = True
        if is_needed.sum() == before:
            return
