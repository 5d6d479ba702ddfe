"""Callbacks in the header: their members, what is said of them, names that would meet theirs."""

from __future__ import annotations

import pytest

from usmp.codegen.interface.entry_interface import IOTensor, member_names
from usmp.codegen.sources.row_callbacks import callback_declaration
from usmp.objects import TensorInfo


@pytest.mark.parametrize(
    ("dtype", "what", "declared"),
    [
        ("int8", "inputs", "int32_t (*read_x)(void* context, int32_t row, int8_t* destination)"),
        ("float32", "inputs", "int32_t (*read_x)(void* context, int32_t row, float* destination)"),
        (
            "bool",
            "outputs",
            "int32_t (*write_x)(void* context, int32_t row, const uint8_t* source)",
        ),
        (
            "float16",
            "outputs",
            "int32_t (*write_x)(void* context, int32_t row, const uint16_t* source)",
        ),
    ],
)
def test_declarations(dtype, what, declared):
    tensor = IOTensor(TensorInfo("x", [2, 2], dtype), "x", None, is_by_rows=True)
    assert callback_declaration(tensor, what) == declared


def info(name: str) -> TensorInfo:
    return TensorInfo(name, [4, 4], "int8")


@pytest.mark.parametrize(
    ("names", "by_rows", "expected"),
    [
        (["x", "read_x"], ["x"], ["x", "read_x_1"]),
        (["read_x", "x"], ["x"], ["read_x", "x_1"]),
        (["x_context", "x"], ["x"], ["x_context", "x_1"]),
        (["x", "x_context"], ["x", "x_context"], ["x", "x_context_1"]),
        (["x", "read_x", "x_context"], [], ["x", "read_x", "x_context"]),
    ],
)
def test_members_that_would_have_one_name(names, by_rows, expected):
    infos = [info(name) for name in names]
    assert member_names({"": (infos, [])}, (), {"": (by_rows, [])}) == [expected]


@pytest.mark.parametrize(
    ("shape", "rows", "row_bytes"),
    [
        ([1, 96, 64, 3], 96, 192),
        ([49, 10], 49, 10),
        ([1, 1, 5], 5, 1),
        ([2, 8, 8], 2, 64),
        ([1, 1], 1, 1),
        ([], 1, 1),
    ],
)
def test_rows_of_shapes(shape, rows, row_bytes):
    tensor = TensorInfo("x", shape, "int8")
    assert (tensor.rows, tensor.row_size_bytes) == (rows, row_bytes)
