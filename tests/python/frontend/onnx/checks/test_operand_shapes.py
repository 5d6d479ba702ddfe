"""Shapes and values of inputs that must belong together."""

from __future__ import annotations

import numpy as np
import pytest

from support.lazy import lazy
from usmp.frontend.onnx.graph.node import NotSupported

Operand = lazy("usmp.frontend.onnx.graph.operands:Operand")
check_operand_shapes = lazy("usmp.frontend.onnx.checks.operand_shapes:check_operand_shapes")

INF = float("inf")


def ints(*numbers):
    return np.array(numbers, np.int64)


def floats(*numbers):
    return np.array(numbers, np.float32)


def operand(given):
    """Of a shape, of a constant, or of fields by name."""
    if isinstance(given, np.ndarray):
        return Operand(list(given.shape), given, str(given.dtype))
    return Operand(**given) if isinstance(given, dict) else Operand(given)


def check(operator, operands, **attributes):
    check_operand_shapes(operator, [operand(each) for each in operands], attributes)


X8, X32 = {"shape": [2, 3], "dtype": "int8"}, {"shape": [2, 3], "dtype": "int32"}
SCALAR8 = {"shape": [], "dtype": "int8"}
SEQUENCE = {"shape": [4], "length": 3}
THETA2, THETA3 = [5, 2, 3], [5, 3, 4]


