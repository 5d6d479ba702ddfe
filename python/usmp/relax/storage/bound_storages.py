"""Are the storages of a Relax function bound where its tensors are allocated in them?

TVM's `StaticPlanBlockMemory` (0.27) gives the storage of a tensor in a branch to tensors of the
other branch, and to those after both. The virtual machine crashes where the first branch was not
taken.
"""

from __future__ import annotations

from tvm import relax
from tvm.ir import Call

from usmp.analysis.read_function import bindings_of

_TENSOR = "relax.memory.alloc_tensor"


def storages_are_bound(function: relax.Function) -> bool:
    """Whether the variable of the storage of each tensor is bound before it, in its sequence or in
    one around it."""
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
    return isinstance(value, Call) and getattr(value.op, "name", "") == _TENSOR
