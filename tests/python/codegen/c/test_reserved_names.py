"""Names in C that a keyword or a macro has already."""

import re

import pytest

from support.compilers import require, run_compiler
from usmp.codegen.c.names import sanitise
from usmp.codegen.c.reserved_names import not_reserved

HEADERS = """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal
    stdarg stdbool stddef stdint stdio stdlib string tgmath time wchar wctype stdalign stdnoreturn
    stdatomic uchar""".split()
POSIX_HEADERS = "libgen netdb netinet/in sys/stat sys/select signal time dirent sched".split()
COMPILERS = {
    "gcc": [],
    "clang": [],
    "arm-none-eabi-gcc": [],
    "riscv64-unknown-elf-gcc": ["--specs=picolibc.specs"],
}


def macros(command, headers):
    """The macros without parameters that are defined after those of the headers that there are."""
    lines = [f"#if __has_include(<{h}.h>)\n#include <{h}.h>\n#endif\n" for h in headers]
    done = run_compiler([*command, "-dM", "-E", "-"], input="".join(lines))
    return set(re.findall(r"^#define (\w+)(?: |$)", done.stdout, re.MULTILINE))


@pytest.mark.board
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("standard", ["c99", "c11"])
def test_no_member_is_a_macro_of_a_standard_header(compiler, standard):
    require(compiler)
    defined = macros([compiler, *COMPILERS[compiler], f"-std={standard}"], HEADERS)
    assert {"errno", "NAN", "EOF"} <= defined
    # A name without its last underscore could become what it is with it.
    names = {*defined, *(name[:-1] for name in defined if name.endswith("_"))}
    assert {name for name in names if sanitise(name) in defined} == set()


@pytest.mark.cc
def test_no_member_is_a_macro_in_small_letters_of_posix():
    require("gcc")
    found = macros(["gcc", "-std=gnu17"], POSIX_HEADERS)
    defined = {name for name in found if name == name.lower()}
    assert {"h_addr", "st_mtime", "sa_handler", "basename"} <= defined
    assert {name for name in defined if sanitise(name) in defined} == set()


@pytest.mark.cc
@pytest.mark.parametrize("language", ["c", "c++"])
def test_members_are_no_keywords(language):
    require("g++" if language == "c++" else "gcc")
    names = ["final", "override", "import", "module", "_Pragma", "asm", "I", "__const", "defined"]
    members = "".join(f"void* {sanitise(name)};" for name in names)
    run_compiler(
        ["gcc", "-x", language, "-fsyntax-only", "-"],
        input=f"#include <stdint.h>\nstruct s {{ {members} }};\n",
    )


def test_what_becomes_of_a_name():
    cases = [
        ("errno", "errno_"),
        ("PRId8", "PRId8_"),
        ("__FILE__", "x__FILE__"),
        ("__linux_", "x__linux_"),
        ("_GNU_SOURCE", "x_GNU_SOURCE"),
        ("_X", "x_X"),
        ("_Conv_output_0", "_Conv_output_0"),
        ("_layer_Add", "_layer_Add"),
        ("SIGMOID", "SIGMOID"),
        ("EMBEDDING", "EMBEDDING"),
        ("INPUTS", "INPUTS"),
        ("x", "x"),
        ("Integer", "Integer"),
    ]
    assert [not_reserved(name) for name, _ in cases] == [identifier for _, identifier in cases]
