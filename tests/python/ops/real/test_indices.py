"""Indices of any value, constant or of the run: no operator reads or writes other memory."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.ir.transform import PassContext

import usmp
from support import index_operators_onnx as onnx_operators
from support import index_operators_tflite as tflite_operators
from support.index_sweep import Indices, Sweep, check_sweep
from support.lazy import lazy
from support.litert import Reference as LiteRt
from support.onnx_models import Graph, Reference
from support.operator_trials.tflite import DRAFTS
from usmp.frontend.tflite.importer import import_tflite

onnx = lazy("onnx")
compared = lazy("usmp.frontend.onnx.converters.operators")
opsets = lazy("usmp.frontend.onnx.graph.opsets")
import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

CONSTANT_ONNX = """
AffineGrid.size BlackmanWindow.size CenterCropPad.shape ConstantOfShape.input CumProd.axis
CumSum.axis DFT.axis DFT.dft_length Expand.shape GRU.sequence_lens HammingWindow.size
HannWindow.size LSTM.sequence_lens Loop.M MelWeightMatrix.dft_length MelWeightMatrix.num_mel_bins
MelWeightMatrix.sample_rate Pad.axes Pad.pads RNN.sequence_lens ReduceL1.axes ReduceL2.axes
ReduceLogSum.axes ReduceLogSumExp.axes ReduceMax.axes ReduceMean.axes ReduceMin.axes
ReduceProd.axes ReduceSum.axes ReduceSumSquare.axes Reshape.shape Resize.sizes STFT.frame_length
STFT.frame_step SequenceAt.position SequenceErase.position SequenceInsert.position Slice.axes
Slice.ends Slice.starts Slice.steps Split.split SplitToSequence.split Squeeze.axes Tile.repeats
TopK.K Unsqueeze.axes
""".split()
"""Inputs of ONNX operators that are refused if the run computes them."""
VALUES_ONNX = {"Attention.nonpad_kv_seqlen", "QLinearConv.B"}
"""Those that lead to no element: lengths that positions are compared with, and a bias."""
FLOATS_AND_ANY = {"GridSample", "OneHot", "RoiAlign"}
"""Operators with indices that may be of other types than integers."""


def swept_onnx():
    """The sweeps of ONNX operators, each with its opset."""
    return {
        "all": (onnx_operators.all_operators(), 21),
        "old": (onnx_operators.old_scatter(), 10),
        "new": (onnx_operators.new_operators(), 24),
    }


TOLERANCES = """EmbedLayerNormalization GridSample RoiAlign RotaryEmbedding
SoftmaxCrossEntropyLoss""".split()


def built(mod):
    """In the order of the model, which takes less time than to compare orders."""
    with PassContext(disabled_pass=["StreamOperators", "OrderOperators"]):
        return usmp.build(mod)


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.parametrize("name", ["all", "old", "new"])
def test_onnx_operators_with_any_index(name, tmp_path):
    sweep, opset = swept_onnx()[name]
    content = sweep.graph.model(*sweep.outputs, opset=opset, domains=["com.microsoft"])
    tolerances = {n: 1e-5 for n in sweep.outputs if n.partition("_")[0] in TOLERANCES}
    factory = built(import_onnx(content, None))
    check_sweep(sweep, factory, Reference(content).run, tmp_path, tolerances)


@pytest.mark.slow
@pytest.mark.models
def test_tflite_operators_with_any_index(tmp_path):
    sweep = tflite_operators.all_operators()
    content = tflite_operators.model_of(sweep)
    check_sweep(sweep, built(import_tflite(content)), LiteRt(content).run, tmp_path)


@pytest.mark.slow
@pytest.mark.models
@pytest.mark.filterwarnings("ignore:The reduce argument of torch.scatter:UserWarning")
@pytest.mark.filterwarnings("ignore:index_reduce:UserWarning")
def test_pytorch_operators_with_any_index(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch", reason="make test installs it")
    from support.index_operators_pytorch import all_operators
    from support.pytorch_models import exported
    from usmp.frontend.pytorch import translator
    from usmp.frontend.pytorch.converters import CONVERTERS
    from usmp.frontend.pytorch.importer import import_pytorch

    used = set()

    class Recorded(dict):
        def __getitem__(self, name):
            used.add(name)
            return super().__getitem__(name)

    monkeypatch.setattr(translator, "CONVERTERS", Recorded(CONVERTERS))
    sweep = all_operators()
    mod = import_pytorch(exported(sweep.module(), *sweep.arguments(sweep.runs()[-1])))
    arguments = {
        name: {a.name for a in _schema(torch, name).arguments if "Tensor" in str(a.type)}
        for name in CONVERTERS
    }
    assert {name for name, given in arguments.items() if given & {"index", "indices"}} <= used
    # An operator with tensors of another name may take indices in them.
    assert set().union(*arguments.values()) == set(
        "self other min max exponent condition query key value attn_mask input weight bias indices "
        "index mat1 mat2 running_mean running_var hx params src source values boundaries "
        "sorted_sequence sorter tensors".split()
    )
    check_sweep(sweep, built(mod), sweep.reference, tmp_path)


def _schema(torch, name):
    operator, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, operator), overload)._schema


@pytest.mark.slow
@pytest.mark.cc
def test_relax_operators_with_indices_of_any_type(model, tmp_path):
    """Of an axis that some of the types do not hold."""
    sweep = Sweep(data={"x": np.arange(400, dtype=np.float32).reshape(200, 2)})
    types = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    for dtype in types:
        sweep.indices[dtype] = Indices((3,), (200,), dtype)
        sweep.outputs.append(f"{dtype} rows")
    sweep.indices["columns"] = Indices((3,), (2,))
    sweep.outputs.append("elements")

    def body(builder, x, columns, *rows):
        taken = [builder.emit(relax.op.take(x, row, 0, "fast")) for row in rows]
        return relax.Tuple([*taken, builder.emit(relax.op.index_tensor(x, [rows[3], columns]))])

    given = [(dtype, (3,), dtype) for dtype in types]
    mod = model(body, ("x", (200, 2), "float32"), ("columns", (3,), "int64"), *given)

    def reference(inputs):
        outputs = {f"{dtype} rows": inputs["x"][inputs[dtype]] for dtype in types}
        return {**outputs, "elements": inputs["x"][inputs["int64"], inputs["columns"]]}

    check_sweep(sweep, built(mod), reference, tmp_path)


def test_each_onnx_operator_that_takes_indices_is_swept():
    """By ONNX's schemas: inputs that can only be int32 or int64."""
    swept = set().union(*(sweep.operators for sweep, _ in swept_onnx().values()))
    inputs = {
        f"{name}.{given.name}"
        for name in compared.COMPARED
        if "." not in name
        for given in onnx.defs.get_schema(name, opsets.NEWEST_OPSET).inputs
        if given.types and set(given.types) <= {"tensor(int32)", "tensor(int64)"}
    }
    known = set(CONSTANT_ONNX) | VALUES_ONNX
    assert known <= inputs
    taken = {name.partition(".")[0] for name in inputs - known}
    # Of Microsoft's operators ONNX has no schemas.
    assert taken | FLOATS_AND_ANY | {"EmbedLayerNormalization"} == swept


