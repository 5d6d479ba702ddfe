"""Files of C that are emitted as they stand: each is whole, and a compiler reads it alone."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from support.compilers import require, run_compiler
from usmp.boards.board import BOARDS
from usmp.codegen.c.source_files import (
    C_ARITHMETIC,
    C_CONVERSIONS,
    C_INTRINSICS,
    functions_of,
    macros_of,
    mve_macros,
    text_of,
)
from usmp.runtime.c_compiler import tvm_ffi_include
from usmp.tir import intrinsics
from usmp.tir.intrinsics import arithmetic_function, conversion_function

FILES = files("usmp.codegen").joinpath("files")
NAMES = sorted(file.name for file in FILES.iterdir() if file.name.endswith((".c", ".h")))
COMPILERS = {
    "gcc": (),
    "clang": (),
    **{board.toolchain.compiler: board.toolchain.options for board in BOARDS},
    "avr-gcc": ("-mmcu=atmega2560",),
}
"""Each with the options that choose its C library."""


def test_files():
    assert NAMES == [
        "compiler_macros.h",
        "fixed_point.c",
        "float_to_integer.c",
        "int32_arithmetic.c",
        "int64_arithmetic.c",
        "noinline_macro.h",
        "packed_arguments.c",
        "section_macro.h",
        "size_arithmetic.c",
        "small_floats.c",
        "static_assert.h",
        "tensor_intrin_columns.c",
        "tensor_intrin_copy.c",
        "tensor_intrin_depthwise.c",
        "tensor_intrin_dot.c",
        "tensor_intrin_dot_columns.c",
        "tensor_intrin_dot_mve.c",
        "tensor_intrin_dot_steps.c",
        "tensor_intrin_dot_vectors.c",
        "tensor_intrin_extremes.c",
        "tensor_intrin_features.h",
        "tensor_intrin_mve.c",
        "tensor_intrin_mve_add_pixels.c",
        "tensor_intrin_mve_as_float.c",
        "tensor_intrin_mve_conv2d_1x4.c",
        "tensor_intrin_mve_conv2d_1x4_as_float.c",
        "tensor_intrin_mve_conv2d_2x4.c",
        "tensor_intrin_mve_conv2d_2x4_as_float.c",
        "tensor_intrin_mve_conv2d_4x1.c",
        "tensor_intrin_mve_conv2d_4x1_as_float.c",
        "tensor_intrin_mve_depthwise.c",
        "tensor_intrin_mve_depthwise_as_float.c",
        "tensor_intrin_mve_depthwise_row.c",
        "tensor_intrin_mve_depthwise_row_as_float.c",
        "tensor_intrin_mve_elementwise.c",
        "tensor_intrin_mve_sums.c",
        "tensor_intrin_mve_sums_as_float.c",
        "tensor_intrin_mve_window.c",
        "tensor_intrin_pool.c",
        "tensor_intrin_rescale.c",
        "tensor_intrin_rescale_tiles.c",
        "tensor_intrin_rows.c",
        "tensor_intrin_rows.h",
        "tensor_intrin_weights_sum.c",
        "tensor_intrin_window.c",
        "tensor_intrin_x86.h",
        "usmp_arena.c",
        "usmp_arena.h",
    ]


@pytest.mark.cc
@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_compiles_alone(compiler):
    require(compiler)
    strict = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-function"]
    options = [*strict, "-std=c99", *COMPILERS[compiler], "-fsyntax-only", "-xc", "-"]
    failures = {}
    for name in NAMES:
        more = []
        if name == "packed_arguments.c":
            if compiler not in ("gcc", "clang"):
                continue  # Packed functions are for hosts that have tvm-ffi.
            more = ["-std=c11", *tvm_ffi_include()]
        command = [compiler, *options, *more, "-include", str(FILES / name)]
        done = run_compiler(command, input="extern int other;\n", check=False)
        if done.returncode or done.stderr:
            failures[name] = done.stderr
    assert failures == {}


def test_every_function_is_found_whole():
    """What is left without them is macros, comments and blank lines."""
    for name in NAMES:
        rest = text_of(name)
        functions = functions_of(name)
        if not functions:
            continue
        for macro in macros_of(name).split("\n\n"):
            rest = rest.replace(macro, "")
        for definition in functions.values():
            assert rest.count(definition) == 1, name
            rest = rest.replace(definition, "")
        assert re.sub(r"/\*.*?\*/", "", rest, flags=re.DOTALL).strip() == "", name
        assert all(definition.count("\n}") == 1 for definition in functions.values()), name


def test_an_if_around_a_function_belongs_to_it():
    definition = functions_of("tensor_intrin_dot_vectors.c")["tvmgen_totals_8"]
    assert definition.startswith("#if defined(TVMGEN_AVX2)\nTVMGEN_INLINE tvmgen_sums4 ")
    assert definition.endswith("\n}\n#endif")


def test_macros_of_the_files_whose_functions_are_used():
    first = macros_of("tensor_intrin_mve.c")
    assert mve_macros(["tvmgen_dot_1x1"]) == ""
    assert mve_macros(["tvmgen_mve_rescale"]) == first
    pooling = mve_macros(["tvmgen_mve_average_pool", "tvmgen_mve_rescale"])
    assert pooling == first + macros_of("tensor_intrin_mve_elementwise.c")
    assert "static" not in macros_of("tensor_intrin_mve_elementwise.c")
    assert macros_of("fixed_point.c") == ""


def test_every_name_that_operators_call_is_defined():
    names = {value for key, value in vars(intrinsics).items() if key.isupper() and key[0] != "_"}
    assert set(C_INTRINSICS) == names
    both = ("divide", "remainder", "shift_left", "shift_right")
    signed = (*both, "add", "subtract", "multiply", "floor_divide", "floor_modulo")
    assert set(C_ARITHMETIC) == {
        *(
            arithmetic_function(operation, f"int{bits}")
            for operation in signed
            for bits in (32, 64)
        ),
        *(arithmetic_function(operation, f"uint{bits}") for operation in both for bits in (32, 64)),
        *(
            conversion_function(target, source)
            for target in ("int32", "int64", "uint64")
            for source in ("float32", "float64")
        ),
    }
    assert len(C_CONVERSIONS) == 4


def test_operations_of_both_widths_are_the_same():
    of_32, of_64 = text_of("int32_arithmetic.c"), text_of("int64_arithmetic.c")
    assert of_32.replace("32", "64") == of_64


def test_text_without_headers():
    assert "#include" in (FILES / "packed_arguments.c").read_text()
    assert text_of("packed_arguments.c").startswith("/* What an argument must be; of a pool,")
    assert "#include" not in text_of("packed_arguments.c")
