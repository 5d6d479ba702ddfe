"""Inputs that are outputs, outputs that are one tensor, and names that occur twice.

Converters leave such models: MediaPipe's pass tensors on, and others give a state as an output too.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
import tvm
from tvm import relax

import usmp
from support import tflite_builder
from support.board_programs import require_board, run_models
from support.c_program import SANITIZERS, run_as_program
from support.lazy import lazy
from support.levels import sample
from support.onnx_models import Graph, Reference
from support.tflite_builder import per_tensor, write_model
from usmp.boards.board import board_named
from usmp.frontend.tflite.importer import import_tflite
from usmp.objects import Executor, StateInfo

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")
import_pytorch = lazy("usmp.frontend.pytorch.importer:import_pytorch")

X = np.array([1, -2, 3, 100], np.int8)
Y = np.array([0.5, 1, -2], np.float32)
C = np.array([7, 8], np.int8)


def module(body, inputs, names, **attributes):
    """A Relax module of `x`, int8, and `y`, float32, under the names of `inputs`."""
    builder = relax.BlockBuilder()
    arrays = dict(zip(("x", "y"), (X, Y), strict=True))
    params = [
        relax.Var(name, relax.TensorType(array.shape, str(array.dtype)))
        for name, array in zip(inputs, arrays.values(), strict=False)
    ]
    with builder.function("main", params):
        with builder.dataflow():
            results = [builder.emit(result) for result in body(*params)]
            output = builder.emit_output(relax.Tuple(results))
        builder.emit_func_output(output)
    mod = builder.get()
    main = mod["main"].with_attrs({"output_names": names, **attributes})
    mod.update_func(mod.get_global_var("main"), main)
    return mod


def double(x):
    return relax.op.add(x, x)


def twice(x, *others):
    doubled = double(x)
    return doubled, x, doubled


# Name -> body, names of the inputs, of the outputs, what these become, and what they hold.
CASES = {
    "input": (lambda x: [x], ["x"], ["x"], ["x"], [X]),
    "input twice": (lambda x: [x, x], ["x"], ["x", "x"], ["x", "x_1"], [X, X]),
    "number taken": (lambda x: [x] * 3, ["x"], ["x", "x", "x_1"], ["x", "x_2", "x_1"], [X] * 3),
    "other sizes": (lambda x, y: [double(y), x], ["a", "b"], ["a", "B"], ["a", "B"], [Y + Y, X]),
    "one name in C": (lambda x, y: [y, x], ["a/b", "a:b"], ["a+b", "a b"], ["a+b", "a b"], [Y, X]),
    "one name": (lambda x, y: [y, double(x)], ["x"] * 2, ["x", "y"], ["x", "y"], [Y, X + X]),
    "constants": (lambda x: [relax.const(C)] * 2, ["x"], ["c", "c"], ["c", "c_1"], [C, C]),
    "unread": (lambda x, y: [double(x)], ["x", "y"], ["x"], ["x"], [X + X]),
    "workspace": (lambda x: [double(x)], ["workspace"], ["Workspace"], ["Workspace"], [X + X]),
}  # fmt: skip


def options(workspace_io=False, poison=False, preserve_inputs=False):
    return {
        "tir.usmp.use_workspace_io": workspace_io,
        "tir.usmp.debug": ["poison_dead_bytes"] if poison else [],
        "tir.usmp.preserve_inputs": preserve_inputs,
    }


WAYS = {
    "c": ("c", "c", options()),
    "poisoned": ("c", "c", options(workspace_io=True, poison=True)),
    "packed": ("c", "packed", options()),
    "llvm": ("llvm", "c", options()),
    "workspace": ("c", "c", options(workspace_io=True)),
    "preserved": ("c", "c", options(workspace_io=True, preserve_inputs=True)),
    "llvm-workspace": ("llvm", "c", options(workspace_io=True, poison=True)),
}
USUAL = ["input twice", "other sizes", "one name in C"]


@pytest.mark.cc
@pytest.mark.parametrize(
    ("way", "case"),
    [
        *product(["c", "poisoned"], CASES),
        *product(list(WAYS)[2:], USUAL),
        *sample([pair for pair in product(list(WAYS)[2:], CASES) if pair[1] not in USUAL], 3),
    ],
)
def test_outputs_and_names(case, way):
    target, interface, config = WAYS[way]
    body, inputs, names, told, expected = CASES[case]
    executor = Executor("aot", {"interface-api": interface, "unpacked-api": interface == "c"})
    with tvm.transform.PassContext(config=config):
        factory = usmp.build(module(body, inputs, names), target, executor)
    inputs = [tensor.info.name for tensor in factory.interface.inputs]
    outputs = factory.run(dict(zip(inputs, (X, Y), strict=False)))
    assert list(outputs) == told
    for output, values in zip(outputs.values(), expected, strict=True):
        np.testing.assert_array_equal(output, values)


@pytest.mark.cc
@pytest.mark.parametrize("workspace_io", [False, True])
def test_a_state_that_is_output_twice(workspace_io):
    state = StateInfo("s", 2, tvm.runtime.tensor(np.zeros(4, np.int8)))

    def body(x, s):
        total = relax.op.add(x, s)
        return s, total, total, s

    builder = relax.BlockBuilder()
    x, s = (relax.Var(name, relax.TensorType((4,), "int8")) for name in ("x", "s"))
    with builder.function("main", [x, s]):
        with builder.dataflow():
            output = builder.emit_output(relax.Tuple([builder.emit(v) for v in body(x, s)]))
        builder.emit_func_output(output)
    mod = builder.get()
    attributes = {"output_names": ["s", "s", "s"], "states": [state]}
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attrs(attributes))
    with tvm.transform.PassContext(config=options(workspace_io, poison=workspace_io)):
        model = usmp.build(mod).load()
    one = np.ones(4, np.int8)
    for run in range(3):
        outputs = model.run({"x": one})
        assert list(outputs) == ["s", "s_1", "s_2"]
        values = [int(output[0]) for output in outputs.values()]
        assert values == [run, run + 1, run]


@pytest.mark.cc
@pytest.mark.parametrize("case", ["input twice", "other sizes", "constants"])
def test_under_sanitizers(case, tmp_path):
    body, inputs, names, _, expected = CASES[case]
    with tvm.transform.PassContext(config=options(workspace_io=True)):
        factory = usmp.build(module(body, inputs, names))
    data = b"".join(values.tobytes() for values in (X, Y)[: len(inputs)])
    outputs = run_as_program(factory, tmp_path, SANITIZERS, data)
    assert outputs == b"".join(values.tobytes() for values in expected)


@pytest.mark.models
@pytest.mark.parametrize("workspace_io", [False, True])
def test_onnx(workspace_io):
    graph = Graph()
    x = graph.input("x", [1, 4])
    graph.node("Neg", x, outputs=["y"])
    content = graph.model("y", "x", "y")
    inputs = {"x": np.array([[1, -2, 3, 4]], np.float32)}
    with tvm.transform.PassContext(config=options(workspace_io)):
        outputs = usmp.build(import_onnx(content, None)).run(inputs)
    expected = Reference(content).run(inputs)
    assert list(outputs) == ["y", "x", "y_1"]
    for name, output in outputs.items():
        np.testing.assert_array_equal(output, expected[name.removesuffix("_1")])


@pytest.mark.cc
@pytest.mark.parametrize("workspace_io", [False, True])
def test_tflite_tensors_of_one_name(workspace_io):
    graph = tflite_builder.Graph()
    a = graph.input((1, 4), "int8", per_tensor(0.5, 1), name="a")
    b = graph.input((1, 4), "int8", per_tensor(0.25, 2), name="a")
    total = graph.tensor((1, 4), "int8", per_tensor(1, 3), name="a")
    graph.operator("ADD", [a, b], [total], tflite_builder.options("AddOptions"))
    graph.output(total, b, total)
    with tvm.transform.PassContext(config=options(workspace_io)):
        factory = usmp.build(import_tflite(write_model(graph)))
    interface = factory.interface
    described = [(t.info.name, t.info.scale, t.c_name) for t in interface.inputs]
    assert described == [("a", 0.5, "a"), ("a_1", 0.25, "a_1")]
    described = [(t.info.name, t.info.scale) for t in interface.outputs]
    assert described == [
        (
            "a",
            1,
        ),
        ("a_1", 0.25),
        ("a_2", 1),
    ]
    second = np.array([[2, 6, 10, -2]], np.int8)
    outputs = factory.run({"a": np.array([[1, 3, 5, 7]], np.int8), "a_1": second})
    np.testing.assert_array_equal(outputs["a"], [[3, 5, 7, 5]])
    np.testing.assert_array_equal(outputs["a_1"], second)
    np.testing.assert_array_equal(outputs["a_2"], outputs["a"])


@pytest.mark.cc
@pytest.mark.parametrize("workspace_io", [False, True])
def test_tflite_outputs_that_nothing_computes_in_a_run(workspace_io):
    """Inputs and constants; of two inputs nothing is read, and one has no elements."""
    graph = tflite_builder.Graph()
    x = graph.input((2, 3), "int8", per_tensor(0.5, 1), name="a/b")
    graph.input((4,), "float32", name="a:b")
    empty = graph.input((0, 4), "float32", name="a b")
    c = graph.constant(np.array([-1, 2], np.float32))
    outputs = [x, c, empty, x]
    if workspace_io:
        y = graph.tensor((2,), "float32", name="int")
        graph.operator("RELU", [c], [y])
        outputs.append(y)
    graph.output(*outputs)
    with tvm.transform.PassContext(config=options(workspace_io, poison=workspace_io)):
        factory = usmp.build(import_tflite(write_model(graph)))
    interface = factory.interface
    assert [t.c_name for t in interface.inputs] == ["a_b", "a_b_1", "a_b_2"]
    given = np.arange(6, dtype=np.int8).reshape(2, 3)
    none = np.zeros((0, 4), np.float32)
    inputs = {"a/b": given, "a:b": np.ones(4, np.float32), "a b": none}
    expected = [given, np.array([-1, 2], np.float32), none, given, np.array([0, 2], np.float32)]
    for output, values in zip(factory.run(inputs).values(), expected, strict=False):
        np.testing.assert_array_equal(output, values)
        assert output.shape == values.shape
    assert len(interface.outputs) == len(outputs)


@pytest.mark.cc
def test_places_in_the_workspace_do_not_meet():
    """Outputs that are one tensor have two places, and so have an input and its output."""
    body, inputs, names, *_ = CASES["input twice"]
    with tvm.transform.PassContext(config=options(workspace_io=True, preserve_inputs=True)):
        factory = usmp.build(module(body, inputs, names))
    tensors = [*factory.interface.inputs, *factory.interface.outputs]
    places = [(int(t.allocation.byte_offset), t.info.size_bytes) for t in tensors]
    for (a, size_a), (b, size_b) in combinations(places, 2):
        assert a + size_a <= b or b + size_b <= a


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("workspace_io", [False, True])
def test_pytorch(workspace_io):
    torch = pytest.importorskip("torch", reason="make test installs it")
    from support.pytorch_models import exported

    class Repeated(torch.nn.Module):
        def forward(self, x):
            doubled = x + x
            return doubled, x, doubled

    x = torch.tensor([[1.0, -2.0, 3.0]])
    with tvm.transform.PassContext(config=options(workspace_io)):
        factory = usmp.build(import_pytorch(exported(Repeated(), x)))
    (name,) = (tensor.info.name for tensor in factory.interface.inputs)
    outputs = list(factory.run({name: x.numpy()}).values())
    for output, expected in zip(outputs, Repeated()(x), strict=True):
        np.testing.assert_array_equal(output, expected.numpy())


@pytest.mark.board
def test_on_a_board(tmp_path):
    board = board_named("mps2-an385")
    require_board(board)
    models = []
    for number, case in enumerate(["input twice", "other sizes"]):
        body, inputs, names, _, expected = CASES[case]
        factory = usmp.build(module(body, inputs, names), board=board, module_name=f"m{number}")
        given = [t.info.name for t in factory.interface.inputs]
        models.append((factory, [dict(zip(given, (X, Y), strict=False))], expected))
    results = run_models(board, [(factory, runs) for factory, runs, _ in models], tmp_path)
    for [outputs], (*_, expected) in zip(results, models, strict=True):
        for output, values in zip(outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(output, values)
