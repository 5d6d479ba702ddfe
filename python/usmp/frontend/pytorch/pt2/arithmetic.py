"""Check of the arithmetic on sizes, which PyTorch evaluates by Python's operators on any objects.

A string or list times a number could fill the memory. So could repeated squaring, because each
product has twice as many bits.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import torch

from usmp.frontend.pytorch.pt2.check_archive import trust_named
from usmp.frontend.pytorch.pt2.json_checks import NotAllowedError
from usmp.support.text.plain_text import shown

_FUNCTIONS = frozenset(
    {getattr(operator, name) for name in "add sub mul floordiv truediv mod neg pos".split()}
)
_LONGEST_BITS = 4096
"""The longest number: a product of 64 sizes, more than any model has."""
_BITS = 64


def check_arithmetic(program: Any) -> None:
    """Check that the program computes with numbers only, and that they stay short for all sizes.

    Raises
    ------
    UnsupportedModelError
        an operand is no number, or a result may be too long.
    """
    with trust_named():
        for module in program.graph_module.modules():
            if isinstance(module, torch.fx.GraphModule):
                _check_graph(module.graph)


def _check_graph(graph: torch.fx.Graph) -> None:
    bits: dict[torch.fx.Node, int] = {}
    for node in graph.nodes:
        if node.target in _FUNCTIONS:
            bits[node] = _bits_of_result(node, bits)


def _bits_of_result(node: torch.fx.Node, bits: Mapping[torch.fx.Node, int]) -> int:
    """Return an upper bound of the bits of a result."""
    lengths = []
    for argument in node.args:
        if not _is_number(argument):
            raise NotAllowedError(
                f"{node.name} computes with {shown(repr(argument), 60)}, which is no number"
            )
        lengths.append(bits.get(argument, _BITS) if isinstance(argument, torch.fx.Node) else _BITS)
    longest = sum(lengths) if node.target is operator.mul else max(lengths, default=0) + 1
    if longest > _LONGEST_BITS:
        raise NotAllowedError(f"{node.name} computes a number of up to {longest} bits")
    return longest


def _is_number(argument: Any) -> bool:
    """Return whether an argument is a number or a tensor; several results of a node are neither."""
    if not isinstance(argument, torch.fx.Node):
        return isinstance(argument, int | float)
    if not isinstance(argument.target, torch._ops.OpOverload):
        return True
    returns = argument.target._schema.returns
    return len(returns) == 1 and not isinstance(returns[0].type, torch.ListType)
