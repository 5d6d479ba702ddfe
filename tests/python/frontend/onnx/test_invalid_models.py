"""Invalid ONNX files: attributes of other opsets, windows and sizes that do not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import usmp
from support.lazy import lazy
from support.onnx_models import Graph
from support.onnx_nodes import given, imported, later, node
from support.operator_trials.onnx.samples import int64, values
from support.operator_trials.trial import outcome
from usmp.support.model_warning import ModelWarning

import_onnx = lazy("usmp.frontend.onnx.importer:import_onnx")

pytestmark = pytest.mark.models

LARGEST = 2**63 - 1
VECTOR, MATRIX = values("float32", [4]), values("float32", [2, 3])
IMAGE = values("float32", [1, 1, 4, 4])
SCALE, ZERO = np.float32(1), np.uint8(0)


def ones(*shape: int, dtype="float32") -> np.ndarray:
    return np.ones(shape, dtype)


def refusal(make) -> str:
    """What is said of a model, behind the name of its only operator."""
    trial = make()
    with pytest.raises(usmp.UnsupportedModelError) as error:
        imported(trial.model)
    start = f'operator {trial.operator} (output "y0")'
    assert str(error.value).startswith(start)
    return str(error.value).removeprefix(start).removeprefix(" is not supported: ")


def since(name: str, opset: int, used: int) -> str:
    return (
        f'it has the attribute "{name}" since opset {opset}, and the model uses opset {used}; '
        f"export it with opset {opset} or newer"
    )


def up_to(name: str, opset: int, used: int) -> str:
    return (
        f'it has the attribute "{name}" up to opset {opset}, and the model uses opset {used}; '
        f"export it with opset {opset} or older"
    )


OF_OTHER_OPSETS = [
    (later("QuantizeLinear", MATRIX, SCALE, ZERO, opset=10, axis=0), since("axis", 13, 10)),
    (
        later("DequantizeLinear", values("int8", [2, 3]), ones(2), opset=12, axis=0),
        since("axis", 13, 12),
    ),
    (
        later("DequantizeLinear", values("int8", [2, 3]), SCALE, opset=13, block_size=2),
        since("block_size", 21, 13),
    ),
    (later("QuantizeLinear", MATRIX, SCALE, ZERO, opset=13, saturate=0), since("saturate", 19, 13)),
    (
        later("QuantizeLinear", MATRIX, SCALE, opset=19, output_dtype=3),
        since("output_dtype", 21, 19),
    ),
    (
        later("Resize", IMAGE, ones(0), ones(4), opset=11, antialias=1),
        since("antialias", 18, 11),
    ),
    (
        later("MaxPool", IMAGE, opset=8, kernel_shape=[2, 2], dilations=[1, 2]),
        since("dilations", 10, 8),
    ),
    (later("Reshape", MATRIX, int64(3, 2), opset=13, allowzero=1), since("allowzero", 14, 13)),
    (
        later("SpaceToDepth", IMAGE, opset=13, blocksize=2, mode="CRD"),
        since("mode", 28, 13),
    ),
    (later("Squeeze", values("float32", [1, 1, 3]), opset=13, axes=[0]), up_to("axes", 12, 13)),
    (later("ReduceSum", MATRIX, opset=13, axes=[0]), up_to("axes", 12, 13)),
    (later("Clip", MATRIX, opset=11, min=0.0), up_to("min", 10, 11)),
    (later("Add", MATRIX, MATRIX, opset=7, axis=0, broadcast=1), up_to("axis", 6, 7)),
    (
        later("BatchNormalization", IMAGE, *[ones(1)] * 4, opset=9, spatial=0),
        up_to("spatial", 8, 9),
    ),
]


@pytest.mark.parametrize(
    ("trial", "message"),
    OF_OTHER_OPSETS,
    ids=lambda each: "" if isinstance(each, str) else each.args[0],
)
def test_attributes_of_other_opsets(trial, message):
    """Left out, they would change what is computed."""
    assert refusal(trial) == message


@pytest.mark.parametrize(
    "trial",
    [
        later("MaxPool", IMAGE, opset=8, kernel_shape=[2, 2], dilations=[1, 1], ceil_mode=0),
        later("BatchNormalization", IMAGE, *[ones(1)] * 4, opset=9, spatial=1),
        later("Dropout", MATRIX, opset=12, ratio=0.25),
        later("Relu", MATRIX, opset=13, consumed_inputs=[0]),
    ],
    ids=lambda trial: trial.args[0],
)
def test_attributes_of_other_opsets_that_change_nothing(trial):
    with pytest.warns(ModelWarning, match="it is left out"):
        imported(trial().model)


POOLS = ("AveragePool", "MaxPool", "LpPool")
KERNEL = ones(1, 1, 2, 2)
DEFAULT_LIMIT = "a tensor may take 268435456, which --max-model-bytes"

INVALID = {
    **{
        f"{pool}, {end}": (
            later(pool, IMAGE, kernel_shape=[2, 2], pads=pads),
            f"pads {pads} are not smaller than its kernel [2, 2], so that windows would read "
            "padding alone",
        )
        for pool in POOLS
        for end, pads in {"begin": [2, 0, 0, 0], "end": [1, 1, 1, 2]}.items()
    },
    "cutting pads": (
        later("MaxPool", IMAGE, kernel_shape=[2, 2], pads=[-1, 0, 0, 0]),
        "pads are [-1, 0, 0, 0]; each must be from 0 to 2147483647",
    ),
    "no stride": (
        later("AveragePool", IMAGE, kernel_shape=[2, 2], strides=[0, 1]),
        "strides are [0, 1]; each must be from 1 to 2147483647",
    ),
    "a stride of 64 bits": (
        later("Conv", IMAGE, KERNEL, strides=[LARGEST, 1]),
        f"strides are [{LARGEST}, 1]; each must be from 1 to 2147483647",
    ),
    "one dilation of two": (
        later("Conv", IMAGE, KERNEL, dilations=[2]),
        "dilations [2] must be 2 numbers for the rank of its input",
    ),
    "a window that does not fit": (
        later("LpPool", IMAGE, kernel_shape=[5, 2]),
        "a window of [5, 2] elements does not fit into its input, which has 4 with padding along "
        "axis 2",
    ),
    "padding of another name": (
        later("AveragePool", IMAGE, kernel_shape=[2, 2], auto_pad="SAME"),
        "auto_pad is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER",
    ),
    "groups": (
        later("Conv", values("float32", [1, 3, 4, 4]), ones(4, 1, 2, 2), group=3),
        "weights of the shape [4, 1, 2, 2] in 3 groups do not belong to 3 channels",
    ),
    "no groups": (
        later("Conv", IMAGE, KERNEL, group=0),
        "group is 0; the least that it may be is 1",
    ),
    "another kernel": (
        later("Conv", IMAGE, KERNEL, kernel_shape=[3, 3]),
        "kernel_shape is [3, 3], and its weights have the shape [1, 1, 2, 2]",
    ),
    "a bias of two channels": (
        later("Conv", IMAGE, KERNEL, ones(2)),
        "its bias has the shape [2]; it must be [1]",
    ),
    "everything is cut off": (
        later("ConvTranspose", IMAGE, KERNEL, pads=[3, 3, 3, 3]),
        "pads [3, 3, 3, 3] leave -1 elements of its result along axis 2",
    ),
    "a switch": (
        later("ReduceMax", MATRIX, opset=13, keepdims=2),
        "keepdims is 2; it must be 0 or 1",
    ),
    "a word": (
        later("BitShift", *[values("uint8", [2])] * 2, direction="UP"),
        'direction is "UP"; ONNX knows LEFT, RIGHT',
    ),
    "a type": (later("Cast", MATRIX, to=99), "to 99 is the number of no element type"),
    "no number": (
        later("Elu", MATRIX, alpha=float("inf")),
        "alpha is inf; it must be a finite number",
    ),
    "a mirror that is too long": (
        later("Pad", VECTOR, int64(4, 0), mode="reflect"),
        "widths 4 and 0 along axis 0, of whose 4 elements 4 are kept, in mode reflect",
    ),
    "blocks of an image": (
        later("SpaceToDepth", IMAGE, blocksize=3),
        "blocksize is 3, which does not divide the image of [1, 1, 4, 4]",
    ),
    "blocks of channels": (
        later("DepthToSpace", IMAGE, blocksize=2),
        "blocksize is 2, whose square does not divide the 1 channels",
    ),
    "no block": (later("DepthToSpace", IMAGE, blocksize=0), "blocksize is 0; it must be positive"),
    "scales of other channels": (
        later("QuantizeLinear", MATRIX, ones(2), np.zeros(2, np.uint8)),
        "its scale has the shape [2]; along axis 1 of [2, 3] it must be [3]",
    ),
    "zero points of another number": (
        later("QuantizeLinear", MATRIX, ones(3), np.zeros(2, np.uint8)),
        "its zero point has the shape [2], and its scale [3]",
    ),
    "a zero point of another type": (
        later("DequantizeLinear", values("int8", [2, 3]), SCALE, ZERO),
        "its zero point is uint8, and its input int8",
    ),
    "a condition that is too long": (
        later("Compress", MATRIX, np.array([True] * 9), axis=0),
        "its condition has 9 elements, for 2 of the input",
    ),
    "axes in no order": (
        later("Transpose", MATRIX, perm=[0, 0]),
        "perm [0, 0] is no order of 2 axes",
    ),
    "parts that do not add up": (
        later("Split", VECTOR, int64(1, 2), outputs=2),
        "Mismatch between the sum of 'split' (3) and the split dimension of the input (4); its "
        "inputs are float32[4], int64[2]",
    ),
    "two extents that follow": (
        later("Reshape", MATRIX, int64(-1, -1)),
        "Target shape may not have multiple -1 dimensions; its inputs are float32[2, 3], int64[2]",
    ),
    "another number of elements": (
        later("Reshape", MATRIX, int64(4, 2)),
        "[2, 3] has not as many elements as [4, 2]",
    ),
    "parts of other shapes": (
        later("Concat", MATRIX, values("float32", [2, 4]), axis=0),
        "its inputs [[2, 3], [2, 4]] differ along other axes than 0",
    ),
    "shapes that do not broadcast": (
        later("Add", MATRIX, values("float32", [2])),
        "Incompatible dimensions; its inputs are float32[2, 3], float32[2]",
    ),
    "two types": (
        later("Add", MATRIX, values("int64", [3])),
        "B has inconsistent type tensor(int64); its inputs are float32[2, 3], int64[3]",
    ),
    "letters of no axis": (
        later("Einsum", MATRIX, equation="ij->k"),
        'its result "k" must have letters of its terms, each once',
    ),
    "letters of two extents": (
        later("Einsum", MATRIX, MATRIX, equation="ij,jk->ik"),
        '"j" of its equation stands for 3 and 2',
    ),
    "a sequence that never ends": (
        later("Range", *(np.array(number) for number in (0, 5, 0))),
        "its start, limit and step are [0, 5, 0]; it never ends",
    ),
    "a scale beyond all sizes": (
        later("Resize", IMAGE, None, np.array([1, 1, 1e30, 1], np.float32)),
        "scale 1.0000000150474662e+30 makes 4.000000060189865e+30 of 4 elements",
    ),
}


@pytest.mark.parametrize(("trial", "message"), INVALID.values(), ids=INVALID.keys())
def test_what_does_not_belong_together(trial, message):
    assert refusal(trial) == message


def test_positions_outside_of_a_sequence():
    graph = Graph()
    sequence = graph.node("SequenceConstruct", graph.input("x", [2]), "x")
    graph.node("SequenceAt", sequence, graph.constant(2, np.int64), outputs=["y0"])
    with pytest.raises(usmp.UnsupportedModelError, match=r"position 2 is outside of 2 tensors$"):
        import_onnx(graph.model("y0"), Path("."))


def test_lists_without_elements():
    graph = Graph()
    graph.node("Squeeze", graph.input("x", [1, 2]), outputs=["y0"], axes=[0])
    model = graph.proto("y0", opset=11)
    del model.graph.node[0].attribute[0].ints[:]
    with pytest.raises(usmp.UnsupportedModelError, match=r"axes is empty; leave it out$"):
        import_onnx(model.SerializeToString(), Path("."))


TOO_LARGE = {
    "Pad": (later("Pad", VECTOR, int64(LARGEST, LARGEST)), 2 * LARGEST + 4),
    "Pad of opset 10": (later("Pad", VECTOR, opset=10, pads=[LARGEST, LARGEST]), 2 * LARGEST + 4),
    "Pad with a value of the run": (
        later("Pad", VECTOR, int64(LARGEST, 1), values("float32", [1])),
        LARGEST + 5,
    ),
    "Tile": (later("Tile", VECTOR, int64(2**62)), 2**64),
    "Expand": (later("Expand", values("float32", [1]), int64(2**32, 2**32)), 2**32),
    "ConstantOfShape": (later("ConstantOfShape", int64(2**32, 2**32)), 2**32),
    "Range": (later("Range", *(np.array(n) for n in (-(2**63), LARGEST, 1))), 2**64 - 1),
    "Resize": (later("Resize", IMAGE, None, None, int64(1, 1, 2**32, 2**32)), 2**32),
    "OneHot": (later("OneHot", values("int64", [3]), np.array(LARGEST), ones(2)), LARGEST),
    "ConvTranspose": (
        later("ConvTranspose", IMAGE, KERNEL, strides=[2**31 - 1, 2**31 - 1]),
        3 * (2**31 - 1) + 2,
    ),
    "Conv": (later("Conv", IMAGE, KERNEL, pads=[2**31 - 1] * 4), 2**32 + 1),
    "RoiAlign": (
        later(
            "RoiAlign",
            IMAGE,
            given([0, 0, 2, 2]),
            given(0, dtype="int64"),
            output_height=2**32,
            output_width=2**32,
        ),
        2**32,
    ),
    "AffineGrid": (
        later("AffineGrid", values("float32", [1, 2, 3]), int64(1, 1, 2**32, 2**32), opset=20),
        2**32,
    ),
}


@pytest.mark.parametrize(("trial", "extent"), TOO_LARGE.values(), ids=TOO_LARGE.keys())
def test_sizes_beyond_all_memory(trial, extent):
    """They are counted without overflow."""
    message = refusal(trial)
    assert DEFAULT_LIMIT in message
    assert str(extent) in message


@pytest.mark.parametrize(
    "trial",
    [
        later("Pad", VECTOR, int64(-3, -3)),
        later("Tile", VECTOR, int64(-1)),
        later("ConstantOfShape", int64(-1)),
        later("Split", VECTOR, int64(-1, 5), outputs=2),
    ],
    ids=lambda trial: trial.args[0],
)
def test_negative_sizes(trial):
    message = refusal(trial)
    assert "negative" in message or "of whose 4 elements -2 are kept" in message


@pytest.mark.parametrize("operator", ["EyeLike", "Trilu"])
@pytest.mark.parametrize("diagonal", [-(2**63), -3, 4, LARGEST])
def test_diagonals_outside_of_the_matrix(operator, diagonal):
    trial = node(operator, values("float32", [3, 4]), k=diagonal)
    if operator == "Trilu":
        trial = node(operator, values("float32", [3, 4]), np.array(diagonal))
    result = outcome(trial)
    assert result.is_compared, result.detail


@pytest.mark.parametrize("step", [-(2**63), LARGEST])
def test_steps_beyond_the_axis(step):
    first, last = (LARGEST, -(2**63)) if step < 0 else (0, LARGEST)
    result = outcome(node("Slice", VECTOR, int64(first), int64(last), int64(0), int64(step)))
    assert result.is_compared, result.detail


def test_tensors_of_an_unknown_type():
    graph = Graph()
    graph.node("Relu", graph.input("x", [2]), outputs=["y"])
    model = graph.proto("y")
    model.graph.output[0].type.tensor_type.elem_type = 99
    with pytest.raises(usmp.UnsupportedModelError) as error:
        import_onnx(model.SerializeToString(), Path("."))
    assert str(error.value) == (
        'the file is damaged: tensor "y" has element type 99, which ONNX does not know'
    )
