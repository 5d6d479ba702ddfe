"""What others see of the object file of a model."""

from __future__ import annotations

import hashlib
import os
import re
import struct
import subprocess
import sys
from functools import cache
from random import Random

import pytest
import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, PrimType

import usmp
from support.byte_mutations import mutated_bytes
from support.children import WITHOUT_TORCH, run
from support.compilers import require, run_compiler
from support.imported_models import imported_model
from support.library_files import CMAKE_FILES, library_files
from support.quantized_models import CATALOG
from usmp.aot.transform.pass_buffers_as_pointers import pass_buffers_as_pointers
from usmp.codegen.llvm import UnsupportedByLLVM, compile_functions, compile_module
from usmp.objects import Executor
from usmp.ops.kernels.loops.loops import unrolled_loop
from usmp.runtime import BuildError
from usmp.runtime.object_file import foreign_machine
from usmp.runtime.write_files import write_files

CORTEX_M3 = "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3"
CORTEX_M55 = "llvm -mtriple=thumbv8.1m.main-none-eabi -mcpu=cortex-m55 -mfloat-abi=hard"
RISCV = "llvm -mtriple=riscv32-unknown-none-elf -mattr=+m,+c -mabi=ilp32"
ARM_FLAGS = {
    CORTEX_M3: ["-mcpu=cortex-m3"],
    CORTEX_M55: ["-mcpu=cortex-m55", "-mfloat-abi=hard"],
}
OBJECT = "codegen/host/lib/default_lib1.o"
MAIN_C = """
#include "tvmgen_default.h"
static int8_t x[TVMGEN_DEFAULT_T0_SIZE], y[TVMGEN_DEFAULT_T3_SIZE];
int main(void) {
  struct tvmgen_default_inputs inputs = {x};
  struct tvmgen_default_outputs outputs = {y};
  return tvmgen_default_run(&inputs, &outputs);
}
"""


@pytest.fixture(scope="module")
def convolution():
    """A small model, since the files of any other one have the same form."""
    return imported_model("conv_2d_same")


@pytest.fixture(scope="module")
def files_for(convolution):
    """The archive's files for a target, compiled once."""
    return cache(lambda target: usmp.build(convolution, target).files())


@pytest.mark.cc
@pytest.mark.parametrize("target", ["llvm", CORTEX_M3, CORTEX_M55, RISCV])
def test_only_the_main_function_is_visible(files_for, target, symbols):
    require("gcc")
    seen = symbols(files_for(target))
    assert seen.pop("tvmgen_default___tvm_main__") == "T"
    # LLVM knows loops that the C library has functions for.
    assert seen.items() <= dict.fromkeys(("memcpy", "memmove", "memset"), "U").items()


@pytest.mark.slow
def test_the_archive_has_the_files_of_target_c_and_the_object(files_for):
    c, llvm = map(files_for, ("c", "llvm"))
    assert set(llvm) - set(c) == {OBJECT}
    # What compiles sources only has no use for it.
    assert set(c) - set(llvm) == set(library_files("default")) - set(CMAKE_FILES)
    header = "codegen/host/include/tvmgen_default.h"
    assert llvm[header] == c[header]
    source = llvm["codegen/host/src/default_lib0.c"].decode()
    assert "extern void tvmgen_default___tvm_main__(" in source
    assert "tvmgen_default_conv2d" not in source
    assert "tvmgen_default_conv2d" in c["codegen/host/src/default_lib0.c"].decode()


@pytest.mark.slow
def test_same_bytes_every_time(files_for, tmp_path):
    """In a process of its own too, where objects have other addresses."""
    text = (
        "import sys, usmp, hashlib\n"
        f"files = usmp.build(usmp.import_model(sys.argv[1]), {CORTEX_M3!r}).files()\n"
        f"print(hashlib.sha256(files[{OBJECT!r}]).hexdigest())\n"
    )
    model = tmp_path / "model.tflite"
    model.write_bytes(next(m for m in CATALOG if m.name == "conv_2d_same").make())
    command = [sys.executable, "-c", text, model]
    found = run(*command, check=True, env={**os.environ, **WITHOUT_TORCH}).stdout.strip()
    assert found == hashlib.sha256(files_for(CORTEX_M3)[OBJECT]).hexdigest()


