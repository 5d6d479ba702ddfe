"""Attributes of windows belong to the shapes of the inputs."""

from __future__ import annotations

import pytest

from support.lazy import lazy
from usmp.frontend.onnx.graph.node import NotSupported

Operand = lazy("usmp.frontend.onnx.graph.operands:Operand")
check_window = lazy("usmp.frontend.onnx.checks.windows:check_window")

MOST = (1 << 31) - 1


def check(operator, shapes, **attributes):
    check_window(operator, [Operand(shape) for shape in shapes], attributes)


IMAGE, WEIGHTS = [1, 4, 5, 7], [6, 4, 3, 3]
CONV = [IMAGE, WEIGHTS]
POOL = [IMAGE]


@pytest.mark.parametrize(
    ("operator", "shapes", "attributes"),
    [
        ("Relu", [[4]], {"kernel_shape": [0]}),
        ("Conv", [None], {"kernel_shape": [0]}),
        ("Conv", [[1, 4, 5], [6, 4, 3]], {}),
        ("Conv", CONV, {}),
        ("Conv", CONV, {"kernel_shape": [3, 3], "strides": [1, 9], "dilations": [2, 3]}),
        ("Conv", [IMAGE, None], {"kernel_shape": [5, 7]}),
        ("Conv", [IMAGE], {"kernel_shape": [9, 9], "pads": [2, 1, 2, 1]}),
        ("Conv", [IMAGE, [6, 2, 3, 3]], {"group": 2}),
        ("Conv", [[1, None, 5, 7], [6, 2, 3, 3]], {"group": 2}),
        ("Conv", [IMAGE, WEIGHTS, [6]], {}),
        ("Conv", [IMAGE, WEIGHTS, None], {}),
        ("Conv", [IMAGE, [None, 4, 3, 3]], {"kernel_shape": [5, 5]}),
        ("ConvInteger", [IMAGE, WEIGHTS, [1]], {}),
        ("Conv", [IMAGE, [6, 4, 9, 9]], {"auto_pad": b"SAME_UPPER"}),
        ("Conv", [IMAGE, [6, 4, 9, 9]], {"auto_pad": b"SAME_LOWER"}),
        ("Conv", [[1, 4, None, 7], [6, 4, 9, 7]], {}),
        ("MaxPool", POOL, {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1]}),
        ("MaxPool", POOL, {"kernel_shape": [5, 7]}),
        ("LpPool", POOL, {"kernel_shape": [1, 1], "strides": [MOST, 1]}),
        ("AveragePool", POOL, {}),
        ("ConvTranspose", [IMAGE, [4, 6, 3, 3]], {}),
        ("ConvTranspose", [IMAGE, [4, 3, 3, 3], [6]], {"group": 2}),
        ("ConvTranspose", [IMAGE, [4, 6, 3, 3]], {"pads": [3, 4, 3, 4]}),
        ("ConvTranspose", [IMAGE, [4, 6, 1, 1]], {"strides": [2, 1], "pads": [4, 0, 4, 0]}),
        (
            "ConvTranspose",
            [IMAGE, [4, 6, 3, 3]],
            {"pads": [4, 0, 4, 0], "output_padding": [2, 0]},
        ),
        ("ConvTranspose", [IMAGE, [4, 6, 3, 3]], {"pads": [4, 0, 4, 0], "output_shape": [1, 9]}),
        ("ConvTranspose", [IMAGE, [4, 6, 3, 3]], {"pads": [9] * 4, "auto_pad": b"VALID"}),
        ("ConvTranspose", [[1, 4, None, 7], [4, 6, 3, 3]], {"pads": [9, 0, 9, 0]}),
    ],
)
def test_windows_that_fit(operator, shapes, attributes):
    check(operator, shapes, **attributes)


