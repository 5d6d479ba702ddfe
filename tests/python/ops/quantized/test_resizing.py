"""Which element is the nearest, as a division."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tvm import tirx

from support.quantized_models.model import Spec, int32, one_operator
from support.tflite_builder import options
from usmp.analysis import safe_overlap
from usmp.aot_pipeline import lower_to_aot
from usmp.frontend.tflite.importer import import_tflite
from usmp.ops.quantized.resizing import Resize, _division
from usmp.support.errors import UnsupportedModelError


@pytest.mark.parametrize(
    ("align_corners", "half_pixel_centers", "tables"),
    [(False, False, 1), (True, False, 3), (False, True, 4)],
)
def test_a_division_gives_the_same_as_the_table(align_corners, half_pixel_centers, tables):
    """Where single precision rounds otherwise, the table is left."""
    found = 0
    for data, output in itertools.product(range(1, 33), repeat=2):
        side = Resize(data, output, align_corners, half_pixel_centers)
        division = _division(side, side.nearest())
        if division is None:
            found += 1
            continue
        dividends = np.arange(output) * division.factor + division.offset
        np.testing.assert_array_equal(dividends // division.divisor, side.nearest())
    assert found == tables


def test_rows_that_were_read_may_be_overwritten():
    x, y = Spec((1, 4, 3, 2), 0.05, 5), Spec((1, 10, 3, 2), 0.05, 5)
    table = options("ResizeNearestNeighborOptions", half_pixel_centers=True)
    content = one_operator("RESIZE_NEAREST_NEIGHBOR", [x, int32(10, 3)], [y], table)
    mod = lower_to_aot(import_tflite(content))
    func = mod["resize_nearest"]
    assert len(func.params) == 2
    # Both end at the same byte.
    assert safe_overlap(func).distance(*func.params) == 10 * 6 - 4 * 6


def test_places_of_more_than_32_bits():
    index = tirx.Var("index", "int32")
    assert str(Resize(12000, 6, False, False).place(index)) == "index * 2048000"
    with pytest.raises(UnsupportedModelError, match="12660 rows or columns are too many"):
        Resize(12660, 4, False, False).place(index)
