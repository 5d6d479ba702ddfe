"""PrimFuncs that are written the same have the same names, spans and order of attributes, too."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.ir import SourceName, Span

from usmp.tir.same_text import hash_of_text, is_same_text

ATTRIBUTES = {"first": 1, "second": [{"c": 1, "d": 2}]}


def function(
    param="x", size="n", value=1, attributes=ATTRIBUTES, line=1, of_call=1, param_type="int8"
):
    n = tirx.Var(size, "int32")
    x, y = tirx.decl_buffer((4,), param_type, param), tirx.decl_buffer((n,), "int8", "y")
    spans = [Span(SourceName("model"), each, each, 1, 1) for each in (line, of_call)]
    call = tirx.call_extern("int32", "f", tirx.const(value, "int32"), span=spans[1])
    func = tirx.PrimFunc([x, y, n], tirx.Evaluate(call), span=spans[0])
    for name, each in attributes.items():
        func = func.with_attr(name, each)
    return func


def test_another_object_is_the_same():
    assert is_same_text(function(), function())
    assert hash_of_text(function()) == hash_of_text(function())


@pytest.mark.parametrize(
    "other",
    [
        {"param": "z"},
        {"size": "m"},
        {"value": 2},
        {"attributes": {}},
        {"attributes": {"second": ATTRIBUTES["second"], "first": 1}},
        {"attributes": {**ATTRIBUTES, "second": [{"d": 2, "c": 1}]}},
        {"line": 2},
        {"of_call": 2},
        {"param_type": "uint8"},
    ],
    ids=str,
)
def test_what_is_written_otherwise_is_another_one(other):
    assert not is_same_text(function(), function(**other))