@pytest.mark.parametrize(
    ("operator", "shapes", "attributes", "message"),
    [
        ("Conv", [[1, 4], [6, 4]], {}, "its input has rank 2"),
        ("MaxPool", POOL, {"kernel_shape": [2]}, r"kernel_shape \[2\] must be 2 numbers"),
        ("MaxPool", POOL, {"kernel_shape": [2, 0]}, "each must be from 1 to 2147483647"),
        ("MaxPool", POOL, {"kernel_shape": [2, MOST + 1]}, "each must be from 1"),
        ("Conv", CONV, {"strides": [0, 1]}, "strides are"),
        ("Conv", CONV, {"dilations": [1, 0]}, "dilations are"),
        ("Conv", CONV, {"dilations": [1]}, "dilations"),
        ("Conv", CONV, {"pads": [0, 0]}, r"pads \[0, 0\] must be 4 numbers"),
        ("Conv", CONV, {"pads": [0, 0, 0, -1]}, "each must be from 0"),
        ("Conv", CONV, {"kernel_shape": [3, 2]}, "its weights have the shape"),
        ("Conv", [IMAGE, [6, 4, 3]], {}, "its weights have rank 3, and its input 4"),
        ("Conv", [IMAGE, [6, 4, 0, 3]], {}, "which has no elements"),
        ("Conv", CONV, {"group": 0}, "group is 0; the least"),
        ("Conv", CONV, {"group": 2}, "do not belong to 4 channels"),
        ("Conv", [IMAGE, [5, 2, 3, 3]], {"group": 2}, "do not belong to 4 channels"),
        ("Conv", [IMAGE, WEIGHTS, [4]], {}, r"its bias has the shape \[4\]; it must be \[6\]"),
        ("ConvTranspose", [IMAGE, [3, 6, 3, 3]], {}, "do not belong to 4 channels"),
        ("ConvTranspose", [IMAGE, [4, 6, 3, 3]], {"group": 3}, "do not belong to 4 channels"),
        ("ConvTranspose", [IMAGE, [4, 3, 3, 3], [3]], {"group": 2}, r"it must be \[6\]"),
        ("Conv", CONV, {"auto_pad": b"SAME"}, "auto_pad is none of NOTSET, VALID"),
        ("MaxPool", POOL, {"kernel_shape": [2, 2], "pads": [0, 2, 0, 0]}, "are not smaller than"),
        ("MaxPool", POOL, {"kernel_shape": [2, 3], "pads": [0, 0, 2, 0]}, "are not smaller than"),
        ("MaxPool", POOL, {"kernel_shape": [6, 2]}, "5 with padding along axis 2"),
        ("MaxPool", POOL, {"kernel_shape": [2, 8]}, "7 with padding along axis 3"),
        ("Conv", CONV, {"dilations": [3, 1]}, r"a window of \[7, 3\] elements does not fit"),
        ("Conv", [IMAGE, [6, 4, 8, 1]], {"pads": [1, 0, 1, 0]}, "7 with padding along axis 2"),
        (
            "Conv",
            [IMAGE, [6, 4, 6, 1]],
            {"pads": [1, 0, 1, 0], "auto_pad": b"VALID"},
            "5 with padding along axis 2",
        ),
        (
            "ConvTranspose",
            [IMAGE, [4, 6, 3, 3]],
            {"pads": [4, 0, 3, 0]},
            "leave 0 elements of its result along axis 2",
        ),
        (
            "ConvTranspose",
            [IMAGE, [4, 6, 1, 2]],
            {"strides": [1, 2], "pads": [0, 9, 0, 5], "dilations": [1, 1]},
            "leave 0 elements of its result along axis 3",
        ),
        (
            "ConvTranspose",
            [IMAGE, [4, 6, 3, 3]],
            {"pads": [4, 0, 4, 0], "output_padding": [1, 0]},
            "leave 0 elements",
        ),
        ("ConvTranspose", [IMAGE, [4, 6, 3, 3]], {"output_padding": [-1, 0]}, "output_padding"),
        ("ConvTranspose", [IMAGE, [4, 6, 3, 3]], {"output_shape": [0, 1]}, "output_shape"),
    ],
)
def test_windows_that_do_not_fit(operator, shapes, attributes, message):
    with pytest.raises(NotSupported, match=message):
        check(operator, shapes, **attributes)
