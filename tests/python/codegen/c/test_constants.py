"""Constant pools as C data."""

import ctypes

import numpy as np
import pytest
import tvm

from usmp.codegen.c.constants import constant_pool_bytes, print_constant_pool, struct_size_bytes
from usmp.codegen.c.literals import element_literals, float_literal, integer_literal
from usmp.codegen.c.source_files import text_of
from usmp.objects import AllocatedPoolInfo, ConstantInfo, ConstantPoolInfo

ALIGNED = "TVMGEN_ALIGNED(16)"


def pool(size_bytes, *constants):
    infos = [ConstantInfo(name, at, tvm.runtime.tensor(data)) for name, at, data in constants]
    return AllocatedPoolInfo(ConstantPoolInfo("flash", ["c"], infos), size_bytes)


MIXED = pool(
    41,
    ("bias", 0, np.array([1, -(2**31)], "int32")),
    ("scale", 16, np.array([0.1, -0.0], "float32")),
    ("wide", 24, np.array([1e300], "float64")),
    ("weights", 32, np.array([[-128, 127, 5]], "int8")),
    ("mask", 36, np.array([True, False, True])),
    ("last", 40, np.array(200, "uint8")),
)


def test_the_text_of_a_pool():
    small = pool(
        12, ("a/b", 0, np.array([1, -2], "int8")), ("x", 4, np.array([0.5, np.inf], "float32"))
    )
    assert print_constant_pool(small, "flash", ALIGNED) == (
        "static const struct {\n"
        "  int8_t a_b[2];  /* 2 bytes at 0 */\n"
        "  uint8_t padding[2];\n"
        "  float x[2];  /* 8 bytes at 4 */\n"
        "} flash TVMGEN_ALIGNED(16) = {\n"
        "  {\n    1, -2,\n  },\n"
        "  {0},\n"
        "  {\n    0.5f, INFINITY,\n  },\n"
        "};\n"
    )


def test_long_constants_are_broken_into_lines():
    data = np.arange(1000, 1100).astype("int32")
    text = print_constant_pool(pool(400, ("x", 0, data)), "flash", ALIGNED)
    assert max(map(len, text.split("\n"))) <= 100
    assert text.count("\n") < 20


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("special", [1.0, np.nan, -np.inf])
def test_literals_of_floats_are_those_of_each_one(dtype, special):
    bits = np.random.default_rng(0).integers(0, 256, 8000, np.uint8).view(dtype)
    numbers = np.append(bits[np.isfinite(bits)], [special, 0.0, -0.0]).astype(dtype)
    expected = [float_literal(number, dtype) for number in numbers]
    assert element_literals(numbers, dtype) == expected


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_literals_of_integers_are_those_of_each_one(dtype):
    limits = np.iinfo(dtype)
    numbers = np.array([[limits.min, limits.max, 0], [1, 5, limits.min + 1]], dtype)
    expected = [integer_literal(int(number), dtype) for number in numbers.reshape(-1)]
    assert element_literals(numbers, dtype) == expected


def compiled(compile_c, info):
    """The bytes that a C compiler makes of a pool."""
    text = print_constant_pool(info, "flash", ALIGNED)
    library = compile_c(
        "#include <math.h>\n#include <stdint.h>\n"
        f"{text_of('macros/compiler_macros.h')}\n{text}\n"
        "const void* start(void);\nconst void* start(void) { return &flash; }\n"
        "uint32_t size(void);\nuint32_t size(void) { return sizeof(flash); }\n"
    )
    library.start.restype = ctypes.c_void_p
    address = library.start()
    assert address % 16 == 0
    assert library.size() == struct_size_bytes(info)
    return ctypes.string_at(address, library.size())


def test_every_constant_is_where_the_plan_says(compile_c):
    content = compiled(compile_c, MIXED)
    assert content[:41] == constant_pool_bytes(MIXED)
    assert content[24:32] == np.array([1e300]).tobytes()


def test_the_pool_ends_with_a_whole_element_of_its_largest_type(compile_c):
    assert compiled(compile_c, MIXED)[41:] == bytes(7)


def test_special_floats_keep_their_bits(compile_c):
    values = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 2.0**-149, 3.4028235e38]
    data = np.array(values, "float32")
    assert compiled(compile_c, pool(data.nbytes, ("x", 0, data))) == data.tobytes()


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"])
def test_limits_keep_their_bits(dtype, compile_c):
    limits = np.iinfo(dtype)
    data = np.array([limits.min, limits.max, limits.min + 1, 1], dtype)
    assert compiled(compile_c, pool(data.nbytes, ("x", 0, data))) == data.tobytes()


def test_an_empty_constant_has_no_member(compile_c):
    info = pool(4, ("none", 0, np.zeros(0, "float32")), ("x", 0, np.array([7], "int32")))
    assert "none" not in print_constant_pool(info, "flash", ALIGNED)
    assert compiled(compile_c, info) == np.array([7], "int32").tobytes()


def test_constants_of_one_name_are_told_apart():
    info = pool(2, ("x", 0, np.array([1], "int8")), ("x", 1, np.array([2], "int8")))
    text = print_constant_pool(info, "flash", ALIGNED)
    assert "int8_t x[1];" in text
    assert "int8_t x_1[1];" in text


def test_bytes_of_a_pool_with_gaps():
    info = pool(8, ("a", 1, np.array([1, 2], "uint8")), ("b", 4, np.array([258], "int32")))
    assert constant_pool_bytes(info) == bytes([0, 1, 2, 0, 2, 1, 0, 0])


def test_bytes_are_little_endian_whatever_the_array_is():
    data = np.array([258], ">i4").astype("int32")
    assert constant_pool_bytes(pool(4, ("x", 0, data))) == bytes([2, 1, 0, 0])
