"""Operators that move elements: those that tflite-micro lacks or refuses, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import usmp
from support.quantized_models.model import Constant, Spec, int32, one_operator, scalar
from support.tflite_builder import Options, options, per_tensor
from support.tflite_refusals import refusal
from usmp.frontend.tflite.importer import import_tflite

pytestmark = pytest.mark.cc

X = Spec((2, 3, 4), 0.05, 5)
IMAGE = Spec((1, 4, 4, 8), 0.05, 5)
I32 = Spec((3,), 0, 0, "int32")


def run(code: str, inputs: list, output: Spec, table: Options | None = None, *given: np.ndarray):
    """The only output for these graph inputs, random ones by default."""
    factory = usmp.build(import_tflite(one_operator(code, inputs, [output], table)))
    infos = [tensor.info for tensor in factory.interface.inputs]
    arrays = list(given) or [random(tuple(info.shape), str(info.dtype)) for info in infos]
    named = dict(zip((str(info.name) for info in infos), arrays, strict=True))
    (result,) = factory.run(named).values()
    return result, arrays


def random(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    limits = np.iinfo(dtype)
    values = np.random.default_rng(0).integers(limits.min, limits.max, shape, endpoint=True)
    return values.astype(dtype)


def assert_same(actual: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(actual, expected, strict=True)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "bool", "float32"])
def test_every_type_is_moved(dtype):
    """Through operators of which tflite-micro has only some types."""
    x = Spec((2, 3, 4), 0, 0, dtype)
    data = random((2, 3, 4), "int8").astype(dtype)
    for code, inputs, shape, table, expected in [
        ("TRANSPOSE", [x, int32(2, 0, 1)], (4, 2, 3), None, data.transpose(2, 0, 1)),
        ("GATHER", [x, int32(2, 0)], (2, 2, 4), options("GatherOptions", axis=1), data[:, [2, 0]]),
        ("UNPACK", [x(1, 3, 4)], (3, 4), options("UnpackOptions", num=1), data[0]),
        ("REVERSE_V2", [x, int32(0, 2)], (2, 3, 4), None, data[::-1, :, ::-1]),
        (
            "SPACE_TO_BATCH_ND",
            [x(1, 2, 3, 4), int32(2, 1), paddings((0, 0), (0, 0))],
            (2, 1, 3, 4),
            None,
            data[:, None],
        ),
        (
            "MIRROR_PAD",
            [x, paddings((1, 0), (0, 2), (0, 0))],
            (3, 5, 4),
            options("MirrorPadOptions", mode=0),
            np.pad(data, [(1, 0), (0, 2), (0, 0)], "reflect"),
        ),
        ("TILE", [x, int32(1, 2, 1)], (2, 6, 4), None, np.tile(data, (1, 2, 1))),
        (
            "PADV2",
            [x, paddings((1, 0), (0, 0), (0, 2)), Constant(np.array(1, dtype))],
            (3, 3, 6),
            None,
            np.pad(data, [(1, 0), (0, 0), (0, 2)], constant_values=1),
        ),
    ]:
        given = data[:1] if inputs[0].shape[0] == 1 and len(inputs[0].shape) == 3 else data
        result, _ = run(code, inputs, x(*shape), table, given.reshape(inputs[0].shape))
        assert_same(result, expected)


def paddings(*pairs: tuple[int, int]) -> Constant:
    return Constant(np.array(pairs, np.int32))


def test_blocks_are_padded_with_the_zero_point():
    """tflite-micro pads with whatever its memory holds."""
    inputs = [Spec((1, 3, 5, 2), 0.05, 7), int32(2, 3), paddings((1, 0), (0, 1))]
    result, (x,) = run("SPACE_TO_BATCH_ND", inputs, Spec((6, 2, 2, 2), 0.05, 7))
    padded = np.pad(x, [(0, 0), (1, 0), (0, 1), (0, 0)], constant_values=7)
    expected = padded.reshape(1, 2, 2, 2, 3, 2).transpose(2, 4, 0, 1, 3, 5).reshape(6, 2, 2, 2)
    assert_same(result, expected)


@pytest.mark.parametrize("index", [-7, -1, 3, 1000])
def test_indices_outside_count_as_the_nearest_inside(index):
    table = options("GatherOptions", axis=1)
    x, indices = random((2, 3, 4), "int8"), np.array([1, index], np.int32)
    result, _ = run("GATHER", [X, Spec((2,), 0, 0, "int32")], X(2, 2, 4), table, x, indices)
    assert_same(result, x[:, [1, min(max(index, 0), 2)]])


@pytest.mark.parametrize("begin", [(0, 1), (-3, 2), (4, 9)])
def test_a_part_is_replaced_where_it_fits(begin):
    x, update = random((5, 6), "int8"), random((2, 3), "int8")
    inputs = [X(5, 6), X(2, 3), Spec((2,), 0, 0, "int32")]
    at = np.array(begin, np.int32)
    result, _ = run("DYNAMIC_UPDATE_SLICE", inputs, X(5, 6), None, x, update, at)
    row, column = min(max(begin[0], 0), 3), min(max(begin[1], 0), 3)
    x[row : row + 2, column : column + 3] = update
    assert_same(result, x)


def test_shapes_are_known():
    result, _ = run("SHAPE", [X], I32, options("ShapeOptions", out_type=2))
    assert_same(result, np.array([2, 3, 4], np.int32))


def test_shapes_are_broadcast():
    given = (np.array([1, 5], np.int32), np.array([2, 7, 1], np.int32))
    result, _ = run("BROADCAST_ARGS", [Spec((2,), 0, 0, "int32"), I32], I32, None, *given)
    assert_same(result, np.array([2, 7, 5], np.int32))


def test_one_value_fills_a_tensor():
    result, (value,) = run("FILL", [int32(2, 3), X()], X(2, 3))
    assert_same(result, np.full((2, 3), value, np.int8))


def test_rows_are_looked_up_and_become_real():
    rows = Constant(random((7, 3), "int8"), per_tensor(0.013))
    indices = np.array([6, 0, 3], np.int32)
    result, _ = run("EMBEDDING_LOOKUP", [I32, rows], Spec((3, 3), 0, 0, "float32"), None, indices)
    assert_same(result, rows.data[indices].astype(np.float32) * np.float32(0.013))


def test_one_number_selects_a_slice():
    condition, x, y = (
        np.array([True, False]),
        random((2, 3, 4), "int8"),
        np.zeros((2, 3, 4), "int8"),
    )
    inputs = [Spec((2,), 0, 0, "bool"), X, X]
    result, _ = run("SELECT", inputs, X, None, condition, x, y)
    assert_same(result, np.where(condition[:, None, None], x, y))


REFUSED = {
    "pad_shape": (
        ("PAD", [X, paddings((1, 1), (0, 0))], X),
        "paddings of shape [2, 2] for data of shape [2, 3, 4]; they should have shape [3, 2]",
    ),
    "pad_negative": (
        ("PAD", [X, paddings((1, 1), (0, -1), (0, 0))], X),
        "negative paddings, [[1, 1], [0, -1], [0, 0]]",
    ),
    "pad_computed": (
        ("PAD", [X, Spec((3, 2), 0, 0, "int32")], X),
        'input 1, "t1", is computed; only a constant is supported',
    ),
    "pad_output": (
        ("PAD", [X, paddings((1, 1), (0, 0), (0, 0))], X(4, 3, 5)),
        'output "t2" is int8[4, 3, 5]; the inputs and options give int8[4, 3, 4]',
    ),
    "pad_infinity": (
        (
            "PADV2",
            [
                Spec((2,), 0, 0, "float32"),
                paddings((1, 1)),
                Constant(np.array(np.inf, np.float32)),
            ],
            Spec((4,), 0, 0, "float32"),
        ),
        "padding with inf is not supported",
    ),
    "mirror": (
        ("MIRROR_PAD", [X, paddings((0, 0), (3, 0), (0, 0))], X, options("MirrorPadOptions")),
        "3 elements beside an axis whose mirror image has 2",
    ),
    "concatenation_scale": (
        (
            "CONCATENATION",
            [X, Spec((2, 3, 4), 0.07, 5)],
            X(4, 3, 4),
            options("ConcatenationOptions"),
        ),
        'input "t1" has scale 0.07000000029802322 and zero point 5, the output '
        "0.05000000074505806 and 5; quantize the model so that they are the same",
    ),
    "concatenation_activation": (
        (
            "CONCATENATION",
            [X, X],
            X(4, 3, 4),
            options("ConcatenationOptions", fused_activation_function=1),
        ),
        "a fused activation, RELU, is not supported",
    ),
    "concatenation_axes": (
        ("CONCATENATION", [X, X(3, 4)], X(4, 3, 4), options("ConcatenationOptions")),
        'inputs "t0" of shape [2, 3, 4] and "t1" of shape [3, 4] have not the same number of axes',
    ),
    "concatenation_axis": (
        ("CONCATENATION", [X, X], X(4, 3, 4), options("ConcatenationOptions", axis=3)),
        "axis 3 of a tensor of 3 axes",
    ),
    "concatenation_types": (
        (
            "CONCATENATION",
            [X, Spec((2, 3, 4), 0.05, 0, "int16")],
            X,
            options("ConcatenationOptions"),
        ),
        'input "t1" is of type int16; supported: int8',
    ),
    "pack_shapes": (
        ("PACK", [X, X(2, 3, 5)], X(2, 2, 3, 4), options("PackOptions", values_count=2)),
        "inputs of shapes [2, 3, 4] and [2, 3, 5]; all must be the same",
    ),
    "unpack_count": (
        ("UNPACK", [X], X(3, 4), options("UnpackOptions", num=2)),
        "an axis of 2 elements for 1 outputs",
    ),
    "split": (
        ("SPLIT", [scalar(1), X], X(2, 2, 4), options("SplitOptions", num_splits=1)),
        'output "t2" is int8[2, 2, 4]; the inputs and options give int8[2, 3, 4]',
    ),
    "split_v": (
        ("SPLIT_V", [X, int32(2), scalar(1)], X(2, 2, 4), options("SplitVOptions", num_splits=1)),
        "an axis of 3 elements cannot be cut into 1 parts of sizes [2]",
    ),
    "slice": (
        ("SLICE", [X, int32(0, 1, 2), int32(2, 2, 3)], X(2, 2, 3)),
        "3 elements from 2 on leave an axis of 4 elements",
    ),
    "transpose": (
        ("TRANSPOSE", [X, int32(0, 1, 1)], X),
        "[0, 1, 1] is not an order of the axes of data of shape [2, 3, 4]",
    ),
    "gather_index": (
        ("GATHER", [X, int32(0, 3)], X(2, 2, 4), options("GatherOptions", axis=1)),
        "index 3 is outside of axis 1, which has 3 elements; indices from 0 to 2 are inside",
    ),
    "gather_batch": (
        ("GATHER", [X, int32(0, 1)], X(2, 4), options("GatherOptions", axis=0, batch_dims=1)),
        "1 batch axes, of data of shape [2, 3, 4] along axis 0 and indices of shape [2]",
    ),
    "gather_nd": (
        ("GATHER_ND", [X, Constant(np.array([[0, 0, 0, 0]], np.int32))], X(1)),
        "indices of shape [1, 4] for data of shape [2, 3, 4]",
    ),
    "gather_nd_index": (
        ("GATHER_ND", [X, Constant(np.array([[1, -1]], np.int32))], X(1, 4)),
        "index -1 is outside of axis 1, which has 3 elements; indices from 0 to 2 are inside",
    ),
    "space_to_depth": (
        ("SPACE_TO_DEPTH", [IMAGE], IMAGE, options("SpaceToDepthOptions", block_size=3)),
        "an image of 4 x 4 elements in blocks of 3 x 3",
    ),
    "depth_to_space": (
        ("DEPTH_TO_SPACE", [IMAGE], IMAGE, options("DepthToSpaceOptions", block_size=3)),
        "8 channels for blocks of 3 x 3 elements",
    ),
    "space_to_batch": (
        ("SPACE_TO_BATCH_ND", [IMAGE, int32(2, 2), paddings((0, 1), (0, 0))], IMAGE),
        "axis 1 has 5 elements with padding, no multiple of the block's 2",
    ),
    "batch_to_space": (
        ("BATCH_TO_SPACE_ND", [IMAGE, int32(2, 2), paddings((0, 0), (0, 0))], IMAGE),
        "a batch of 1 is no multiple of blocks of 4 elements",
    ),
    "blocks": (
        ("SPACE_TO_BATCH_ND", [IMAGE, int32(2), paddings((0, 0), (0, 0))], IMAGE),
        "blocks of 1 axes with amounts of shape [2, 2], of data of shape [1, 4, 4, 8]",
    ),
    "resize": (
        (
            "RESIZE_BILINEAR",
            [IMAGE, int32(0, 4)],
            IMAGE,
            options("ResizeBilinearOptions"),
        ),
        "images of shape [1, 4, 4, 8] cannot have the size [0, 4]",
    ),
    "resize_flags": (
        (
            "RESIZE_BILINEAR",
            [IMAGE, int32(4, 4)],
            IMAGE,
            options("ResizeBilinearOptions", align_corners=True, half_pixel_centers=True),
        ),
        "align_corners and half_pixel_centers exclude each other",
    ),
    "fill_shape": (
        ("FILL", [int32(2, 3), X()], X(2, 4)),
        'the shape is given as [2, 3]; output "t2" has [2, 4]',
    ),
    "broadcast": (
        ("BROADCAST_TO", [X, int32(2, 5, 4)], X(2, 5, 4)),
        "data of shape [2, 3, 4] cannot be repeated to shape [2, 5, 4]",
    ),
    "update": (
        ("DYNAMIC_UPDATE_SLICE", [X, X(3, 3, 4), I32], X),
        "an update of shape [3, 3, 4] at a begin of shape [3], in data of shape [2, 3, 4]",
    ),
    "select": (
        ("SELECT_V2", [Spec((5,), 0, 0, "bool"), X, X], X),
        "shapes [5], [2, 3, 4], [2, 3, 4] do not go together",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    (code, inputs, output, *table), message = REFUSED[name]
    assert refusal(code, inputs, output, *table) == message
