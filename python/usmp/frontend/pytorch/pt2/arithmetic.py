"""Arithmetic on sizes, which PyTorch runs as it stands in the program: Python's, on any objects.

Of text or of a list, a product with a number fills the memory, and so do numbers without end: each
product of a number with itself is twice as long.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

import torch

from usmp.frontend.pytorch.pt2.check_archive import trust_named
from usmp.frontend.pytorch.pt2.json_checks import NotAllowedError
from usmp.support.plain_text import shown

_FUNCTIONS = frozenset(
    {getattr(operator, name) for name in "add sub mul floordiv truediv mod neg pos".split()}
)
_LONGEST_BITS = 4096
"""Of numbers; products of as many sizes of 64 bits as no model has."""
_BITS = 64


def check_arithmetic(program: Any) -> None:
    """Check that the program computes with numbers, and these stay short, whatever the sizes are.

    Raises
    ------
    UnsupportedModelError
        it does not.
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
    """Of a number that is no shorter than the result."""
    given = []
    for argument in node.args:
        if not _is_number(argument):
            raise NotAllowedError(
                f"{node.name} computes with {shown(repr(argument), 60)}, which is no number"
            )
        given.append(bits.get(argument, _BITS) if isinstance(argument, torch.fx.Node) else _BITS)
    longest = sum(given) if node.target is operator.mul else max(given, default=0) + 1
    if longest > _LONGEST_BITS:
        raise NotAllowedError(f"{node.name} computes a number of up to {longest} bits")
    return longest


def _is_number(argument: Any) -> bool:
    """Or a tensor: a node that computes several at once is neither."""
    if not isinstance(argument, torch.fx.Node):
        return isinstance(argument, int | float)
    if not isinstance(argument.target, torch._ops.OpOverload):
        return True
    returns = argument.target._schema.returns
    return len(returns) == 1 and not isinstance(returns[0].type, torch.ListType)
