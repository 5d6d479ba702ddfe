"""Operators of model files as spans."""

from __future__ import annotations

from tvm.ir import Span
from tvm.ir.base import SourceName

from usmp.tir.model_operator import (
    joined_span,
    label_in,
    label_span,
    model_operator,
    operators_in,
    result_names,
)

CONV = model_operator(1, "CONV_2D", ["x"], [("y", "int8", (1, 4, 4, 8))])
ADD = model_operator(0, "ADD", ["x", "z"], [('"\\\n\0\u202e', "float32", ("n", 2))], "sum", graph=2)


def test_a_span_has_all_of_an_operator():
    assert operators_in(CONV.as_span()) == (CONV,)
    assert operators_in(ADD.as_span()) == (ADD,)


def test_joined_spans_have_each_operator_once_in_the_order_of_the_file():
    last = model_operator(2, "MUL", ["y"], [])
    twice = joined_span([last.as_span(), None, joined_span([CONV.as_span(), last.as_span()])])
    assert operators_in(twice) == (CONV, last)
    # Other subgraphs come after the first.
    assert operators_in(joined_span([ADD.as_span(), CONV.as_span()])) == (CONV, ADD)


def test_nothing_joined_is_no_span():
    assert joined_span([None, None]) is None
    assert operators_in(None) == ()


def test_spans_of_other_sources_are_no_operators():
    assert operators_in(Span(SourceName("model.py"), 3, 3, 1, 9)) == ()


def test_long_names_are_cut():
    operator = model_operator(0, "A" * 2000, ["b" * 2000], [("c" * 2000, "int8", ())], "d" * 2000)
    (tensor,) = operator.outputs
    assert {*map(len, (operator.type, operator.inputs[0], tensor.name, operator.name))} == {1024}


def test_results_have_the_names_of_the_last_operator():
    split = model_operator(3, "SPLIT", ["y"], [("a", "int8", ()), ("b;c", "int8", ())])
    assert result_names(joined_span([split.as_span(), CONV.as_span()]), 2) == ["a", "c"]
    assert result_names(CONV.as_span()) == ["y"]
    # No operator names as many results, or none has a name.
    assert result_names(CONV.as_span(), 2) == result_names(None) == []
    assert result_names(model_operator(0, "ADD", [], [("", "int8", ())]).as_span()) == []


def test_labels_are_no_operators():
    span = joined_span([CONV.as_span(), label_span("copy of y")])
    assert (label_in(span), operators_in(span)) == ("copy of y", (CONV,))
    assert label_in(CONV.as_span()) == label_in(None) == ""
