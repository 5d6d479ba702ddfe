"""The most stack, from call graphs as GCC writes them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from usmp.runtime.stack_use import most_stack_bytes


def graph(frames, calls=(), kind="static"):
    nodes = "".join(
        f'node: {{ title: "{name}" label: "{name}\\nx.c:1:1\\n{size} bytes ({kind})" }}\n'
        for name, size in frames.items()
    )
    edges = "".join(
        f'edge: {{ sourcename: "{source}" targetname: "{target}" label: "x.c:2:3" }}\n'
        for source, target in calls
    )
    return f'graph: {{ title: "x.c"\n{nodes}{edges}}}\n'


@pytest.mark.parametrize(
    ("frames", "calls", "most"),
    [
        ({"run": 8, "conv": 100, "tile": 40, "pool": 120}, [], 120),
        (
            {"run": 8, "conv": 100, "tile": 40, "pool": 120},
            [("run", "conv"), ("conv", "tile"), ("run", "pool"), ("conv", "memmove")],
            148,
        ),
        # A function that several call.
        (
            {"run": 8, "a": 1, "b": 50, "c": 5},
            [("run", "a"), ("run", "b"), ("a", "c"), ("b", "c")],
            63,
        ),
        ({"run": 8, "a": 1}, [("run", "a"), ("a", "run")], None),
        ({"run": 8}, [("run", "run")], None),
        ({}, [], None),
    ],
)
def test_the_deepest_chain_of_calls(frames, calls, most):
    assert most_stack_bytes([graph(frames, calls)]) == most


def test_functions_of_several_files():
    assert most_stack_bytes([graph({"a": 8}, [("a", "b")]), graph({"b": 16})]) == 24


def test_a_frame_without_bound():
    assert most_stack_bytes([graph({"a": 8}, kind="dynamic")]) is None
    assert most_stack_bytes([graph({"a": 8}, kind="dynamic,bounded")]) == 8


def test_chains_as_deep_as_no_recursion_could_follow():
    names = [f"f{index}" for index in range(5000)]
    calls = list(pairwise(names))
    assert most_stack_bytes([graph(dict.fromkeys(names, 2), calls)]) == 10000
