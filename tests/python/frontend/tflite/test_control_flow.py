"""WHILE, IF and STABLEHLO_COMPOSITE: subgraphs that operators run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from flatbuffers import flexbuffers
from tvm import tirx

import usmp
from support.litert import Reference
from support.micro import Micro
from support.poison import poisoned
from support.tflite_builder import Graph, Options, Signature, options, write_model
from support.tflite_refusals import message_of
from usmp.frontend.tflite.check import check_tflite
from usmp.frontend.tflite.file.graph import Tensors, operators_of
from usmp.frontend.tflite.importer import import_tflite
from usmp.ops.control_flow import CONTROL_FLOW_ATTR
from usmp.ops.macs import macs_of
from usmp.relax.limits import Limits

ROW = (1, 4)
COUNT = (1,)


def composite(graph: int) -> Options:
    return options(
        "StableHLOCompositeOptions",
        name="mine",
        decomposition_subgraph_index=graph,
        composite_attributes=bytes(flexbuffers.Dumps({})),
    )


def while_options(condition: int, body: int) -> Options:
    return options("WhileOptions", cond_subgraph_index=condition, body_subgraph_index=body)


def if_options(then: int, otherwise: int) -> Options:
    return options("IfOptions", then_subgraph_index=then, else_subgraph_index=otherwise)


def constant(graph: Graph, value: int) -> int:
    return graph.constant(np.array([value], np.int32))


def applied(graph: Graph, code: str, *inputs: int, shape=ROW, dtype="float32") -> int:
    """An operator that gives one tensor."""
    result = graph.tensor(shape, dtype)
    table = {"ADD": "AddOptions", "MUL": "MulOptions", "LESS": "LessOptions"}.get(code)
    graph.operator(code, inputs, [result], options(table) if table else None)
    return result


def below(name: str) -> Graph:
    """Is the first of (count, a, b, weight, limit) less than the last one?"""
    graph = Graph(name)
    count, *_, limit = state_of(graph)
    graph.output(applied(graph, "LESS", count, limit, shape=COUNT, dtype="bool"))
    return graph


def state_of(graph: Graph) -> list[int]:
    row = [graph.input(COUNT, "int32"), *(graph.input(ROW, "float32") for _ in range(3))]
    return [*row, graph.input(COUNT, "int32")]


def looping() -> list[Graph]:
    """A loop that exchanges two tensors, of which it changes one, and that may be left at once; a
    branch that only the run knows, in a loop and beside it; and a branch and a composite that are
    known."""
    main, body, choice = Graph(), Graph("body"), Graph("choice")
    x, n = main.input(ROW, "float32"), main.input(COUNT, "int32")
    weight = main.constant(np.full(ROW, 0.75, np.float32))
    types = [(COUNT, "int32"), *[(ROW, "float32")] * 3, (COUNT, "int32")]
    after = [main.tensor(*ty) for ty in types]
    doubled = main.tensor(ROW, "float32")
    main.operator("STABLEHLO_COMPOSITE", [x], [doubled], composite(4))
    inputs = [constant(main, 0), x, doubled, weight, n]
    main.operator("WHILE", inputs, after, while_options(1, 2))
    is_small = applied(main, "LESS", n, constant(main, 2), shape=COUNT, dtype="bool")
    chosen, known = main.tensor(ROW, "float32"), main.tensor(ROW, "float32")
    main.operator("IF", [is_small, after[1], x], [chosen], if_options(3, 5))
    always = main.constant(np.array([True]))
    main.operator("IF", [always, chosen, after[2]], [known], if_options(3, 5))
    main.output(chosen, known, *after[:3])
    count, a, b, scale, limit = state_of(body)
    added = applied(body, "ADD", count, constant(body, 1), shape=COUNT, dtype="int32")
    moved = applied(body, "TANH", applied(body, "MUL", a, scale))
    is_first = applied(body, "LESS", count, constant(body, 1), shape=COUNT, dtype="bool")
    picked = body.tensor(ROW, "float32")
    body.operator("IF", [is_first, moved, b], [picked], if_options(3, 5))
    body.output(added, b, picked, scale, limit)
    product = [choice.input(ROW, "float32") for _ in range(2)]
    choice.output(applied(choice, "MUL", *product))
    double, second = Graph("double"), Graph("second")
    value = double.input(ROW, "float32")
    double.output(applied(double, "ADD", value, value))
    second.output([second.input(ROW, "float32") for _ in range(2)][1])
    return [main, below("condition"), body, choice, double, second]


@pytest.mark.slow
@pytest.mark.models
def test_outputs_are_those_of_litert_and_tflite_micro():
    content, plain = write_model(*looping()), looping()
    # tflite-micro has no composites.
    plain[0].operators[0] = (
        plain[4]
        .operators[0]
        .__class__(**{**vars(plain[4].operators[0]), "inputs": (0, 0), "outputs": (8,)})
    )
    litert, micro = Reference(content), Micro(write_model(*plain))
    factory = usmp.build(import_tflite(content))
    for module in (factory.load(), poisoned(factory).load()):
        for steps in (0, 1, 2, 5):
            inputs = litert.random_inputs(steps)
            inputs["t1"] = np.array([steps], np.int32)
            outputs = {name: value.tobytes() for name, value in module.run(inputs).items()}
            for reference in (litert, micro):
                expected = reference.run(inputs)
                assert outputs == {name: value.tobytes() for name, value in expected.items()}


def branching(value: Callable[[Graph, int], int]) -> list[Graph]:
    """A choice of the sum and the product of an input and of what `value` makes of it."""
    main, total, product = Graph(), Graph("total"), Graph("product")
    x, is_chosen = main.input(ROW, "float32"), main.input((1,), "bool")
    chosen = main.tensor(ROW, "float32")
    main.operator("IF", [is_chosen, x, value(main, x)], [chosen], if_options(1, 2))
    main.output(chosen)
    for graph, code in ((total, "ADD"), (product, "MUL")):
        graph.output(applied(graph, code, *(graph.input(ROW, "float32") for _ in range(2))))
    return [main, total, product]


@pytest.mark.models
def test_what_a_composite_gives_may_be_known():
    def three(main: Graph, x: int) -> int:
        result = main.tensor(ROW, "float32")
        main.operator("STABLEHLO_COMPOSITE", [x], [result], composite(3))
        return result

    constant_one = Graph("three")
    constant_one.input(ROW, "float32")
    constant_one.output(constant_one.constant(np.full(ROW, 3, np.float32)))
    content = write_model(*branching(three), constant_one)
    reference, module = Reference(content), usmp.build(import_tflite(content)).load()
    for is_chosen in (False, True):
        inputs = reference.random_inputs(0) | {"t1": np.array([is_chosen])}
        expected = reference.run(inputs)["t2"]
        assert module.run(inputs)["t2"].tobytes() == expected.tobytes()


def test_tensors_that_nothing_reads_take_no_time_each_time_that_a_subgraph_runs():
    graph = branching(lambda main, x: x)[1]
    for _ in range(9):
        graph.tensor(ROW, "float32")
    model = check_tflite(write_model(graph))
    tensors = Tensors(model, model.Subgraphs(0))
    operators_of(model, model.Subgraphs(0), tensors)
    assert len(tensors) == 3


def test_an_entry_that_keeps_state_is_refused_as_a_branch():
    """Whichever of them is looked at first."""
    main, keeps, other = branching(lambda main, x: x)
    handle = keeps.tensor((), "resource")
    keeps.operator("VAR_HANDLE", [], [handle], options("VarHandleOptions", shared_name="kept"))
    edited(0, options=if_options(0, 2))([main])
    entries = [Signature("first", 0), Signature("second", 1)]
    assert "operator 1 (VAR_HANDLE) is in a subgraph that control flow runs" in message_of(
        write_model(keeps, main, other, signatures=entries)
    )


def edited(number: int, **fields: object) -> Callable[[list[Graph]], None]:
    """Another last operator of a graph."""

    def edit(graphs: list[Graph]) -> None:
        operators = graphs[number].operators
        operators[-1] = replace(operators[-1], **fields)

    return edit


def in_itself(graphs: list[Graph]) -> None:
    """The condition runs the loop."""
    graphs[1].operator("WHILE", [], [], while_options(1, 2))
    edited(1, inputs=tuple(range(5)), outputs=())(graphs)


def with_variable(graphs: list[Graph]) -> None:
    graphs[2].tensor(ROW, "float32", name="kept", is_variable=True)


def with_handle(graphs: list[Graph]) -> None:
    graphs[2].operator("VAR_HANDLE", [], [graphs[2].tensor((), "resource")])


def with_handle_given(graphs: list[Graph]) -> None:
    main = graphs[0]
    handle = main.tensor((), "resource", name="kept")
    table = options("VarHandleOptions", container="", shared_name="kept")
    main.operator("VAR_HANDLE", [], [handle], table)
    main.operators.insert(0, main.operators.pop())
    edited(0, inputs=(main.operators[-1].inputs[0], handle, 0))(graphs)


def with_nothing_changed(graphs: list[Graph]) -> None:
    graphs[2].outputs[:] = graphs[2].inputs


def of_another_shape(graphs: list[Graph]) -> None:
    graphs[4].tensors[0] = replace(graphs[4].tensors[0], shape=(4,))


def with_number_as_condition(graphs: list[Graph]) -> None:
    graphs[1].outputs[:] = [0]


REFUSALS = {
    in_itself: "operator 1 of subgraph 1 (WHILE) runs subgraph 1, in which it stands itself; "
    "recursion has no static memory: write it as a loop",
    edited(
        0, options=if_options(3, 9)
    ): "the file is damaged: operator 4 (IF) runs subgraph 9, and there are 6",
    edited(0, options=if_options(3, 2)): "the file is damaged: operator 4 (IF) runs subgraph 2, "
    "which has 5 inputs and 5 outputs; it should have 2 and 1",
    edited(
        0, options=None
    ): "the file is damaged: the options of IF do not say which subgraphs it runs",
    with_variable: 'operator 1 (WHILE) runs subgraph 2, whose tensor "kept" is variable; state '
    "inside of control flow is not supported: keep it in the main graph",
    with_handle: "operator 5 of subgraph 2 (VAR_HANDLE) is in a subgraph that control flow runs; "
    "state inside of control flow is not supported: keep it in the main graph",
    with_handle_given: 'operator 5 (IF, output "t13"): "kept" is the handle of a variable; state '
    "inside of control flow is not supported: keep it in the main graph",
    with_nothing_changed: "its body, subgraph 2, changes none of its tensors, so that it never "
    "runs or never ends; convert the model without it",
    of_another_shape: 'operator 0 (STABLEHLO_COMPOSITE, output "t8"): input "t0" of subgraph 4 is '
    'float32[4], and "t0" is float32[1, 4]; they must be the same',
    with_number_as_condition: 'condition "t0" is int32[1]; it must be one bool',
}


@pytest.mark.parametrize("index", range(len(REFUSALS)))
def test_what_is_refused(index):
    change, message = list(REFUSALS.items())[index]
    graphs = looping()
    change(graphs)
    assert message in message_of(write_model(*graphs))


def test_nesting_and_operators_that_are_written_out_have_limits():
    """Few bytes may ask for any number of operators: each graph runs the next one twice."""

    def nested(levels: int, runs: int) -> bytes:
        graphs = [Graph(f"g{level}") for level in range(levels)]
        for level, graph in enumerate(graphs):
            value = graph.input(ROW, "float32")
            for _ in range(runs if level + 1 < levels else 0):
                result = graph.tensor(ROW, "float32")
                graph.operator("STABLEHLO_COMPOSITE", [value], [result], composite(level + 1))
                value = result
            graph.output(value)
        return write_model(*graphs)

    assert "(STABLEHLO_COMPOSITE) runs subgraphs more than 16 levels deep" in message_of(
        nested(40, 1)
    )
    assert "operators; there may be 10000, which --max-operators" in message_of(nested(16, 2))


def test_what_loops_and_branches_multiply_is_not_known():
    """How often a body runs is not, and no product at all would be wrong."""
    mod = import_tflite(write_model(*looping()))
    of_bodies = [
        f
        for f in mod.functions.values()
        if isinstance(f, tirx.PrimFunc) and CONTROL_FLOW_ATTR.of(f)
    ]
    assert [macs_of(func) for func in of_bodies] == [None, None]


def test_constants_count_each_time_that_a_subgraph_is_written_out():
    main, inner = Graph(), Graph("inner")
    value = main.input(ROW, "float32")
    for _ in range(5):
        result = main.tensor(ROW, "float32")
        main.operator("STABLEHLO_COMPOSITE", [value], [result], composite(1))
        value = result
    main.output(value)
    inner.input(ROW, "float32")
    inner.output(inner.constant(np.zeros(ROW, np.float32)))
    content = write_model(main, inner)
    import_tflite(content, Limits(model_bytes=80))
    with pytest.raises(usmp.UnsupportedModelError, match=r"take 80 bytes, .* they may take 79"):
        import_tflite(content, Limits(model_bytes=79))
