"""A source file includes the headers of the C library that it uses, and no others."""

import re

import pytest

from support.compilers import run_compiler
from usmp.codegen.c.includes import library_includes


def headers(text):
    return re.findall(r"^#include <(\w+\.h)>$", library_includes(text), re.MULTILINE)


def test_what_is_used():
    cases = [
        ("y = a * b;", []),
        ("y = expf(x);", ["math.h"]),
        ("y = isnan(x) != 0;", ["math.h"]),
        ("static const float c[] = {1.0f, -INFINITY};", ["math.h"]),
        ("static const double c[] = {NAN};", ["math.h"]),
        ("memset(y, 0, 4);", ["string.h", "stddef.h"]),
        ("memcpy(&y, &x, 4); memmove(y, x, 4); y = sqrtf(x);", ["math.h", "string.h", "stddef.h"]),
    ]
    assert [headers(text) for text, _ in cases] == [expected for _, expected in cases]


@pytest.mark.parametrize(
    "text",
    [
        "tvmgen_default_exp(x); read_memcpy(x);",
        "const float exp = x; memcpy = x; y = NANO;",
        "/* y = exp(x), NAN;\n * memset(y) */ y = x;",
        'TVMGEN_SECTION("sin(x) \\" memset(x) NAN") static int x;',
    ],
    ids=["other functions", "variables", "comments", "strings"],
)
def test_names_that_only_look_like_it(text):
    assert library_includes(text) == ""


def test_strings_begin_no_comment():
    assert headers('TVMGEN_SECTION("a/*b") int x; y = expf(x); /* " */ memset(y); /* " */') == [
        "math.h",
        "string.h",
        "stddef.h",
    ]


@pytest.mark.cc
@pytest.mark.parametrize("mode", ["-fhosted", "-ffreestanding"])
def test_the_functions_are_declared_as_the_library_has_them(mode):
    text = f"{library_includes('memset(')}#include <string.h>\nint is_not_empty;\n"
    options = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    run_compiler(["gcc", mode, *options, "-x", "c", "-"], input=text)