@pytest.mark.parametrize(
    ("operator", "operands", "attributes"),
    [
        ("Relu", [[2]], {}),
        ("QuantizeLinear", [[2, 3], []], {}),
        ("QuantizeLinear", [[2, 3], [1], [1]], {"axis": 5}),
        ("QuantizeLinear", [[2, 3], [3], [3]], {}),
        ("QuantizeLinear", [[2, 3], [2], [2]], {"axis": 0}),
        ("QuantizeLinear", [[2, 3], [2, 5]], {"block_size": 1}),
        ("QuantizeLinear", [[2, None], [5]], {}),
        ("QuantizeLinear", [[2, 3], [3], None], {}),
        ("DequantizeLinear", [X8, [], SCALAR8], {}),
        ("DequantizeLinear", [X8, [], None], {}),
        ("InstanceNormalization", [[1, 4, 9], [4], [4]], {}),
        ("InstanceNormalization", [[1, None, 9], [5], [4]], {}),
        ("InstanceNormalization", [[4], [5], [5]], {}),
        ("InstanceNormalization", [[1, 4], [None], [4]], {}),
        ("GroupNormalization", [[1, 4, 9]], {"num_groups": 2}),
        ("GroupNormalization", [[1, None, 9]], {"num_groups": 3}),
        ("GroupNormalization", [[4]], {"num_groups": 3}),
        ("LayerNormalization", [[2, 3, 4], [4], [1]], {}),
        ("LayerNormalization", [[2, 3, 4], [3, 4], [4]], {"axis": 1}),
        ("LayerNormalization", [[2, 3, 4], [2, 1, 4], None], {"axis": 0}),
        ("Gemm", [[2, 3], [3, 4], [2, 4]], {}),
        ("Gemm", [[2, 3], [3, 4], [4]], {}),
        ("Gemm", [[3, 2], [3, 4], [2, 1]], {"transA": 1}),
        ("Gemm", [[2, 3], [4, 3], [2, 4]], {"transB": 1}),
        ("Gemm", [[2, 3], [3, 4], []], {}),
        ("Gemm", [[2, 3], [3, 4], None], {}),
        ("SpaceToDepth", [[1, 3, 4, 6]], {"blocksize": 2}),
        ("SpaceToDepth", [[1, 3, None, 6]], {"blocksize": 3}),
        ("DepthToSpace", [[1, 8, 3, 3]], {"blocksize": 2}),
        ("DepthToSpace", [[1, None, 3, 3]], {"blocksize": 3}),
        ("DepthToSpace", [[1, 7, 3, 3]], {"blocksize": 1}),
        ("Pad", [[3, 4], ints(1, 0, 5, 9)], {}),
        ("Pad", [[3, 4], ints(-1, 0, -2, 0)], {}),
        ("Pad", [[3, 4], ints(2, 3, 2, 0)], {"mode": b"reflect"}),
        ("Pad", [[3, 4], ints(9, 9, 0, 0)], {"mode": b"edge"}),
        ("Pad", [[3, 0], ints(1, 0, 0, 0)], {"mode": b"edge"}),
        ("Pad", [[3, 4], ints(9, 0), None, ints(-1)], {}),
        ("Pad", [[3, 4], ints(3, 0), None, ints(1)], {"mode": b"reflect"}),
        ("Pad", [[3, 4]], {"pads": [1, 1, 1, 1]}),
        ("Pad", [[3, 4], ints(1), None, {"shape": [1]}], {}),
        ("Pad", [None, ints(1)], {}),
        ("Transpose", [[2, 3, 4]], {"perm": [2, 0, 1]}),
        ("Transpose", [[2, 3, 4]], {}),
        ("Range", [floats(0), floats(5), floats(0.5)], {}),
        ("Range", [ints(0), ints(0), None], {}),
        ("OneHot", [[3], ints(4), [2]], {}),
        ("OneHot", [[3], None, None], {}),
        ("AffineGrid", [THETA2, ints(5, 1, 4, 4)], {}),
        ("AffineGrid", [THETA3, ints(5, 1, 4, 4, 4)], {}),
        ("AffineGrid", [THETA3, None], {}),
        ("Compress", [[2, 3], [6]], {}),
        ("Compress", [[2, 3], [3]], {"axis": 1}),
        ("Compress", [[2, None], [9]], {}),
        ("Reshape", [[2, 6], ints(3, 4)], {}),
        ("Reshape", [[2, 6], ints(0, 3, 2)], {}),
        ("Reshape", [[2, 6], ints(5, -1)], {}),
        ("Reshape", [[0, 6], ints(3, 0)], {"allowzero": 1}),
        ("Reshape", [[None, 6], ints(5, 5)], {}),
        ("LRN", [[1, 2, 3]], {"size": 1}),
        ("LRN", [[1, 2, 3]], {"size": 1 << 16}),
        ("LRN", [[1, 2, 3]], {}),
        ("LpPool", [[1, 2, 3]], {"p": 1}),
        ("GlobalLpPool", [[1, 2, 3]], {}),
        ("RoiAlign", [[1, 2, 3, 4]], {"sampling_ratio": 1 << 16}),
        ("RoiAlign", [[1, 2, 3, 4]], {}),
        ("CenterCropPad", [[2, 3], [2]], {}),
        ("CenterCropPad", [[2, 3], [1]], {"axes": [1]}),
        ("CenterCropPad", [None, [9]], {}),
        ("Concat", [[2, 3], [2, 5]], {"axis": 1}),
        ("Concat", [[2, 3], [4, 3], None], {"axis": -2}),
        ("Concat", [None], {"axis": 0}),
        ("SequenceAt", [SEQUENCE, ints(2)], {}),
        ("SequenceErase", [SEQUENCE, ints(-3)], {}),
        ("SequenceInsert", [SEQUENCE, [4], ints(3)], {}),
        ("SequenceInsert", [[4], [4], ints(9)], {}),
        ("SequenceAt", [SEQUENCE, None], {}),
        ("Split", [[6], ints(0, 6)], {}),
        ("Split", [[6]], {"split": [3, 3]}),
        ("Split", [[6], ints()], {}),
    ],
)
def test_inputs_that_belong_together(operator, operands, attributes):
    check(operator, operands, **attributes)


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "message"),
    [
        ("QuantizeLinear", [[2, 3], [2], [2]], {}, r"along axis 1 of \[2, 3\] it must be \[3\]"),
        ("QuantizeLinear", [[2, 3], [3], [3]], {"axis": 0}, "along axis 0"),
        ("QuantizeLinear", [[2, 3], [3, 1]], {}, "its scale has the shape"),
        ("QuantizeLinear", [[2, 3], [3], [1]], {}, "its zero point has the shape"),
        ("DequantizeLinear", [[2, 3], [2]], {}, "its scale has the shape"),
        ("DequantizeLinear", [X32, [], SCALAR8], {}, "its zero point is int8, and its input int32"),
        ("InstanceNormalization", [[1, 4], [3], [4]], {}, r"its scale .* must be \[4\]"),
        ("InstanceNormalization", [[1, 4], [4], [1, 4]], {}, "its bias has the shape"),
        ("GroupNormalization", [[1, 4, 9]], {"num_groups": 3}, "does not divide 4 channels"),
        ("GroupNormalization", [[1, 4]], {"num_groups": 8}, "does not divide 4 channels"),
        ("GroupNormalization", [None], {"num_groups": 0}, "num_groups is 0"),
        ("LayerNormalization", [[2, 3, 4], [3, 4]], {}, r"its scale .* broadcast to \[4\]"),
        ("LayerNormalization", [[2, 3, 4], [4], [3]], {}, "its bias has the shape"),
        ("LayerNormalization", [[2, 3, 4], [4, 1]], {"axis": 1}, "does not broadcast"),
        ("Gemm", [[2, 3], [3, 4], [2, 3]], {}, r"does not broadcast to \[2, 4\]"),
        ("Gemm", [[2, 3], [3, 4], [1, 2, 4]], {}, "does not broadcast"),
        ("Gemm", [[2, 2], [3, 4], [3, 4]], {"transA": 1}, r"does not broadcast to \[2, 4\]"),
        ("Gemm", [[2, 3], [4, 3], [3]], {"transB": 1}, r"does not broadcast to \[2, 4\]"),
        ("SpaceToDepth", [[1, 3, 4, 6]], {"blocksize": 4}, "does not divide the image"),
        ("SpaceToDepth", [[1, 3, 5, 6]], {"blocksize": 2}, "does not divide the image"),
        ("SpaceToDepth", [None], {"blocksize": 0}, "blocksize is 0; it must be positive"),
        ("DepthToSpace", [[1, 6, 3, 3]], {"blocksize": 2}, "whose square does not divide the 6"),
        ("DepthToSpace", [[1, 6]], {"blocksize": 2}, "whose square does not divide the 6"),
        ("Pad", [[3, 4], ints(1, 1)], {}, "are not two for each of 2 axes"),
        ("Pad", [[3, 4], ints(1, 1, 1, 1), None, ints(0)], {}, "are not two for each of 1 axes"),
        ("Pad", [[3, 4], ints(-2, 0, -2, 0)], {}, "widths -2 and -2 along axis 0, of whose 3"),
        ("Pad", [[3, 4], ints(0, 0, 0, 4)], {"mode": b"reflect"}, "0 and 4 along axis 1"),
        ("Pad", [[3, 4], ints(2, 0, -1, 0)], {"mode": b"reflect"}, "2 are kept, in mode reflect"),
        ("Pad", [[3, 0], ints(0, 1, 0, 0)], {"mode": b"edge"}, "0 are kept, in mode edge"),
        ("Pad", [[3, 4], ints(4, 0), None, ints(-1)], {"mode": b"reflect"}, "along axis 1"),
        ("Pad", [[3, 4]], {"pads": [1, 1]}, "are not two for each of 2 axes"),
        ("Transpose", [[2, 3, 4]], {"perm": [0, 1]}, r"perm \[0, 1\] is no order of 3 axes"),
        ("Transpose", [[2, 3]], {"perm": [0, 0]}, "is no order of 2 axes"),
        ("Range", [floats(0), floats(5), floats(0)], {}, "it never ends"),
        ("Range", [floats(0), floats(INF), None], {}, "it never ends"),
        ("OneHot", [[3], floats(INF), [2]], {}, "its depth is"),
        ("OneHot", [[3], ints(4), [3]], {}, "they must be two"),
        ("AffineGrid", [[4, 2, 3], ints(5, 1, 4, 4)], {}, "its matrices have the shape"),
        ("AffineGrid", [THETA2, ints(5, 1, 4, 4, 4)], {}, "its matrices have the shape"),
        ("AffineGrid", [[5, 1, 2], ints(5, 1, 4)], {}, "its matrices have the shape"),
        ("AffineGrid", [[5, 2, 2], ints(5, 1, 4, 4)], {}, "its matrices have the shape"),
        ("Compress", [[2, 3], [7]], {}, "its condition has 7 elements, for 6 of the input"),
        ("Compress", [[2, 3], [3]], {"axis": 0}, "its condition has 3 elements, for 2"),
        ("Reshape", [[2, 6], ints(3, 5)], {}, "has not as many elements as"),
        ("Reshape", [[2, 6], ints(0, 5)], {}, r"has not as many elements as \[2, 5\]"),
        ("Reshape", [[2, 6], ints(2, 6, 0)], {}, "takes an extent that"),
        ("Reshape", [[2, 6], ints(0, 6)], {"allowzero": 1}, "has not as many elements"),
        ("LRN", [[1]], {"size": 0}, "size is 0; it must be from 1 to 65536"),
        ("LRN", [[1]], {"size": (1 << 16) + 1}, "it must be from 1 to 65536"),
        ("LpPool", [[1]], {"p": 0}, "p is 0; it must be positive"),
        ("GlobalLpPool", [[1]], {"p": -1}, "p is -1; it must be positive"),
        ("RoiAlign", [[1]], {"sampling_ratio": -1}, "it must be from 0 to 65536"),
        ("RoiAlign", [[1]], {"sampling_ratio": (1 << 16) + 1}, "it must be from 0 to 65536"),
        ("CenterCropPad", [[2, 3], [1]], {}, "it must have 2 extents"),
        ("CenterCropPad", [[2, 3], [2]], {"axes": [0]}, "it must have 1 extents"),
        ("Concat", [[2, 3], [4, 3]], {"axis": 1}, "differ along other axes than 1"),
        ("Concat", [[2, 3], [2, 3, 1]], {"axis": 1}, "differ along other axes than 1"),
        ("Concat", [[2, 3, 4], [2, 3, 5]], {"axis": 0}, "differ along other axes than 0"),
        ("SequenceAt", [SEQUENCE, ints(3)], {}, "position 3 is outside of 3 tensors"),
        ("SequenceErase", [SEQUENCE, ints(-4)], {}, "position -4 is outside of 3 tensors"),
        ("SequenceInsert", [SEQUENCE, [4], ints(4)], {}, "position 4 is outside of 3 tensors"),
        ("Split", [[6], ints(7, -1)], {}, "none may be negative"),
        ("Split", [[6]], {"split": [-1, 7]}, "none may be negative"),
    ],
)
def test_inputs_that_do_not_belong_together(operator, operands, attributes, message):
    with pytest.raises(NotSupported, match=message):
        check(operator, operands, **attributes)
