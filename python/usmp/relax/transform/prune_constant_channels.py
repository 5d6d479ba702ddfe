"""PruneConstantChannels: constant channels and channels without readers are removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relax
from tvm.ir import Call, IRModule
from tvm.relax.expr_functor import PyExprMutator, mutator

from usmp.objects.attributes.module_attributes import PRUNED_CHANNELS_ATTR
from usmp.ops.emit import RECORD_ATTRIBUTES
from usmp.passes import ModulePass
from usmp.relax.replace_main import rewrite_main, without_callees
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.channels.channel_operators import ChannelOperators, channel_operators_of
from usmp.relax.transform.channels.needed import kept_channels, kept_of
from usmp.relax.transform.channels.weight_costs import WeightCosts, weight_costs
from usmp.tir.spans import keeps_span


@tvm.transform.module_pass(opt_level=0, name="usmp.PruneConstantChannels")
class PruneConstantChannels(ModulePass):
    """Remove channels of integer tensors in `main` that are constant or have no readers.

    Bounds of the integers in a channel follow from weights, biases, clamps and input types. The
    contribution of a constant channel to a convolution or matrix product is folded into the biases.
    A padded convolution keeps a constant channel that differs from its zero point, because padding
    has the value of the zero point. Operators in between work on the remaining channels. Outputs of
    the model keep all channels. Results are the same, to the bit.

    The attribute `pruned_channels` of the module has the number of removed channels, and the bytes
    of weights and the multiply-accumulates before and after.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    reads = RECORD_ATTRIBUTES
    writes = (*RECORD_ATTRIBUTES, PRUNED_CHANNELS_ATTR)

    def transform_module(self, mod: IRModule, context: tvm.transform.PassContext) -> IRModule:
        """Rewrite `main`."""
        return _pruned(mod)


@dataclass(frozen=True)
class _Changes:
    """The channels to remove.

    Parameters
    ----------
    analysis
        the operators with known channel relations.
    kept
        variable -> indices of the channels that stay.
    """

    analysis: ChannelOperators
    kept: Mapping[tvm.ir.Var, np.ndarray]

    def is_whole(self, var: tvm.ir.Var) -> bool:
        """Return whether a tensor keeps all channels."""
        return len(self.kept[var]) == self.analysis.operators[var].output.count

    def can_rebuild(self, var: tvm.ir.Var) -> bool:
        """Return whether an operator can be rebuilt without the removed channels."""
        operator = self.analysis.operators[var]
        return operator.can_rebuild(kept_of(operator, var, self.kept))

    def changed(self) -> list[tvm.ir.Var]:
        """Return the results of operators that read or write fewer channels."""
        return [
            var
            for var, operator in self.analysis.operators.items()
            if not self.is_whole(var)
            or any(o in self.kept and not self.is_whole(o) for o in operator.operands)
        ]


def _pruned(mod: IRModule) -> IRModule:
    main = main_function(mod)
    refused: set[tvm.ir.Var] = set()
    while True:
        analysis = channel_operators_of(mod, main, refused)
        changes = _Changes(analysis, kept_channels(analysis) if analysis.operators else {})
        changed = changes.changed()
        unknown = {var for var in changed if not changes.can_rebuild(var)}
        if not unknown:
            break
        refused |= unknown
    return _rewritten(mod, main, changes, changed) if changed else mod


def _rewritten(
    mod: IRModule, main: relax.Function, changes: _Changes, changed: list[tvm.ir.Var]
) -> IRModule:
    alone = without_callees(mod, set(changed))
    pruned = rewrite_main(alone, lambda mod: _Rewriter(mod, changes, changed))
    statistics = _statistics(weight_costs(mod), weight_costs(pruned))
    return PRUNED_CHANNELS_ATTR.put(pruned, statistics)


def _statistics(before: WeightCosts, after: WeightCosts) -> dict[str, int]:
    """Return the value of the attribute `pruned_channels`."""
    return {
        "channels": before.channels - after.channels,
        "weights_size_bytes_before": before.weight_bytes,
        "weights_size_bytes": after.weight_bytes,
        "macs_before": before.macs,
        "macs": after.macs,
    }


@mutator
class _Rewriter(PyExprMutator):  # type: ignore[misc]
    """A mutator that rebuilds each operator that reads or writes fewer channels."""

    def __init__(self, mod: IRModule, changes: _Changes, changed: list[tvm.ir.Var]) -> None:
        super().__init__(mod)
        self.changes = changes
        self.changed = set(changed)

    @keeps_span
    def visit_call_(self, call: Call) -> relax.Expr:
        """Rebuild an operator without the removed channels."""
        analysis, kept = self.changes.analysis, self.changes.kept
        var = analysis.calls.get(call)
        if var is None or var not in self.changed:
            return self.visit_expr_post_order(call)
        operator = analysis.operators[var]
        operands = [self.visit_expr(operand) for operand in operator.operands]
        return operator.rebuild(self.builder_, operands, kept_of(operator, var, kept))
