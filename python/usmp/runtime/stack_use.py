"""Compute the most stack of compiled functions from the call graphs of GCC.

The option `-fcallgraph-info=su` (GCC 10 and later) writes a VCG file for each source file, with a
node for each function, the bytes of its frame, and an edge for each call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_NODE = re.compile(r'node: \{ title: "([^"\n]*)" label: "[^"\n]*?\\n(\d+) bytes \((\w+[^)"]*)\)')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"\n]*)" targetname: "([^"\n]*)"')
_BOUNDED = ("static", "dynamic,bounded")


def most_stack_bytes(graphs: Iterable[str]) -> int | None:
    """Return the bytes of the deepest chain of calls from any function.

    Functions without a node, such as those of the C library, are not counted.

    Parameters
    ----------
    graphs
        contents of the VCG files.

    Returns
    -------
    int | None
        None if there is no function, a function is recursive, or a frame has no bound.
    """
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    for graph in graphs:
        for title, size, kind in _NODE.findall(graph):
            if kind not in _BOUNDED:
                return None
            frames[title] = max(int(size), frames.get(title, 0))
        for source, target in _EDGE.findall(graph):
            calls.setdefault(source, set()).add(target)
    return _deepest(frames, calls) if frames else None


def _deepest(frames: dict[str, int], calls: dict[str, set[str]]) -> int | None:
    """Return the longest path of a call graph by a topological sort, or None if it has a cycle.

    Avoid recursion in Python, because a malicious archive could exceed its limit.
    """
    depths: dict[str, int] = {}
    waiting = {name: calls.get(name, set()) & frames.keys() for name in frames}
    callers: dict[str, list[str]] = {}
    for name, callees in waiting.items():
        for callee in callees:
            callers.setdefault(callee, []).append(name)
    missing = {name: len(callees) for name, callees in waiting.items()}
    ready = [name for name, count in missing.items() if not count]
    while ready:
        name = ready.pop()
        depths[name] = frames[name] + max((depths[c] for c in waiting[name]), default=0)
        for caller in callers.get(name, ()):
            missing[caller] -= 1
            if not missing[caller]:
                ready.append(caller)
    return max(depths.values()) if len(depths) == len(frames) else None
