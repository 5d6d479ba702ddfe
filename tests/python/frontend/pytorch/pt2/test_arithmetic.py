"""Arithmetic of `.pt2` files is of numbers, and short ones."""

from __future__ import annotations

import pytest

import usmp
from support.lazy import lazy
from support.pt2_exploits import changed

import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")

HUGE = 10**10
"""Bytes, or nearly, that each refused program would fill; its refusal comes before."""


def computing(*nodes):
    """The file with nodes, each (function, arguments), whose results are the sizes z0, z1, ..."""

    def change(members):
        graph = members["models/model.json"]["graph_module"]["graph"]
        graph["sym_int_values"] |= {f"z{number}": {"as_int": 3} for number in range(len(nodes))}
        graph["nodes"][:0] = [
            {
                "target": f"_operator.{function}",
                "inputs": [{"name": "", "arg": a, "kind": 1} for a in arguments],
                "outputs": [{"as_sym_int": {"as_name": f"z{number}"}}],
                "metadata": {},
                "is_hop_single_tensor_return": None,
                "name": None,
            }
            for number, (function, arguments) in enumerate(nodes)
        ]

    return changed(change)


def squares(count):
    """2**124, and as many squares of one another."""
    large = {"as_int": 2**62}
    named = [{"as_sym_int": {"as_name": f"z{number}"}} for number in range(count)]
    return [("mul", (large, large)), *(("mul", (size, size)) for size in named)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "nodes",
    [
        [("mul", ({"as_string": "a"}, {"as_int": HUGE}))],
        [("mul", ({"as_int": HUGE}, {"as_ints": [1, 2]}))],
        [("mod", ({"as_string": f"%0{HUGE}d"}, {"as_int": 1}))],
        squares(40),
    ],
    ids=["text", "list", "format", "squares"],
)
def test_arithmetic_that_fills_the_memory_is_refused(nodes):
    with pytest.raises(usmp.UnsupportedModelError, match=r"^not read without trust: z\d+ "):
        import_pytorch(computing(*nodes))


@pytest.mark.slow
def test_products_of_a_few_numbers_are_read():
    assert "main" in [v.name_hint for v in import_pytorch(computing(*squares(3))).functions]
