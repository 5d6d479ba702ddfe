"""Begin, end, strides and masks against what NumPy takes for the same key."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tvm.ir import Call

import usmp
from support.levels import seeds
from support.quantized_models.model import Spec, int32, one_operator
from support.tflite_builder import options
from usmp.frontend.tflite.check import check_tflite
from usmp.frontend.tflite.converters import TfliteOperator, operators_of
from usmp.frontend.tflite.importer import import_tflite
from usmp.frontend.tflite.shapes.strided_ranges import slices_of, strided_ranges
from usmp.tir.nodes import nodes_of

KEYS = 300


def operator_of(shape, begin, end, strides, **masks) -> TfliteOperator:
    table = options("StridedSliceOptions", **masks)
    inputs = [Spec(shape), int32(*begin), int32(*end), int32(*strides)]
    model = check_tflite(one_operator("STRIDED_SLICE", inputs, [Spec((1,))], table))
    return operators_of(model, model.Subgraphs(0))[0]


def operator_of_key(shape, key) -> TfliteOperator:
    """The operator that takes what NumPy takes for `key`."""
    parts = [part if isinstance(part, slice) else slice(part, 99) for part in key]
    numbers = [
        [value if isinstance(value, int) else 77 for value in (p.start, p.stop, p.step or 1)]
        for p in parts
    ]
    masks = {
        "begin_mask": [isinstance(part, slice) and part.start is None for part in key],
        "end_mask": [isinstance(part, slice) and part.stop is None for part in key],
        "ellipsis_mask": [part is Ellipsis for part in key],
        "new_axis_mask": [part is np.newaxis for part in key],
        "shrink_axis_mask": [isinstance(part, int) for part in key],
    }
    bits = {name: sum(bit << i for i, bit in enumerate(mask)) for name, mask in masks.items()}
    return operator_of(shape, *zip(*numbers, strict=True), **bits)


def taken(operator: TfliteOperator, data: np.ndarray) -> np.ndarray:
    ranges, shape = strided_ranges(operator)
    return data[slices_of(ranges)].reshape(shape)


def random_key(generator: random.Random, shape: tuple[int, ...]):
    """Some of the axes, with new ones and an ellipsis between them."""
    left_out = generator.randint(0, len(shape) - 1)
    ellipsis = generator.randint(0, len(shape) - left_out)
    key: list[object] = []
    for axis, extent in enumerate(shape):
        if ellipsis <= axis < ellipsis + left_out:
            continue
        bounds = [generator.choice([None, generator.randint(-9, 9)]) for _ in range(2)]
        stride = generator.choice([None, 1, 2, 3, -1, -2])
        index = generator.randint(-extent, extent - 1)
        key.append(generator.choice([slice(*bounds, stride), index]))
    if ellipsis < len(key) or left_out == 0 or generator.random() < 0.5:
        key.insert(ellipsis, Ellipsis)
    for _ in range(generator.randint(0, 2)):
        key.insert(generator.randint(0, len(key)), np.newaxis)
    return tuple(key)


@pytest.mark.slow
def test_takes_what_numpy_takes():
    differences = []
    for seed in seeds(KEYS, 10 * KEYS):
        generator = random.Random(seed)
        shape = tuple(generator.randint(1, 6) for _ in range(generator.randint(1, 4)))
        data = np.arange(np.prod(shape)).reshape(shape)
        key = random_key(generator, shape)
        if not np.array_equal(taken(operator_of_key(shape, key), data), data[key]):
            differences.append((seed, shape, key))
    assert differences == []


def test_end_counts_from_the_begin_with_an_offset():
    operator = operator_of((9,), [-3], [2], [1], offset=True)
    assert strided_ranges(operator) == ([range(6, 8)], (2,))


def test_steps_beyond_an_axis_take_all_of_its_one_element():
    inputs = [Spec((1, 4)), int32(0, 0), int32(1, 4), int32(2, 1)]
    content = one_operator("STRIDED_SLICE", inputs, [Spec((1, 4))], options("StridedSliceOptions"))
    assert not nodes_of(import_tflite(content)["main"].body, Call)


@pytest.mark.parametrize(
    ("numbers", "masks", "message"),
    [
        (([0, 0], [1], [1]), {}, "2 begins, 1 ends and 1 strides"),
        (([0], [1], [0]), {}, "a stride of 0"),
        (([4, 0], [1, 1], [1, 1]), {"shrink_axis_mask": 1}, "index 4 of an axis of 4 elements"),
        (([-5], [1], [1]), {"shrink_axis_mask": 1}, ""),
        (
            ([0] * 3, [1] * 3, [1] * 3),
            {},
            "begin, end and strides for 3 axes and 0 ellipses, of data of 2 axes",
        ),
        (
            ([0] * 3, [1] * 3, [1] * 3),
            {"ellipsis_mask": 5},
            "begin, end and strides for 1 axes and 2 ellipses, of data of 2 axes",
        ),
    ],
    ids=["lengths", "stride", "index", "clamped_index", "axes", "ellipses"],
)
def test_impossible_numbers(numbers, masks, message):
    operator = operator_of((4, 5), *numbers, **masks)
    if not message:
        assert strided_ranges(operator)[0][0] == range(1)
        return
    with pytest.raises(usmp.UnsupportedModelError) as error:
        strided_ranges(operator)
    assert str(error.value) == f'operator 0 (STRIDED_SLICE, output "t4"): {message}'
