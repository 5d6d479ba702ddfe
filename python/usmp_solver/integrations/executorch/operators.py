"""Which operators may write their output in the place of an input that dies there.

Two things have to hold. What an operator means must allow it: then no element of the output needs
an element of the input that another element has overwritten. And its kernel must not read an
element again that it has overwritten, which nothing declares: it is tested for the kernels of
ExecuTorch's portable runtime, each operator by itself (`benchmarks/executorch_memory.py`).

Element-wise operators are those that PyTorch says are, with the tag `torch.Tag.pointwise`:
"operators where each element of the output is computed only by accessing the corresponding element
of all the broadcasted inputs" (``aten/src/ATen/native/tags.yaml``). The overload that writes to an
output that it is given often lacks the tag, so the functional overload with the same arguments
counts too.
"""

from __future__ import annotations

from typing import Any

import torch

_NAMESPACES = ("aten", "dim_order_ops")
"""Of operators whose kernels were tested; those of others may do anything."""

_UNTAGGED = {
    # A copy, where it expands nothing: input and output have one shape where this is asked.
    "aten::expand_copy.out",
    # The quotient of two elements, rounded down.
    "aten::floor_divide.out",
    # What becomes of `clone`, which is tagged, and of `_to_copy`. Input and output have one type
    # and one order of dimensions where this is asked.
    "dim_order_ops::_clone_dim_order.out",
    "dim_order_ops::_to_dim_order_copy.out",
}

_NORMALIZATIONS = {
    # With mean and variance that are given, an element of the output is that of the input, scaled.
    "aten::_native_batch_norm_legit_no_training.out",
    # These read all of a row before they write any of it, and then each element once more just
    # before it is overwritten.
    "aten::_log_softmax.out",
    "aten::_softmax.out",
    "aten::native_group_norm.out",
    "aten::native_layer_norm.out",
}
"""Operators whose first output has the form of their first input."""


def runs_in_place(operator: Any) -> bool:
    """Whether the operator may write its first output in the place of an input of the same form.

    Parameters
    ----------
    operator
        `torch._ops.OpOverload`, of the kind that writes to outputs that it is given.
    """
    return str(operator.name()) in _NORMALIZATIONS or is_element_wise(operator)


def is_element_wise(operator: Any) -> bool:
    """Whether each element of the only output is computed from the same element of the inputs.

    Parameters
    ----------
    operator
        `torch._ops.OpOverload`, of the kind that writes to outputs that it is given. Operators of
        other namespaces than those of PyTorch and of ExecuTorch are not known.
    """
    if operator.namespace not in _NAMESPACES or len(output_names(operator)) != 1:
        return False
    return str(operator.name()) in _UNTAGGED or any(
        torch.Tag.pointwise in overload.tags for overload in _same_computation(operator)
    )


def output_names(operator: Any) -> list[str]:
    """The names of the arguments that are outputs."""
    return [argument.name for argument in operator._schema.arguments if argument.is_out]


def _same_computation(operator: Any) -> list[Any]:
    """The overload, and the functional one that has the same arguments."""
    packet = operator.overloadpacket
    overloads = [getattr(packet, name) for name in packet.overloads()]
    inputs = _inputs(operator)
    return [operator, *(each for each in overloads if _inputs(each) == inputs)]


def _inputs(operator: Any) -> list[tuple[str, str]]:
    """Names and types of the arguments that are no outputs."""
    return [
        (argument.name, str(argument.type))
        for argument in operator._schema.arguments
        if not argument.is_out
    ]
