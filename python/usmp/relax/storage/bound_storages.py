"""A check that the storages of a Relax function are bound before tensors use them.

TVM's `StaticPlanBlockMemory` (0.27) reuses a storage that one branch binds in the other branch, and
after both. The virtual machine crashes if the first branch was not taken.
"""

from __future__ import annotations

from tvm import relax

from usmp.tir.nodes import bindings_of
from usmp.tir.op_names import op_name

_TENSOR = "relax.memory.alloc_tensor"


def storages_are_bound(function: relax.Function) -> bool:
    """Return whether each storage is bound before its tensors, in their sequence or an enclosing
    one."""
    return _are_bound(function.body, frozenset())


def _are_bound(body: relax.SeqExpr, before: frozenset[relax.Var]) -> bool:
    bound = set(before)
    for binding in bindings_of(body):
        value = binding.value
        if isinstance(value, relax.If):
            branches = (value.true_branch, value.false_branch)
            if not all(_are_bound(branch, frozenset(bound)) for branch in branches):
                return False
        elif _is_allocation(value) and value.args[0] not in bound:
            return False
        bound.add(binding.var)
    return True


def _is_allocation(value: relax.Expr) -> bool:
    return op_name(value) == _TENSOR
