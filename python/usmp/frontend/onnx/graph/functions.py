"""A check that inlining an ONNX model's functions ends within the limit of nodes."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from usmp.frontend.onnx.graph.nodes import all_nodes
from usmp.relax.limits import Limits
from usmp.support.errors import UnsupportedModelError

_DEEPEST = 100
"""The deepest nesting of calls; no real model has more."""

_Key = tuple[str, str, str]
"""Domain, name and overload of a function or of a node's operator."""


def check_function_calls(model: onnx.ModelProto, limits: Limits) -> None:
    """Check that inlining all functions ends, with no more nodes than `limits` allow.

    Raises
    ------
    UnsupportedModelError
        a function calls itself, or inlining makes too many nodes.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    counts: dict[_Key, int] = {}

    def count(nodes: Iterator[onnx.NodeProto], callers: tuple[_Key, ...]) -> int:
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type, node.overload)
            total += count_of(key, callers) if key in functions else 1
        return total

    def count_of(key: _Key, callers: tuple[_Key, ...]) -> int:
        if key in callers or len(callers) > _DEEPEST:
            how = "calls itself" if key in callers else f"is called {_DEEPEST} functions deep"
            raise UnsupportedModelError(
                f'function "{key[1]}" of the model {how}; export the model without functions'
            )
        if key not in counts:
            counts[key] = count(all_nodes(functions[key]), (*callers, key))
        return counts[key]

    limits.check_operators(
        "with its functions written out, the model has", count(all_nodes(model.graph), ())
    )
