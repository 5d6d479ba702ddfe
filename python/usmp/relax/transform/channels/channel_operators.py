"""The operators of a function of which it is known what they do with channels."""

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


@dataclass
class ChannelOperators:
    """What is known of a function.

    Parameters
    ----------
    operators
        variable -> the operator that it is the result of, in order.
    calls
        call of an operator -> its variable.
    whole
        variables of which all channels are needed.
    """

    operators: dict[tvm.ir.Var, ChannelOperator] = field(default_factory=dict)
    calls: dict[Call, tvm.ir.Var] = field(default_factory=dict)
    whole: set[tvm.ir.Var] = field(default_factory=set)


def channel_operators_of(
    mod: IRModule, function: relax.Function, refused: Collection[tvm.ir.Var] = ()
) -> ChannelOperators:
    """Read a function.

    Parameters
    ----------
    refused
        variables of which the operator stays as it is.
    """
    found = ChannelOperators()
    known: dict[tvm.ir.Var, ChannelRanges] = {}
    for block in function.body.blocks:
        for binding in block.bindings:
            operator = None
            if isinstance(binding, relax.VarBinding) and binding.var not in refused:
                operator = _channel_operator(mod, known, binding.value)
            if operator is None:
                found.whole.update(nodes_of(binding.value, tvm.ir.Var))
                continue
            known[binding.var] = operator.output
            found.operators[binding.var] = operator
            found.calls[binding.value] = binding.var
    found.whole.update(nodes_of(function.body.body, tvm.ir.Var))
    return found


def _channel_operator(mod: IRModule, known: Known, value: relax.Expr) -> ChannelOperator | None:
    """What an operator does with channels; None if that is not known."""
    name = getattr(getattr(value, "op", None), "name", None)
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
    """Return what an operator with a record does with channels; None if that is not known."""
    maker = weighted if isinstance(recorded.record, WeightedOp) else by_channel
    return maker(known, recorded)
