"""Every kind of header in C++: it compiles without a warning, and so does all that it defines."""

from __future__ import annotations

import re

import pytest
from tvm.ir.transform import PassContext

import usmp
from conftest import ROOT
from support.accelerator_models import attention as with_accelerator
from support.attention import attention
from support.compilers import require, run_compiler
from support.dynamic_programs import Net, built
from support.entry_models import entry_model
from support.imported_models import imported_model
from support.interface_views import constants, interface, tensor, workspace
from support.relax_models import PARAMS, Attention
from support.state_models import streaming_model
from usmp.codegen.interface.entry_interface import IOTensor
from usmp.codegen.sources.header import print_header
from usmp.objects import TensorInfo

pytestmark = pytest.mark.board

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
COMPILERS = [
    ["g++", "-std=c++11"],
    ["g++", "-std=c++20"],
    ["clang++", "-std=c++11"],
    ["clang++", "-std=c++20"],
    ["arm-none-eabi-g++", "-mcpu=cortex-m4", "-mthumb", "-std=c++11"],
]

PACKED = usmp.Executor("aot", {"interface-api": "packed"})


def build(model, sizes=None, executor=None, params=None, **options) -> str:
    options = {"algorithm": "hill_climb", **options}  # Where buffers lie is not tested here.
    with PassContext(config={f"tir.usmp.{name}": value for name, value in options.items()}):
        return usmp.build(
            model, executor=executor, params=params, max_sizes=sizes, module_name="net"
        ).header


def rows(name: str) -> IOTensor:
    return IOTensor(TensorInfo(name, [2, 2], "int8"), name, None, is_by_rows=True)


POOLS = [
    workspace(section_name=".bss.dtcm"),
    workspace("ram", is_internal=True),
    constants(section_name=".rodata.itcm"),
]
HEADERS = {
    "one entry": lambda: build(Attention, params=PARAMS),
    "several entries": lambda: build(entry_model()),
    "states": lambda: build(streaming_model()),
    "workspace io": lambda: build(Attention, params=PARAMS, use_workspace_io=True),
    "pools of the application": lambda: print_header(
        interface([tensor("x")], [tensor("y")], POOLS, name="net")
    ),
    "nothing passed": lambda: print_header(interface(name="net")),
    "rows": lambda: print_header(interface([rows("x")], [rows("y")], name="net")),
    "windows of a quantized model": lambda: build(
        imported_model("conv_2d_valid"), stream_inputs=["t0:hop=2"]
    ),
    "sizes": lambda: build(attention(), {"length": 8}),
    "offsets of sizes": lambda: build(attention(), {"length": 8}, dynamic="expression"),
    "unbounded sizes": lambda: build(attention(), {"length": None}),
    "arena": lambda: built(Net).header,
    "operator hooks": lambda: build(Attention, params=PARAMS, profile=True),
    "accelerators": lambda: with_accelerator(module_name="net").header,
    "packed": lambda: build(Attention, params=PARAMS, executor=PACKED),
}


def expanded(header: str) -> str:
    """C++ in which each macro of the header is expanded, and each struct and function used."""
    lines = []
    for name, parameters in re.findall(r"^#define (TVMGEN_NET_\w+)(\(.*?\))? ", header, re.M):
        if name.endswith("_POOL_DATA"):
            pool = name.removesuffix("_DATA")
            lines.append(f"{pool}_ATTRIBUTES static const uint8_t a_{name}[] = {{{name}}};")
            lines += [f"{pool}_ASSERT(a_{name});", f"const void* f_{name}() {{ return a_{name}; }}"]
        elif name.endswith("_WORKSPACE_POOL_ATTRIBUTES"):
            pool = name.removesuffix("_ATTRIBUTES")
            lines.append(f"{name} static uint8_t a_{name}[{pool}_SIZE];")
            lines += [f"{pool}_ASSERT(a_{name});", f"void* f_{name}() {{ return a_{name}; }}"]
        elif parameters and not name.endswith("_ASSERT"):
            taken = ", ".join(f"int32_t {p.strip()}" for p in parameters[1:-1].split(","))
            lines.append(f"int64_t f_{name}({taken}) {{ return {name}{parameters}; }}")
        elif not parameters and not name.endswith(("_H_", "_ATTRIBUTES")):
            lines.append(f"decltype({name}) f_{name}() {{ return {name}; }}")
    for number, struct in enumerate(re.findall(r"^struct (\w+) \{", header, re.M)):
        lines.append(f"void use_{number}({struct} object); {struct} v_{number}{{}};")
    for number, function in enumerate(re.findall(r"^\w[^\n(]* \*?(tvmgen_\w+)\(", header, re.M)):
        lines.append(f"auto p_{number} = &{function};")
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("kind", HEADERS)
def test_all_of_it_compiles(tmp_path, kind):
    header = HEADERS[kind]()
    check_functions_are_those_of_c(header)
    (tmp_path / "tvmgen_net.h").write_text(header)
    uses = expanded(header)
    assert uses
    program = tmp_path / "application.cc"
    text = f'#include "tvmgen_net.h"\n#include "tvmgen_net.h"\n{uses}\n'
    program.write_text(text)
    arena = ROOT / "python/usmp/codegen/files/arena"
    for compiler in COMPILERS:
        require(compiler[0])
        run_compiler([*compiler, *STRICT, f"-I{arena}", program])


def check_functions_are_those_of_c(header):
    """All declarations stand within `extern "C"`, after what is included."""
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    before, declared, after = re.split(
        r"#ifdef __cplusplus\n(?:extern \"C\" \{|\})\n#endif", header
    )
    assert "#include" not in declared
    assert not re.search(r"^(struct|int|void|size_t|uint)", before + after, re.M)
