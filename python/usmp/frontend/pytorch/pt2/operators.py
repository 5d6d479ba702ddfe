"""Allow-list of the functions that a program may call.

PyTorch resolves a name such as `torch.os.system` attribute by attribute, which loads modules, and
runs operators during the decomposition.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import torch

from usmp.frontend.pytorch.pt2.json_checks import refused

_OPERATOR = re.compile(r"torch\.ops\.(aten|quantized_decomposed)\.(\w+)\.(\w+)", re.ASCII)
_READ_FILES = frozenset({"from_file"})
"""The only operator of ATen that reads a file."""

_FUNCTIONS = frozenset(
    f"_operator.{name}"
    for name in """getitem add sub mul floordiv truediv mod neg pos and_ or_ eq ne lt le gt ge
    """.split()
) | frozenset(
    """math.trunc torch.sym_float torch.sym_int torch.sym_max torch.sym_min torch.sym_not
    torch.sym_ite torch.sym_sum torch.ops.higher_order.cond
    torch.ops.higher_order.wrap_with_set_grad_enabled
    torch.ops.higher_order.wrap_with_autocast""".split()
)
"""Arithmetic on sizes, and operators that call a nested graph. Powers and shifts are excluded,
because their results can fill the memory."""


def operator_name(value: Any, where: str) -> str:
    """Check that a name is an operator of ATen or of PT2E, or one of the functions above.

    Raises
    ------
    NotAllowedError
        the name is another one.
    """
    if isinstance(value, str):
        parts = _OPERATOR.fullmatch(value)
        if value in _FUNCTIONS or (parts and parts[3] in _overloads(parts[1], parts[2])):
            return value
    raise refused(value, where, "not an operator that is known to run no code of the file")


@cache
def _overloads(namespace: str, name: str) -> frozenset[str]:
    packet = getattr(getattr(torch.ops, namespace), name, None)
    if name in _READ_FILES or not isinstance(packet, torch._ops.OpOverloadPacket):
        return frozenset()
    return frozenset(o for o in packet.overloads() if _is_dispatched(getattr(packet, o)))


def _is_dispatched(overload: torch._ops.OpOverload) -> bool:
    """Return whether an overload computes on tensors; TorchScript's own may access files."""
    schema = overload._schema
    try:
        torch._C._dispatch_find_schema_or_throw(schema.name, schema.overload_name)
    except RuntimeError:
        return False
    return True
