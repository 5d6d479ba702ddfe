"""The subgraphs that operators run: which, and whether they end."""

from __future__ import annotations

import numpy as np
import pytest
import tflite

from support.tflite_builder import Graph, options, write_model
from usmp.frontend.tflite.file.subgraphs import RunSubgraph, check_subgraphs, subgraphs_run_by
from usmp.relax.limits import Limits
from usmp.support.errors import UnsupportedModelError

COMPOSITE = "StableHLOCompositeOptions"


def graph_of(*runs, inputs=1, outputs=1, constant=0, operators=0):
    """A graph that runs others: each as (code, options, inputs, outputs)."""
    graph = Graph()
    given = [graph.input((1,), "bool") for _ in range(inputs)]
    results = [graph.tensor((1,), "bool") for _ in range(outputs)]
    graph.output(*results)
    if constant:
        graph.constant(np.zeros(constant, np.int8))
    for code, made, count, gives in runs:
        graph.operator(code, (given * count)[:count], (results * gives)[:gives], made)
    for _ in range(operators):
        graph.operator("LOGICAL_NOT", given[:1], results[:1])
    return graph


def branch(then, otherwise, inputs=2, outputs=1):
    made = options("IfOptions", then_subgraph_index=then, else_subgraph_index=otherwise)
    return "IF", made, inputs, outputs


def loop(condition, body, inputs=1, outputs=1):
    made = options("WhileOptions", cond_subgraph_index=condition, body_subgraph_index=body)
    return "WHILE", made, inputs, outputs


def composite(number, inputs=1, outputs=1):
    made = options(COMPOSITE, name="mine", decomposition_subgraph_index=number)
    return "STABLEHLO_COMPOSITE", made, inputs, outputs


def model_of(*graphs):
    return tflite.Model.GetRootAsModel(write_model(*graphs), 0)


def check(*graphs, entries=(0,), **limits):
    check_subgraphs(model_of(*graphs), entries, Limits(**limits))


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (branch(3, 4, 3, 2), [RunSubgraph(3, 2, 2), RunSubgraph(4, 2, 2)]),
        (loop(3, 4, 2, 2), [RunSubgraph(3, 2, 1), RunSubgraph(4, 2, 2)]),
        (composite(3, 2, 1), [RunSubgraph(3, 2, 1)]),
        (("LOGICAL_NOT", None, 1, 1), []),
    ],
)
def test_subgraphs_of_operators(run, expected):
    model = model_of(graph_of(run, inputs=3, outputs=2))
    assert subgraphs_run_by(model, model.Subgraphs(0).Operators(0)) == expected


@pytest.mark.parametrize(
    "run",
    [
        ("IF", None, 2, 1),
        ("WHILE", options("IfOptions", then_subgraph_index=1), 1, 1),
        ("STABLEHLO_COMPOSITE", None, 1, 1),
    ],
)
def test_options_that_say_nothing(run):
    model = model_of(graph_of(run), graph_of())
    with pytest.raises(UnsupportedModelError, match="do not say which subgraphs it runs"):
        subgraphs_run_by(model, model.Subgraphs(0).Operators(0))


def test_subgraphs_that_end():
    check(graph_of(branch(1, 1), loop(1, 1), composite(1)), graph_of(operators=1))
    check(graph_of(composite(1)), graph_of(composite(2)), graph_of())
    check(graph_of(), graph_of(composite(9)))


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([graph_of(composite(1))], r"operator 0 \(\w+\) runs subgraph 1, and there are 1"),
        ([graph_of(composite(-1)), graph_of()], "runs subgraph -1, and there are 2"),
        ([graph_of(composite(0))], "runs subgraph 0, in which it stands itself"),
        (
            [graph_of(composite(1)), graph_of(composite(0))],
            r"operator 0 of subgraph 1 \(\w+\) runs subgraph 0, in which",
        ),
        ([graph_of(composite(1)), graph_of(inputs=2)], "which has 2 inputs and 1 outputs; it"),
        ([graph_of(composite(1)), graph_of(outputs=2)], "should have 1 and 1"),
        ([graph_of(branch(1, 1, inputs=0)), graph_of()], "should have 0 and 1"),
        ([graph_of(loop(1, 2, 1, 1), inputs=2), graph_of(), graph_of(inputs=2)], "subgraph 2"),
    ],
)
def test_subgraphs_that_are_refused(graphs, message):
    with pytest.raises(UnsupportedModelError, match=message):
        check(*graphs)


def test_subgraphs_that_keep_state():
    variable = graph_of()
    variable.tensor((1,), "float32", name="kept", is_variable=True)
    with pytest.raises(UnsupportedModelError, match='whose tensor "kept" is variable'):
        check(graph_of(composite(1)), variable)
    check(variable)
    for code in ("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"):
        with pytest.raises(UnsupportedModelError, match=rf"operator 0 of subgraph 1 \({code}\) is"):
            check(graph_of(composite(1)), graph_of((code, None, 1, 1)))


def chain(length):
    """Graphs of which each runs the next."""
    return [*(graph_of(composite(number + 1)) for number in range(length - 1)), graph_of()]


def test_subgraphs_are_nested_16_deep():
    check(*chain(16))
    with pytest.raises(UnsupportedModelError, match="more than 16 levels deep"):
        check(*chain(17))
    # Also where the inner ones were looked at before.
    with pytest.raises(UnsupportedModelError, match="more than 16 levels deep"):
        check(*chain(17), entries=(8, 0))
    check(*chain(16), entries=(8, 0))


def test_operators_are_counted_as_often_as_they_run():
    graphs = graph_of(composite(1), composite(1)), graph_of(operators=3)
    check(*graphs, operators=8)
    with pytest.raises(UnsupportedModelError, match="subgraph 0 has 8 operators"):
        check(*graphs, operators=7)


def test_constants_are_counted_as_often_as_they_run():
    graphs = graph_of(composite(1), composite(1), constant=50), graph_of(constant=20)
    check(*graphs, model_bytes=40)
    with pytest.raises(UnsupportedModelError, match="take 40 bytes"):
        check(*graphs, model_bytes=39)
    nested = graph_of(composite(1)), graph_of(composite(2), constant=20), graph_of(constant=5)
    check(*nested, model_bytes=25)
    with pytest.raises(UnsupportedModelError, match="take 25 bytes"):
        check(*nested, model_bytes=24)
