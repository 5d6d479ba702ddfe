"""Templates of C: one form of them a test, beside the C that it becomes."""

from __future__ import annotations

import pytest

from usmp.codegen.c.templates import expand


@pytest.mark.parametrize(
    ("template", "c"),
    [
        ("int a$N = ${2 * N};", "int a3 = 6;"),
        ("f($[x$i for i in range(N)], n);", "f(x0, x1, x2, n);"),
        ("f($[a[$i] for i in range(2) if N > 1]);", "f(a[0], a[1]);"),
        ("f(x, $[y if N > 3], z);", "f(x, z);"),
        ("f(x, $[y if N > 3], $[z if N > 3]);", "f(x);"),
        ("f($[y if N > 3], z);", "f(z);"),
        ("a[$i] = 0;  $for i in range(N)", "a[0] = 0;\na[1] = 0;\na[2] = 0;"),
        ("a = 1;  $if N > 3\nb = 2;", "b = 2;"),
        ("$let M = N + 1\nint a = $M;", "int a = 4;"),
        ("$for i, f in [(1, 'a'), (2, 'b')]\n$f($i);\n\n$end", "a(1);\n\nb(2);"),
        ("$if N > 3\na;\n$else\nb;\n$end\nc;", "b;\nc;"),
        ("$if N == 3\n$if N > 3\na;\n$else\nb;\n$end\n$else\nc;\n$end", "b;"),
        ("f(${0} * d + k, $[x + $i * d for i in range(3)]);", "f(k, x, x + d, x + 2 * d);"),
        ("a[${0} * d] = b + ${0};", "a[0] = b;"),
        ("a = b + 0 * c;", "a = b + 0 * c;"),
        ("parts: $[${len(part)} for part in parts(N, 2)]", "parts: 2, 1"),
    ],
)
def test_forms(template, c):
    assert expand(template, {"N": 3}) == f"{c}\n"


@pytest.mark.parametrize("N", [2, 6])
def test_lines_are_broken_by_their_length_and_not_by_the_template(N):
    template = "void f${N}($[const uint8_t* x$i for i in range(N)],\n    int32_t n) {"
    of_2 = ["void f2(const uint8_t* x0, const uint8_t* x1, int32_t n) {"]
    of_6 = [
        "void f6(const uint8_t* x0, const uint8_t* x1, const uint8_t* x2, const uint8_t* x3,",
        "        const uint8_t* x4, const uint8_t* x5, int32_t n) {",
    ]
    assert expand(template, {"N": N}).splitlines() == (of_2 if N == 2 else of_6)


def test_comments_and_assembler_stay_as_they_are():
    template = '/* Of $N,\n * and more. */\n__asm__ volatile(\n    "nop\\n\\t"\n    : : "r"(a));'
    assert expand(template, {"N": 3}) == template.replace("$N", "3") + "\n"


def test_a_block_without_an_end():
    with pytest.raises(ValueError, match=r"no \$end for \$if N > 3"):
        expand("$if N > 3\na;\n", {"N": 3})
