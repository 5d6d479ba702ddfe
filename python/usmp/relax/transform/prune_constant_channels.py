"""PruneConstantChannels: channels that are constant, or that nothing reads, are not computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import tvm
from tvm import relax
from tvm.ir import Call, IRModule
from tvm.relax.expr_functor import PyExprMutator, mutator

from usmp.objects.attributes import PRUNED_CHANNELS_ATTR
from usmp.ops.emit import RECORD_ATTRIBUTES
from usmp.passes import ModulePass
from usmp.relax.replace_main import rewrite_main, without_callees
from usmp.relax.static_shapes import main_function
from usmp.relax.transform.channels.channel_operators import ChannelOperators, channel_operators_of
from usmp.relax.transform.channels.needed import kept_channels, kept_of
from usmp.relax.transform.channels.weight_costs import WeightCosts, weight_costs
from usmp.tir.spans import keeps_span

OPTION = "tir.usmp.prune_constant_channels"


@tvm.transform.module_pass(opt_level=0, name="usmp.PruneConstantChannels")
class PruneConstantChannels(ModulePass):
    """Remove channels of integer tensors in `main` that are constant, or that nothing reads.

    Which integers a channel can hold follows from weights, biases, limits and the type of the
    inputs. The share that a constant channel has in a convolution or matrix product becomes part of
    its biases; a convolution that reaches beside the data, where a channel counts as its zero
    point, reads on a channel that has another value. Operators between go by the channels that are
    left, and outputs of the model keep theirs. Each result is the same, to the bit.

    The attribute `pruned_channels` of the module says what was removed. With
    `tir.usmp.prune_constant_channels` 0 the module stays as it is.

    Raises
    ------
    UnsupportedModelError
        no Relax function `main`.
    """

    reads = RECORD_ATTRIBUTES
    writes = (*RECORD_ATTRIBUTES, PRUNED_CHANNELS_ATTR)

    def transform_module(self, mod: IRModule, context: tvm.transform.PassContext) -> IRModule:
        """Rewrite `main`."""
        return _pruned(mod) if context.config.get(OPTION, True) else mod


@dataclass(frozen=True)
class _Changes:
    """What is to be removed.

    Parameters
    ----------
    found
        what the operators do with channels.
    kept
        variable -> the channels that stay.
    """

    found: ChannelOperators
    kept: Mapping[tvm.ir.Var, np.ndarray]

    def is_whole(self, var: tvm.ir.Var) -> bool:
        """Whether a tensor keeps all channels."""
        return len(self.kept[var]) == self.found.operators[var].output.count

    def can_rebuild(self, var: tvm.ir.Var) -> bool:
        """Return whether an operator can be made without the channels that are removed."""
        operator = self.found.operators[var]
        return operator.can_rebuild(kept_of(operator, var, self.kept))

    def changed(self) -> list[tvm.ir.Var]:
        """The results of operators that read or write fewer channels."""
        return [
            var
            for var, operator in self.found.operators.items()
            if not self.is_whole(var)
            or any(o in self.kept and not self.is_whole(o) for o in operator.operands)
        ]


def _pruned(mod: IRModule) -> IRModule:
    main = main_function(mod)
    refused: set[tvm.ir.Var] = set()
    while True:
        found = channel_operators_of(mod, main, refused)
        changes = _Changes(found, kept_channels(found) if found.operators else {})
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
    said = _said(weight_costs(mod), weight_costs(pruned))
    return PRUNED_CHANNELS_ATTR.put(pruned, said)


def _said(before: WeightCosts, after: WeightCosts) -> dict[str, int]:
    """What the attribute says."""
    return {
        "channels": before.channels - after.channels,
        "weights_size_bytes_before": before.weight_bytes,
        "weights_size_bytes": after.weight_bytes,
        "macs_before": before.macs,
        "macs": after.macs,
    }


@mutator
class _Rewriter(PyExprMutator):  # type: ignore[misc]
    """Makes each operator anew that reads or writes fewer channels."""

    def __init__(self, mod: IRModule, changes: _Changes, changed: list[tvm.ir.Var]) -> None:
        super().__init__(mod)
        self.changes = changes
        self.changed = set(changed)

    @keeps_span
    def visit_call_(self, call: Call) -> relax.Expr:
        """The operator without the channels that are removed."""
        found, kept = self.changes.found, self.changes.kept
        var = found.calls.get(call)
        if var is None or var not in self.changed:
            return self.visit_expr_post_order(call)
        operator = found.operators[var]
        operands = [self.visit_expr(operand) for operand in operator.operands]
        return operator.rebuild(self.builder_, operands, kept_of(operator, var, kept))
