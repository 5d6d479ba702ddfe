"""Operators that may write their output over an input that dies there.

Two conditions must hold. By its definition, the operator needs no input element after an output
element has overwritten it. And its kernel must not read an element again that it has overwritten.
No declaration says that, so each operator is tested with the kernels of ExecuTorch's portable
runtime (`benchmarks/executorch_memory.py`).

Element-wise operators have PyTorch's tag `torch.Tag.pointwise`: "operators where each element of
the output is computed only by accessing the corresponding element of all the broadcasted inputs"
(``aten/src/ATen/native/tags.yaml``). The out-variant overload often lacks the tag, so the
functional overload with the same arguments counts too.
"""

from __future__ import annotations

from typing import Any

import torch

_NAMESPACES = ("aten", "dim_order_ops")
"""Namespaces of operators with tested kernels."""

_UNTAGGED = {
    # A copy, if it expands nothing: here input and output have the same shape.
    "aten::expand_copy.out",
    # The quotient of two elements, rounded down.
    "aten::floor_divide.out",
    # The lowered forms of `clone`, which is tagged, and of `_to_copy`. Here input and output have
    # the same dtype and dimension order.
    "dim_order_ops::_clone_dim_order.out",
    "dim_order_ops::_to_dim_order_copy.out",
}

_NORMALIZATIONS = {
    # With given mean and variance, an output element is the scaled input element.
    "aten::_native_batch_norm_legit_no_training.out",
    # These kernels read a whole row before they write to it, and then each element once more just
    # before it is overwritten.
    "aten::_log_softmax.out",
    "aten::_softmax.out",
    "aten::native_group_norm.out",
    "aten::native_layer_norm.out",
}
"""Operators whose first output has the form of their first input."""


def runs_in_place(operator: Any) -> bool:
    """Return whether the operator may write its first output over an input of the same form.

    Parameters
    ----------
    operator
        `torch._ops.OpOverload` of an out variant.
    """
    return str(operator.name()) in _NORMALIZATIONS or is_element_wise(operator)


def is_element_wise(operator: Any) -> bool:
    """Return whether each output element depends on the same element of the inputs only.

    Parameters
    ----------
    operator
        `torch._ops.OpOverload` of an out variant. Only namespaces of PyTorch and ExecuTorch are
        known.
    """
    if operator.namespace not in _NAMESPACES or len(output_names(operator)) != 1:
        return False
    return str(operator.name()) in _UNTAGGED or any(
        torch.Tag.pointwise in overload.tags for overload in _same_computation(operator)
    )


def output_names(operator: Any) -> list[str]:
    """Return the names of the output arguments."""
    return [argument.name for argument in operator._schema.arguments if argument.is_out]


def _same_computation(operator: Any) -> list[Any]:
    """Return the overload and the functional overload with the same arguments."""
    packet = operator.overloadpacket
    overloads = [getattr(packet, name) for name in packet.overloads()]
    inputs = _inputs(operator)
    return [operator, *(overload for overload in overloads if _inputs(overload) == inputs)]


def _inputs(operator: Any) -> list[tuple[str, str]]:
    """Return names and types of the arguments that are no outputs."""
    return [
        (argument.name, str(argument.type))
        for argument in operator._schema.arguments
        if not argument.is_out
    ]