@pytest.mark.slow
@pytest.mark.cc
def test_two_models_link_into_one_program(convolution, tmp_path):
    require("gcc")
    objects = []
    for name in ("one", "two"):
        paths = write_files(usmp.build(convolution, "llvm", module_name=name).files(), tmp_path)
        objects += [path for path in paths if path.suffix in (".c", ".o")]
    main = "int32_t (*const f[])(struct tvmgen_one_inputs*, struct tvmgen_one_outputs*) = {0};"
    (tmp_path / "main.c").write_text(
        f'#include "tvmgen_one.h"\n#include "tvmgen_two.h"\n{main}\nint main(void) {{ return '
        "f[0] != 0 || (void*)tvmgen_one_run == (void*)tvmgen_two_run; }\n"
    )
    command = ["gcc", "-Icodegen/host/include", "main.c", *objects, "-lm", "-o", "program"]
    run_compiler(command, cwd=tmp_path)
    subprocess.run([tmp_path / "program"], check=True)


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize("target", [CORTEX_M3, CORTEX_M55])
def test_arm_object_links_and_is_thumb_code_of_its_cpu(files_for, target, tmp_path):
    require("arm-none-eabi-gcc")
    write_files(files_for(target), tmp_path)
    (tmp_path / "main.c").write_text(MAIN_C)
    sources = ["main.c", "codegen/host/src/default_lib0.c", OBJECT]
    flags = ["-mthumb", *ARM_FLAGS[target], "--specs=nosys.specs"]
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Icodegen/host/include"]
    command = ["arm-none-eabi-gcc", "-O2", *flags, *strict, *sources, "-lm", "-o", "program.elf"]
    run_compiler(command, cwd=tmp_path)
    attributes = subprocess.run(
        ["arm-none-eabi-readelf", "-A", sources[-1]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    architecture = "v7" if target == CORTEX_M3 else "v8.1-M.mainline"
    assert re.search(rf"Tag_CPU_arch: {architecture}$", attributes, re.MULTILINE)
    assert "Tag_CPU_arch_profile: Microcontroller" in attributes
    table = subprocess.run(
        ["arm-none-eabi-readelf", "-sW", sources[-1]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (address,) = re.findall(r" (\w+) .* FUNC .* tvmgen_default___tvm_main__$", table, re.MULTILINE)
    assert int(address, 16) % 2 == 1


@pytest.mark.slow
def test_object_of_another_machine_does_not_run_here(convolution):
    with pytest.raises(BuildError) as refused:
        usmp.build(convolution, CORTEX_M3).load()
    assert str(refused.value) == (
        "codegen/host/lib/default_lib1.o is code for 32-bit ARM, not for this host; link the "
        "archive's files with that machine's compiler, or compile the model with target c or llvm "
        "without options to run it here"
    )


@pytest.mark.parametrize(
    ("width", "machine", "name"),
    [
        (1, 40, "32-bit ARM"),
        (1, 243, "32-bit RISC-V"),
        (2, 243, "64-bit RISC-V"),
        (1, 3, "32-bit x86"),
        (1, 999, "32-bit machine number 999"),
    ],
)
def test_names_of_machines(width, machine, name):
    head = b"\x7fELF" + bytes([width, 1, 1]) + bytes(11) + struct.pack("<H", machine)
    assert foreign_machine(head + bytes(44)) == name


def test_what_is_not_elf_is_not_judged():
    assert foreign_machine(b"\xcf\xfa\xed\xfe" + bytes(100)) is None
    assert foreign_machine(b"") is None


@pytest.mark.slow
def test_damaged_object_file_is_not_judged_or_named(files_for):
    """What is wrong with it the linker says."""
    content = files_for(CORTEX_M3)[OBJECT]
    generator = Random(0)
    found = {foreign_machine(mutated_bytes(content, range(52), generator)) for _ in range(300)}
    assert {None, "32-bit ARM"} < found
    assert all(name is None or re.fullmatch(r"(32|64)-bit [ -~]+", name) for name in found)


@pytest.mark.slow
def test_packed_interface(convolution):
    executor = Executor("aot", {"interface-api": "packed"})
    factory = usmp.build(convolution, "llvm", executor)
    assert sorted(n for n in factory.files() if "lib" in n) == [
        OBJECT,
        "codegen/host/src/default_lib0.c",
    ]


def test_a_function_that_returns_early(link):
    """TVM writes an early return as `return 0`."""
    import ctypes

    import numpy as np

    values = tirx.Var("values", tvm.ir.PointerType(PrimType("int32")))
    view = tirx.decl_buffer((2,), "int32", "view")
    zero = tirx.IntImm("int32", 0)
    body = tirx.SeqStmt(
        [
            tirx.DeclBuffer(view, data=values),
            tirx.IfThenElse(view[0] > 0, tirx.Return(zero), None),
            tirx.BufferStore(view, tirx.IntImm("int32", 9), [1]),
        ]
    )
    inner = GlobalVar("inner")
    call = tirx.Evaluate(Call(inner, [values], ret_ty=PrimType("int32")))
    functions = {inner: tirx.PrimFunc([values], body)}
    outer = tirx.Var("values", values.ty)
    call = tirx.Evaluate(Call(inner, [outer], ret_ty=PrimType("int32")))
    functions[GlobalVar("f")] = tirx.PrimFunc([outer], call)
    library = link(compile_functions(IRModule(functions), {"f": "f"}, tvm.target.Target("llvm")))
    for first, second in ((1, 0), (0, 9)):
        data = np.array([first, 0], "int32")
        library.f(ctypes.c_void_p(data.ctypes.data))
        assert data.tolist() == [first, second]


def test_a_function_that_returns_a_value_is_refused():
    func = tirx.PrimFunc([], tirx.Return(tirx.IntImm("int32", 3)), PrimType("int32"))
    with pytest.raises(UnsupportedByLLVM) as refused:
        compile_functions(IRModule({"f": func}), {"f": "f"}, tvm.target.Target("llvm"))
    assert str(refused.value) == "f: a PrimFunc that returns a value"


def test_what_tvm_cannot_compile_is_refused_in_a_line():
    index = tirx.Var("i", "int32")
    loop = tirx.For(
        index,
        0,
        4,
        tirx.ForKind.THREAD_BINDING,
        tirx.Evaluate(index + 1),
        tirx.IterVar(None, index, tirx.IterVar.ThreadIndex, "threadIdx.x"),
    )
    with pytest.raises(UnsupportedByLLVM) as refused:
        compile_functions(
            IRModule({"f": tirx.PrimFunc([], loop)}), {"f": "f"}, tvm.target.Target("llvm")
        )
    assert str(refused.value).startswith("TVM cannot make LLVM code of operator f: ")
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_constants_in_no_pool_are_refused(convolution):
    factory = usmp.build(convolution, "c")
    lowered = usmp.aot_pipeline.lower_to_aot(convolution)
    with pytest.raises(UnsupportedByLLVM, match="is in no constant pool"):
        compile_module(lowered, factory.interface, tvm.target.Target("llvm"))


def test_loops_that_c_unrolls_are_silent(capfd):
    """TVM warns of pragmas that its code generator does not know."""
    data = tirx.decl_buffer((4,), "int8", "data")
    body = unrolled_loop("n", 4, lambda n: tirx.BufferStore(data, tirx.IntImm("int8", 1), [n]))
    func = tirx.PrimFunc([data], body).with_attr("target", tvm.target.Target("c"))
    mod = IRModule({GlobalVar("f"): pass_buffers_as_pointers(func)})
    compile_functions(mod, {"f": "f"}, tvm.target.Target("llvm"))
    assert capfd.readouterr() == ("", "")
