"""The nodes of a graph that can be reached from some of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

_Node = TypeVar("_Node", bound=Hashable)


def reachable(roots: Iterable[_Node], following: Callable[[_Node], Iterable[_Node]]) -> list[_Node]:
    """Return the roots and all nodes reachable from them, each once, the nearest first."""
    known = dict.fromkeys(roots)
    order = list(known)
    for node in order:
        new = [other for other in dict.fromkeys(following(node)) if other not in known]
        known.update(dict.fromkeys(new))
        order += new
    return order
