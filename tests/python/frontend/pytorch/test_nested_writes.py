"""Writes to a part of a part of a tensor are found in a graph."""

from __future__ import annotations

import pytest

from support.lazy import lazy

torch = lazy("torch")
nested = lazy("usmp.frontend.pytorch.nested_writes")

SHAPE = (3, 4, 5)


class Graph:
    """A graph of PyTorch's operators, with the shape of each result."""

    def __init__(self):
        self.graph = torch.fx.Graph()
        self.aten = torch.ops.aten

    def input(self, *shape, dtype=None):
        node = self.graph.placeholder("x")
        node.meta["val"] = torch.empty(shape, dtype=dtype)
        return node

    def call(self, operator, shape, *arguments, **keywords):
        node = self.graph.call_function(operator, arguments, keywords)
        node.meta["val"] = torch.empty(shape)
        return node

    def select(self, whole, dim, index, shape):
        return self.call(self.aten.select.int, shape, whole, dim, index)

    def put(self, whole, shape, dtype=None, **keywords):
        index = self.input(2, dtype=dtype or torch.int64)
        rows = self.input(2)
        arguments = (whole, [None, index], rows)
        return self.call(self.aten.index_put.default, shape, *arguments, **keywords)

    def put_back(self, whole, part, dim, begin, shape, end=None, axis=None):
        wide = self.call(self.aten.unsqueeze.default, shape, part, dim if axis is None else axis)
        end = begin + 1 if end is None else end
        return self.call(self.aten.slice_scatter.default, shape, whole, wide, dim, begin, end)


def written(dim=0, index=1, place=None, shape=SHAPE, **options):
    """What is found of x[index] = ..., as whole, path and whether the put is the right one."""
    graph = Graph()
    x = graph.input(*shape)
    inner = tuple(n for axis, n in enumerate(shape) if axis != dim % len(shape))
    put = graph.put(graph.select(x, dim, index, inner), inner, **options)
    place = place or (dim, index)
    back = graph.put_back(x, put, *place, shape)
    found = nested.nested_writes(graph.graph.nodes)
    if not found:
        return None
    assert list(found) == [back]
    assert found[back].put is put
    assert found[back].written.whole is x
    return found[back].written.path


def test_a_write_into_a_selection_that_is_put_back():
    assert written() == ((0, 1),)
    assert written(2, 0) == ((2, 0),)
    assert written(-1, -1, (2, 4)) == ((2, 4),)
    assert written(-1, -1, (-1, 4)) == ((2, 4),)
    assert written(dtype=torch.int32) == ((0, 1),)
    assert written(accumulate=False) == ((0, 1),)


@pytest.mark.parametrize("place", [(0, 2), (0, 0), (1, 1)])
def test_what_is_put_elsewhere_is_none(place):
    assert written(place=place, shape=(4, 4, 4)) is None


def test_writes_by_flags_or_sums_are_none():
    assert written(dtype=torch.bool) is None
    assert written(accumulate=True) is None


def test_a_sum_may_be_asked_for_by_position():
    for accumulate in (False, True):
        graph = Graph()
        x = graph.input(*SHAPE)
        part = graph.select(x, 0, 1, SHAPE[1:])
        index, rows = graph.input(2, dtype=torch.int64), graph.input(2)
        arguments = (part, [index], rows, accumulate)
        put = graph.call(graph.aten.index_put.default, SHAPE[1:], *arguments)
        graph.put_back(x, put, 0, 1, SHAPE)
        assert bool(nested.nested_writes(graph.graph.nodes)) != accumulate


def test_parts_of_parts():
    graph = Graph()
    x = graph.input(*SHAPE)
    outer = graph.select(x, 0, 2, (4, 5))
    inner = graph.select(outer, 1, 3, (4,))
    put = graph.put(inner, (4,))
    middle = graph.put_back(outer, put, 1, 3, (4, 5))
    whole = graph.put_back(x, middle, 0, 2, SHAPE)
    found = nested.nested_writes(graph.graph.nodes)
    assert {node: write.written.path for node, write in found.items()} == {whole: ((0, 2), (1, 3))}
    assert found[whole].written.whole is x
    assert found[whole].put is put


@pytest.mark.parametrize(
    ("begin", "end", "axis"),
    [(1, 3, None), (1, 1, None), (-2, None, None), (3, None, None), (1, None, 1)],
)
def test_slices_that_are_no_element_along_the_axis(begin, end, axis):
    graph = Graph()
    x = graph.input(3, 3)
    put = graph.put(graph.select(x, 0, begin, (3,)), (3,))
    graph.put_back(x, put, 0, begin, (3, 3), end, axis)
    assert nested.nested_writes(graph.graph.nodes) == {}


def test_shapes_that_are_not_known():
    graph = Graph()
    x = graph.input(*SHAPE)
    part = graph.select(x, 0, 1, SHAPE[1:])
    put = graph.put(part, SHAPE[1:])
    graph.put_back(x, put, 0, 1, SHAPE)
    assert len(nested.nested_writes(graph.graph.nodes)) == 1
    x.meta["val"] = None
    assert nested.nested_writes(graph.graph.nodes) == {}


def test_other_forms_of_the_operators():
    graph = Graph()
    x = graph.input(*SHAPE)
    put = graph.put(graph.select(x, 0, 1, SHAPE[1:]), SHAPE[1:])
    wide = graph.call(graph.aten.unsqueeze.default, SHAPE, put, 0)
    scatter = graph.aten.slice_scatter.default
    graph.call(scatter, SHAPE, x, wide, 0, 1)
    graph.call(scatter, SHAPE, x, wide, 0, 1, end=2)
    graph.call(scatter, SHAPE, x, put, 0, 1, 2)
    graph.call(graph.aten.relu.default, SHAPE, wide)
    assert nested.nested_writes(graph.graph.nodes) == {}
