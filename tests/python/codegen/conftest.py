"""Print TIR as C, compile it, and load it."""

import ctypes

import pytest
import tvm
from tvm import tirx
from tvm.ir import IRModule

from support.compilers import require, run_compiler
from usmp.analysis.memory.facts import facts_of_functions
from usmp.codegen.c.function import print_function
from usmp.codegen.c.helpers import Helpers
from usmp.codegen.c.source_files import text_of
from usmp.codegen.c.types import ALIAS_TYPEDEFS
from usmp.codegen.interface.module_interface import interface_of
from usmp.codegen.sources.header import print_header
from usmp.codegen.sources.source import print_sources
from usmp.objects import TensorInfo
from usmp.objects.attributes.module_attributes import (
    INPUT_TENSORS_ATTR,
    MAIN_FUNCTION_NAME,
    OUTPUT_TENSORS_ATTR,
)
from usmp.transform import UnifiedStaticMemoryPlanner

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")


@pytest.fixture(params=["gcc", "clang"])
def compiler(request):
    require(request.param)
    return request.param


def lower_intrinsics(mod):
    return tirx.transform.LowerIntrin()(tirx.transform.BindTarget(tvm.target.Target("c"))(mod))


@pytest.fixture(scope="session")
def print_functions():
    """C text of every PrimFunc of a module, or of one PrimFunc called f, in order; no header."""

    def to_c(mod):
        mod = mod if isinstance(mod, IRModule) else IRModule({"f": mod})
        functions = {v.name_hint: f for v, f in lower_intrinsics(mod).functions.items()}
        names = {name: name for name in functions}
        helpers, facts = Helpers(), facts_of_functions(functions)
        bodies = [print_function(facts.of(name), names, helpers) for name in functions]
        return "\n".join([*helpers.externs.values(), *helpers.definitions.values(), *bodies])

    return to_c


@pytest.fixture(scope="session")
def body_of(print_functions):
    """The lines between the braces of a single function."""

    def lines(func):
        text = print_functions(func)
        start = text.index("static void f(")
        return text[text.index(") {\n", start) + 4 : text.rindex("\n}")].split("\n")

    return lines


@pytest.fixture
def compile_c(tmp_path):
    """Compile C text as strictly as the project promises; the path of the shared library."""

    def build(text, *flags, compiler="gcc", files=None):
        for name, content in (files or {}).items():
            (tmp_path / name).write_text(content)
        source = tmp_path / "code.c"
        source.write_text(text)
        library = tmp_path / f"code{len(list(tmp_path.iterdir()))}.so"
        command = [compiler, *STRICT, *(flags or ("-O1",)), "-shared", "-fPIC", str(source)]
        run_compiler([*command, "-o", str(library), "-lm"])
        return ctypes.CDLL(str(library))

    return build


@pytest.fixture(scope="session")
def print_source(print_functions):
    """The PrimFuncs of a module as a C file whose functions others may call."""

    def source(mod):
        text = print_functions(mod).replace("static void", "void")
        declarations = "\n".join(
            line.removesuffix(" {") + ";" for line in _heads(text) if line.startswith("void")
        )
        includes = "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n"
        macros = text_of("macros/compiler_macros.h") + text_of("tensor_intrin/features.h")
        return f"{includes}{macros}{ALIAS_TYPEDEFS}\n{declarations}\n{text}\n"

    return source


@pytest.fixture
def load_functions(print_source, compile_c):
    """Compile the PrimFuncs of a module; the library that has them."""

    def load(mod, *flags, **options):
        return compile_c(print_source(mod), *flags, **options)

    return load


def _heads(text):
    """The heads of the function definitions, each in one line."""
    parts = text.split("void ")[1:]
    return ["void " + " ".join(part[: part.index(") {") + 3].split()) for part in parts]


@pytest.fixture(scope="session")
def plan():
    """Give a module with `__tvm_main__` its tensors, plan it; its interface and planned form."""

    def planned(mod, inputs=(), outputs=(), module_name="default", config=None, attrs=None):
        main = mod[MAIN_FUNCTION_NAME].with_attrs(
            {
                INPUT_TENSORS_ATTR.name: [TensorInfo(*info) for info in inputs],
                OUTPUT_TENSORS_ATTR.name: [TensorInfo(*info) for info in outputs],
            }
        )
        mod = IRModule({**mod.functions, mod.get_global_var(MAIN_FUNCTION_NAME): main})
        mod = tirx.transform.BindTarget(tvm.target.Target("c"))(mod.with_attrs(attrs or {}))
        with tvm.transform.PassContext(config=config or {}):
            mod = UnifiedStaticMemoryPlanner()(mod)
        return mod, interface_of(mod, module_name)

    return planned


@pytest.fixture(scope="session")
def emit(plan):
    """Header and source of a planned module."""

    def text(mod, *tensors, **options):
        planned, interface = plan(mod, *tensors, **options)
        return print_header(interface), print_sources(planned, interface)[0]

    return text