VALUES_TFLITE = set(
    "BROADCAST_ARGS BROADCAST_TO EXPAND_DIMS FILL ONE_HOT RESHAPE TRANSPOSE_CONV".split()
)
"""TFLite operators that take integers of the run which lead to no element: shapes and numbers."""


@pytest.mark.slow
def test_each_tflite_operator_that_takes_indices_is_swept():
    """Find by the trials of each operator what it takes."""
    taking = {name for name in DRAFTS if tflite_operators.takes_computed_integers(name)}
    assert taking >= VALUES_TFLITE
    assert taking - VALUES_TFLITE == tflite_operators.all_operators().operators


def one_node(operator, indices, updates=None, opset=18, **attributes):
    """A model of an operator with constant indices; the data is [2, 3]."""
    graph = Graph()
    operands = [graph.constant(np.array(indices), name="i")]
    if updates is not None:
        operands.append(graph.input("u", updates))
    if operator == "RoiAlign":
        operands = [graph.constant(np.zeros((1, 4), np.float32)), *operands]
    shape = [2, 1, 4, 4] if operator == "RoiAlign" else [2, 3]
    graph.node(operator, graph.input("x", shape), *operands, outputs=["y"], **attributes)
    return graph.model("y", opset=opset)


@pytest.mark.parametrize(
    ("operator", "indices", "updates", "attributes", "reason"),
    [
        ("Gather", [0, 2], None, {}, (2, 0, 2)),
        ("Gather", [[-4]], None, {"axis": -1}, (-4, 1, 3)),
        ("GatherElements", [[10**9, 0, 0]], None, {}, (10**9, 0, 2)),
        ("GatherElements", [[0, -4], [0, 0]], None, {"axis": 1}, (-4, 1, 3)),
        ("GatherND", [[10**7, 0]], None, {}, (10**7, 0, 2)),
        ("GatherND", [[1, 3]], None, {}, (3, 1, 3)),
        ("GatherND", [[2], [3]], None, {"batch_dims": 1}, (3, 1, 3)),
        ("ScatterElements", [[0, 1, -3]], [1, 3], {}, (-3, 0, 2)),
        ("ScatterND", [[1], [2**40]], [2, 3], {}, (2**40, 0, 2)),
        ("Scatter", [[0, 3], [0, 1]], [2, 2], {"axis": 1, "opset": 10}, (3, 1, 3)),
        ("RoiAlign", [2], None, {"opset": 16}, (2, 0, 2)),
    ],
)
def test_constant_indices_outside_are_refused_by_name(
    operator, indices, updates, attributes, reason
):
    content = one_node(operator, indices, updates, **attributes)
    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_onnx(content, None)
    index, axis, extent = reason
    least = 0 if operator == "RoiAlign" else -extent
    assert str(error.value) == (
        f'operator {operator} (node "node_y", output "y") is not supported: index {index} is '
        f"outside of axis {axis}, which has {extent} elements; indices from {least} to "
        f"{extent - 1} are inside"
    )


@pytest.mark.parametrize(("operator", "position"), [("SequenceAt", 2), ("SequenceErase", -3)])
def test_positions_outside_of_a_sequence(operator, position):
    graph = Graph()
    sequence = graph.node("SequenceConstruct", graph.input("a", [2]), graph.input("b", [2]))
    result = graph.node(operator, sequence, graph.constant(position))
    if operator == "SequenceErase":
        result = graph.node("SequenceAt", result, graph.constant(0))
    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_onnx(graph.model(result), None)
    assert f"is not supported: position {position} is outside of 2 tensors" in str(error.value)


@pytest.mark.cc
@pytest.mark.parametrize(
    ("operator", "indices", "expected"),
    [
        ("Gather", [1, -2, 1], lambda x: x[[1, 0, 1]]),
        ("GatherElements", [[0, -1, 1]], lambda x: x[[0, 1, 1], [0, 1, 2]][None]),
        ("GatherND", [[0, -1], [-2, 1], [1, 1]], lambda x: x[[0, 0, 1], [2, 1, 1]]),
    ],
)
def test_constant_indices_cost_nothing(operator, indices, expected):
    factory = usmp.build(import_onnx(one_node(operator, indices), None))
    assert "tvmgen_min" not in factory.source
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(factory.run({"x": x})["y"], expected(x))
