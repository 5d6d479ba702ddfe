"""Functions of int16 by linear interpolation in a table."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import tirx
from tvm.sym import Analyzer

from support.relax_vm import computed
from usmp.ops.quantized.activation.interpolation import (
    interpolate,
    interpolated,
    interpolation_table,
)
from usmp.ops.quantized.rescaling.parameters import Quantization
from usmp.ops.records.elementwise import Tanh
from usmp.support.errors import UnsupportedModelError


def int16(scale, zero_point=0):
    return Quantization("int16", (scale,), (zero_point,))


def value_of(argument, table, wraps=False):
    def at(index):
        return tirx.IntImm("int32", table[Analyzer().simplify(index).value])

    result = interpolate(tirx.IntImm("int32", argument), at, wraps)
    return Analyzer().simplify(result).value


@pytest.mark.parametrize(
    ("argument", "expected"),
    [(-32768, 0), (-32767, 1), (-32641, 127), (-32640, 128), (0, 256 * 128), (32767, 65535)],
)
def test_steps_are_of_128(argument, expected):
    """Between two of the 513 values of the table, results are rounded to nearest, halves up."""
    assert value_of(argument, [128 * index for index in range(513)]) == expected


def test_slopes_are_rounded_to_nearest():
    table = [0] * 256 + [10, 9, -10] + [0] * 254
    assert [value_of(a, table) for a in (0, 64, 65, 127, 128, 192)] == [10, 10, 9, 9, 9, 0]


def test_slopes_that_wrap_are_taken_modulo_16_bits():
    table = [0] * 256 + [-30000, 30000] + [0] * 255
    # The slope of 60000 is -5536 then.
    assert value_of(64, table, True) == -30000 - 2768
    assert value_of(66, table, True) == -30000 - 2854 + 65536
    assert value_of(64, table) == 0
    assert value_of(1, table, True) == -30000 - 43
    assert value_of(128, table, True) == 30000


def test_the_table_of_a_line_is_a_line():
    table = interpolation_table(lambda x: x, np.float32(0.5), 0, np.float32(0.5))
    assert table.dtype == np.int16
    line = -32768 + np.arange(513) * 65535 / 512
    np.testing.assert_allclose(table, line, atol=1)
    assert (len(table), table[0], table[-1]) == (513, -32768, 32767)
    halved = interpolation_table(lambda x: x, np.float32(0.25), 0, np.float32(0.5))
    assert (halved[0], halved[256], halved[-1]) == (-16384, 0, 16384)


def test_zero_points_move_the_argument():
    seen = []
    interpolation_table(lambda x: seen.append(x) or x, np.float32(1), 8, np.float32(1))
    assert (min(seen), max(seen)) == (-32776, 32759)


def test_values_are_moved_by_half_of_the_error_in_the_middle_of_a_step():
    """The function is 100 in the middle of each step, else 0."""
    step = 65535 / 512

    def function(x):
        return np.float32(100 * (round((float(x) + 32768) * 2 / step) % 2))

    table = interpolation_table(function, np.float32(1), 0, np.float32(1))
    assert table.tolist() == [50] * 512 + [0]


def test_values_are_clipped_to_16_bits():
    table = interpolation_table(lambda x: x * 3, np.float32(1), 0, np.float32(1))
    assert (table.min(), table.max()) == (-32768, 32767)


def test_results_that_are_too_great_are_refused():
    for factor in (np.float32(2.0**112), np.float32(np.inf)):
        with pytest.raises(UnsupportedModelError, match=r"the result is -.* steps of scale 1\.0;"):
            interpolation_table(lambda x, by=factor: x * by, np.float32(1), 0, np.float32(1))
    interpolation_table(lambda x: x * np.float32(2.0**110), np.float32(1), 0, np.float32(1))


@pytest.mark.parametrize(("scale", "tolerance"), [(1 / 4096, 9), (1 / 32768, 2)])
def test_operators_are_near_the_function(scale, tolerance):
    data = np.linspace(-32768, 32767, 300).astype(np.int16).reshape(2, 150)
    (output,) = computed(
        lambda builder, data: interpolated(
            builder, Tanh, data, np.sin, int16(scale), int16(1 / 32768)
        ),
        data,
    )
    assert output.dtype == np.int16
    exact = np.clip(np.sin(data * scale) * 32768, -32768, 32767)
    np.testing.assert_allclose(output, exact, atol=tolerance)


def test_operators_wrap_where_the_kernels_do():
    """Of a step from -32768 to 32767, the slope is -1 in 16 bits."""
    data = np.array([-1, 0, 63, 127, 128], np.int16)

    def function(x):
        return np.float32(-1 if x < 0 else 1)

    (output,) = computed(
        lambda builder, data: interpolated(
            builder, Tanh, data, function, int16(1.0), int16(1 / 32768)
        ),
        data,
    )
    assert output[-1] == 32767
    assert output[1] != 0


def test_zero_points_of_int16_are_refused():
    with pytest.raises(UnsupportedModelError, match="zero points are"):
        interpolated(None, Tanh, None, np.sin, int16(1.0, 3), int16(1.0))
