"""Arithmetic of sizes in C: exact, or the least number for good."""

import ctypes
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usmp.codegen.c.source_files import C_SIZES
from usmp.runtime.c_compiler import compile_c
from usmp.tir.intrinsics import size_function

pytestmark = pytest.mark.cc

EXACT = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "floor_divide": lambda a, b: a // b if b else None,
}
NOT_FITTING = -(2**63)
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion"]
UNDEFINED = ["-fsanitize=undefined", "-fsanitize-undefined-trap-on-error"]


def test_there_is_a_function_for_each_operation():
    assert set(C_SIZES) == set(map(size_function, EXACT))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sizes")
    source = files("usmp.codegen").joinpath("files/arithmetic/size_arithmetic.c")
    lines = [f'#include "{source}"']
    for name in EXACT:
        head = f"int64_t {name}(int64_t a, int64_t b);\nint64_t {name}(int64_t a, int64_t b)"
        lines.append(f"{head} {{ return {size_function(name)}(a, b); }}")
    (folder / "sizes.c").write_text("\n".join(lines) + "\n")
    path = folder / "sizes.so"
    compile_c([*STRICT, *UNDEFINED, "-shared", "-fPIC", str(folder / "sizes.c")], path)
    loaded = ctypes.CDLL(str(path))
    for name in EXACT:
        getattr(loaded, name).restype = ctypes.c_int64
    return loaded


NUMBERS = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-4, 4),
    st.sampled_from([2**31, -(2**31), 2**32, 2**62, -(2**62), 2**63 - 1, 1 - 2**63, -(2**63)]),
)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(a=NUMBERS, b=NUMBERS, name=st.sampled_from(sorted(EXACT)))
def test_results_are_exact_or_the_least_number(library, a, b, name):
    exact = None if NOT_FITTING in (a, b) else EXACT[name](a, b)
    fits = exact is not None and NOT_FITTING < exact < 2**63
    got = getattr(library, name)(ctypes.c_int64(a), ctypes.c_int64(b))
    assert got == (exact if fits else NOT_FITTING)
