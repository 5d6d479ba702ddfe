"""Operators of a function with known channel relations."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

import tvm
from tvm import relax, tirx
from tvm.ir import Call, IRModule

from usmp.ops.records import operator_of
from usmp.ops.records.products import WeightedOp
from usmp.relax.transform.channels.by_channel import by_channel
from usmp.relax.transform.channels.channel_operator import (
    ChannelOperator,
    Known,
    RecordedCall,
    is_integer,
    is_static,
)
from usmp.relax.transform.channels.channel_ranges import ChannelRanges
from usmp.relax.transform.channels.movement import MOVEMENTS
from usmp.relax.transform.channels.weighted import weighted
from usmp.tir.nodes import nodes_of
from usmp.tir.op_names import op_name


@dataclass
class ChannelOperators:
    """The operators of a function with known channel relations.

    Parameters
    ----------
    operators
        variable -> the operator that computes it, in order.
    calls
        call of an operator -> its variable.
    whole
        variables that need all their channels.
    """

    operators: dict[tvm.ir.Var, ChannelOperator] = field(default_factory=dict)
    calls: dict[Call, tvm.ir.Var] = field(default_factory=dict)
    whole: set[tvm.ir.Var] = field(default_factory=set)


def channel_operators_of(
    mod: IRModule, function: relax.Function, refused: Collection[tvm.ir.Var] = ()
) -> ChannelOperators:
    """Collect the operators of a function with known channel relations.

    Parameters
    ----------
    refused
        results of operators that must stay as they are.
    """
    collected = ChannelOperators()
    known: dict[tvm.ir.Var, ChannelRanges] = {}
    for block in function.body.blocks:
        for binding in block.bindings:
            operator = None
            if isinstance(binding, relax.VarBinding) and binding.var not in refused:
                operator = _channel_operator(mod, known, binding.value)
            if operator is None:
                collected.whole.update(nodes_of(binding.value, tvm.ir.Var))
                continue
            known[binding.var] = operator.output
            collected.operators[binding.var] = operator
            collected.calls[binding.value] = binding.var
    collected.whole.update(nodes_of(function.body.body, tvm.ir.Var))
    return collected


def _channel_operator(mod: IRModule, known: Known, value: relax.Expr) -> ChannelOperator | None:
    """Return an operator with its channel relations, or None if they are not known."""
    name = op_name(value)
    if not isinstance(value, Call) or not is_static(value) or not is_integer(value):
        return None
    if name in MOVEMENTS:
        return MOVEMENTS[name](known, value)
    if name != "relax.call_tir" or len(value.args) != 2:
        return None
    func = mod.functions.get(value.args[0])
    record = operator_of(func) if isinstance(func, tirx.PrimFunc) else None
    if record is None:
        return None
    recorded = RecordedCall(value, record, func)
    if not all(is_static(argument) for argument in recorded.arguments):
        return None
    return channel_operator(known, recorded)


def channel_operator(known: Known, recorded: RecordedCall) -> ChannelOperator | None:
    """Return the channel relations of a call of a PrimFunc with a record, or None if they are not
    known."""
    maker = weighted if isinstance(recorded.record, WeightedOp) else by_channel
    return maker(known, recorded)
