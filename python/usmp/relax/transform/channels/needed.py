"""The channels that a function needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import tvm

from usmp.relax.transform.channels.channel_operator import ChannelOperator, Kept, Read, Tied
from usmp.relax.transform.channels.channel_operators import ChannelOperators


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups of channels that stay or go together.

    Parameters
    ----------
    of
        variable -> the group of each channel: (channels) of int64.
    count
        number of groups.
    """

    of: Mapping[tvm.ir.Var, np.ndarray]
    count: int


def kept_channels(found: ChannelOperators) -> dict[tvm.ir.Var, np.ndarray]:
    """Return the channels that have to stay, for each tensor with known channels.

    A group of channels stays if one of its tensors must stay whole, or if an operator needs one of
    its channels for a channel that stays. At least one channel of each tensor stays.

    Returns
    -------
    dict[tvm.ir.Var, np.ndarray]
        variable -> (channels) of int64, ascending.
    """
    groups = _grouped(found.operators)
    is_needed = np.zeros(groups.count, bool)
    for var, operator in found.operators.items():
        if var in found.whole:
            is_needed[groups.of[var]] = True
        if operator.fixed is not None:
            is_needed[groups.of[var][operator.fixed]] = True
        for operand, relation in zip(operator.operands, operator.relations, strict=True):
            if relation is None and operand in groups.of:
                is_needed[groups.of[operand]] = True
    _spread(found.operators, groups, is_needed)
    for var in reversed(found.operators):
        if not is_needed[groups.of[var]].any():
            is_needed[groups.of[var][0]] = True
            _spread(found.operators, groups, is_needed)
    return {var: np.flatnonzero(is_needed[group]) for var, group in groups.of.items()}


def kept_of(
    operator: ChannelOperator, var: tvm.ir.Var, kept: Mapping[tvm.ir.Var, np.ndarray]
) -> Kept:
    """Return the kept channels of an operator's operands and output."""
    operands = tuple(
        None if relation is None else kept[operand]
        for operand, relation in zip(operator.operands, operator.relations, strict=True)
    )
    return Kept(operands, kept[var])


def _grouped(operators: Mapping[tvm.ir.Var, ChannelOperator]) -> _Groups:
    counts = [operator.output.count for operator in operators.values()]
    starts = dict(zip(operators, np.cumsum([0, *counts]), strict=False))
    parents = np.arange(sum(counts))

    def root(node: int) -> int:
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    for var, operator in operators.items():
        for operand, relation in zip(operator.operands, operator.relations, strict=True):
            if isinstance(relation, Tied):
                pairs = zip(relation.operand, relation.output, strict=True)
                for source, target in pairs:
                    parents[root(starts[operand] + source)] = root(starts[var] + target)
    roots = np.array([root(node) for node in range(len(parents))], np.int64)
    of = {
        var: roots[starts[var] : starts[var] + operator.output.count]
        for var, operator in operators.items()
    }
    return _Groups(of, len(parents))


def _spread(
    operators: Mapping[tvm.ir.Var, ChannelOperator], groups: _Groups, is_needed: np.ndarray
) -> None:
    """Mark the channels that needed channels are computed from, until nothing changes."""
    while True:
        before = is_needed.sum()
        for var, operator in reversed(list(operators.items())):
            for operand, relation in zip(operator.operands, operator.relations, strict=True):
                if isinstance(relation, Read):
                    read = relation.needs[is_needed[groups.of[var]]].any(axis=0)
                    is_needed[groups.of[operand][read]] = True
        if is_needed.sum() == before:
            return
