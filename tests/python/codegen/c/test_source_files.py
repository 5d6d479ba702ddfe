"""Files of C that are emitted as they stand: each is whole, and a compiler reads it alone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from support.compilers import require, run_compiler
from usmp.boards.board import BOARDS
from usmp.codegen.c import source_files
from usmp.codegen.c.helpers import is_helper
from usmp.codegen.c.source_files import (
    C_ARITHMETIC,
    C_CONVERSIONS,
    C_INTRINSICS,
    file_of,
    functions_of,
    macros_of,
    mve_macros,
    tensor_intrinsics,
    text_of,
)
from usmp.runtime.c_compiler import tvm_ffi_include
from usmp.runtime.write_files import write_files
from usmp.tir import intrinsics
from usmp.tir.intrinsics import arithmetic_function, conversion_function

FILES = Path(str(files("usmp.codegen").joinpath("files")))
_FOLDERS = {
    "arena": "usmp_arena.c usmp_arena.h",
    "arithmetic": "fixed_point.c float_to_integer.c integers.c size_arithmetic.c small_floats.c",
    "macros": "compiler_macros.h noinline_macro.h section_macro.h static_assert.h",
    "mve": "add_pixels.c as_float.c common.c conv2d_1x4.c conv2d_2x4.c conv2d_4x1.c depthwise.c"
    " depthwise_row.c elementwise.c sums.c window.c",
    "tensor_intrin": "columns.c copy.c depthwise.c dot.c dot_columns.c dot_mve.c dot_steps.c"
    " dot_vectors.c extremes.c features.h pool.c rescale.c rescale_tiles.c rows.c rows.h"
    " weights_sum.c window.c x86.h",
}
_IN_FOLDERS = {f"{folder}/{name}" for folder in _FOLDERS for name in _FOLDERS[folder].split()}
_AS_FLOAT = ("conv2d_1x4", "conv2d_2x4", "conv2d_4x1", "depthwise", "depthwise_row", "sums")
NAMES = sorted(
    {"packed_arguments.c", *_IN_FOLDERS, *(f"mve/{name}_as_float.c" for name in _AS_FLOAT)}
)
COMPILERS = {
    "gcc": (),
    "clang": (),
    **{board.toolchain.compiler: board.toolchain.options for board in BOARDS},
    "avr-gcc": ("-mmcu=atmega2560",),
}
"""Each with the options that choose its C library."""


def test_files():
    paths = [path for path in FILES.rglob("*.*") if path.suffix in (".c", ".h", ".in")]
    names = {path.relative_to(FILES).as_posix().removesuffix(".in") for path in paths}
    assert names == {"packed_arguments.c", *_IN_FOLDERS}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder with all files, expanded."""
    folder = tmp_path_factory.mktemp("files")
    write_files({name: file_of(name).encode() for name in NAMES}, folder)
    return folder


@pytest.mark.cc
@pytest.mark.parametrize("compiler", COMPILERS)
def test_each_compiles_alone(compiler, written):
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
        command = [compiler, *options, *more, "-include", str(written / name)]
        done = run_compiler(command, input="extern int other;\n", check=False)
        if done.returncode or done.stderr:
            failures[name] = done.stderr
    assert failures == {}


def test_templates_are_broken_into_lines_as_clang_format_does_it():
    clang_format = shutil.which("clang-format", path=str(Path(sys.executable).parent))
    if clang_format is None:
        pytest.skip("clang-format is one of the tools of `make lint`")
    for name in NAMES:
        if (FILES / name).exists():
            continue
        command = [clang_format, f"--assume-filename={FILES / name}"]
        done = subprocess.run(
            command, input=file_of(name), capture_output=True, text=True, check=True
        )
        assert done.stdout == file_of(name)


def test_files_of_mve_are_not_read_for_other_cores(monkeypatch):
    read = []
    monkeypatch.setattr(source_files, "functions_of", lambda name: read.append(name) or {})
    tensor_intrinsics.cache_clear()
    try:
        assert not is_helper("tvmgen_dot_1x1") and not is_helper("expf")
        assert not mve_macros(["tvmgen_dot_1x1"])
        assert read and not any("mve/" in name for name in read)
        read.clear()
        assert not is_helper("tvmgen_mve_fill")
        assert read and all("mve/" in name for name in read)
    finally:
        tensor_intrinsics.cache_clear()


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
    definition = functions_of("tensor_intrin/dot_vectors.c")["tvmgen_totals_8"]
    assert definition.startswith("#if defined(TVMGEN_AVX2)\nTVMGEN_INLINE tvmgen_sums4 ")
    assert definition.endswith("\n}\n#endif")


def test_macros_of_the_files_whose_functions_are_used():
    first = macros_of("mve/common.c")
    assert mve_macros(["tvmgen_dot_1x1"]) == ""
    assert mve_macros(["tvmgen_mve_rescale"]) == first
    pooling = mve_macros(["tvmgen_mve_average_pool", "tvmgen_mve_rescale"])
    assert pooling == first + macros_of("mve/elementwise.c")
    assert "static" not in macros_of("mve/elementwise.c")
    assert macros_of("arithmetic/fixed_point.c") == ""


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


def test_text_without_headers():
    assert "#include" in file_of("packed_arguments.c")
    assert text_of("packed_arguments.c").startswith("/* What an argument must be; of a pool,")
    assert "#include" not in text_of("packed_arguments.c")
