"""Symbolic sizes in C: the header, names that would meet, the check of a run, what is refused."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tvm import tirx
from tvm.ir import IRModule

import usmp
from support import levels
from support.compilers import require, run_compiler
from support.hostile_names import check_c, hostile_name
from support.interface_views import entry, interface, tensor
from support.size_expressions import BOUNDS, random_expression
from support.symbolic_models import (
    LONGEST,
    Attending,
    attending,
    attending_tensors,
    build_symbolic,
)
from usmp import WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.codegen.interface.entry_interface import IOTensor, member_names
from usmp.codegen.interface.entry_sizes import name_sizes
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.sources.header import print_header
from usmp.codegen.sources.sizes import c_extent
from usmp.objects import TensorInfo
from usmp.objects.attributes.module_attributes import (
    STREAMED_INPUTS_ATTR,
    WINDOWS_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)
from usmp.objects.symbolic_size import SymbolicSize
from usmp.plain.entry_size import EntrySize
from usmp.plain.size_expression import extent_at
from usmp.runtime.write_files import write_files

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion"]
SANITIZERS = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
EXTERNAL = {
    WORKSPACE_MEMORY_POOLS_ATTR.name: WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c"])]),
}
SEQ = EntrySize("seq", "seq", 1, 128)
VARIABLE = tirx.Var("seq", "int64")


def symbolic(name: str, shape: list, symbolic_shape: list, dtype: str = "float32") -> IOTensor:
    return IOTensor(TensorInfo(name, shape, dtype, symbolic_shape=symbolic_shape), name, None)


def with_seq(**more) -> Interface:
    x = symbolic("x", [1, 128, 64], [1, VARIABLE, 64])
    y = symbolic("y", [1, 64, 8], [1, tirx.floordiv(VARIABLE - 1, 2) + 1, 8], "int8")
    model = interface([x, tensor("mask")], [y], [], "enc", **more)
    return replace(model, entries=[replace(model.entries[0], sizes=[SEQ])])


# ---- the header


def test_struct_and_macros():
    header = print_header(with_seq())
    assert (
        "struct tvmgen_enc_inputs {\n"
        "  const void* x;  /* float32[1, seq, 64] */\n"
        "  const void* mask;  /* int8[1, 4] */\n"
        "  int32_t seq;  /* 1 to 128 */\n"
        "};\n"
    ) in header
    assert "  void* y;  /* int8[1, (seq - 1) / 2 + 1, 8] */\n" in header
    defined = dict(re.findall(r"#define TVMGEN_ENC_([A-Z_0-9]+(?:\(\w+\))?) (.*)$", header, re.M))
    assert defined == {
        "SEQ_MIN": "1",
        "SEQ_MAX": "128",
        "ERROR_SIZE": "(-2)",
        "X_SIZE": "32768",
        "X_BYTES(seq)": "((uint32_t)(256 * (int32_t)(seq)))",
        "MASK_SIZE": "4",
        "Y_SIZE": "512",
        "Y_BYTES(seq)": "((uint32_t)(8 * (((int32_t)(seq) - 1) / 2 + 1)))",
        "Y_EXTENT_1(seq)": "(((int32_t)(seq) - 1) / 2 + 1)",
        "WORKSPACE_SIZE": "0",
    }
    assert '\\brief Bytes at the largest sizes of input tensor "x" of TVM module "enc"' in header
    assert '\\brief Bytes of input tensor "mask" of TVM module "enc"' in header


def comment_of_run(header: str) -> str:
    return re.findall(r"/\*!\n((?: \*.*\n)*?) \*/\nint32_t \w+_run\(", header)[0]


def test_comment_of_run():
    assert comment_of_run(print_header(with_seq())) == (
        ' * \\brief Run TVM module "enc"; returns 0, or TVMGEN_ENC_ERROR_SIZE if a\n'
        " * size is out of its range, and then nothing was written.\n"
        " * Tensors have the shapes that follow from seq of inputs, without gaps\n"
        " * from the beginning of their memory on; each run may have others\n"
    )


def test_comments_of_tensors_in_the_workspace():
    header = build_symbolic(use_workspace_io=True).header
    assert "It takes nothing else\n * from the struct" in comment_of_run(header)
    assert (
        "/*!\n * \\brief Where the inputs have their places in the workspace;\n"
        " * sizes are the largest, for the application to set\n */\n"
        "struct tvmgen_default_inputs tvmgen_default_map_inputs(void);\n"
    ) in header
    assert "int32_t tvmgen_default_run(struct tvmgen_default_inputs* inputs);\n" in header


def test_entries_have_sizes_of_their_own():
    sizes = {"a": [EntrySize("seq", "seq", 1, 8)], "b": [EntrySize("seq", "seq", 2, 9)], "c": []}
    x = symbolic("x", [8], [VARIABLE])
    entries = [entry(name, [x] if own else [], sizes=own) for name, own in sizes.items()]
    header = print_header(Interface("default", entries, []))
    defined = re.findall(r"#define TVMGEN_DEFAULT_(\w+_M(?:IN|AX)) (\d)$", header, re.M)
    assert dict(defined) == {"A_SEQ_MIN": "1", "A_SEQ_MAX": "8", "B_SEQ_MIN": "2", "B_SEQ_MAX": "9"}
    assert header.count("_ERROR_SIZE (-2)") == 1
    assert header.count("_ERROR_SIZE if a") == 2
    assert "#define TVMGEN_DEFAULT_B_X_BYTES(seq) " in header


# ---- names


def named(sizes: list[tuple[str, int]], members: list[str]) -> list[str]:
    given = {"": (members, [SymbolicSize(name, 1, high) for name, high in sizes])}
    return [size.c_name for size in name_sizes(given)[0]]


@pytest.mark.parametrize(
    ("sizes", "members", "names"),
    [
        ([("seq", 8)], ["x"], ["seq"]),
        ([("x", 8)], ["x"], ["x_1"]),
        ([("n", 8), ("N", 8)], [], ["n", "N_1"]),
        ([("s t", 8), ("s_t", 9)], [], ["s_t", "s_t_1"]),
        ([("int", 8), ("2d", 9), ("é", 2)], [], ["int_", "_2d", "__"]),
    ],
    ids=str,
)
def test_names_of_sizes(sizes, members, names):
    assert named(sizes, members) == names


def test_sizes_of_two_entries_whose_macros_have_one_name():
    """Size "b_n" of entry "a" and "n" of "a_b": both macros begin with A_B_N."""

    def both(first: int, second: int) -> list[str]:
        entries = {"a": ([], [SymbolicSize("b_n", 1, first)])}
        entries["a_b"] = ([], [SymbolicSize("n", 1, second)])
        return [size.c_name for own in name_sizes(entries) for size in own]

    assert both(8, 8) == ["b_n", "n"]
    assert both(8, 9) == ["b_n", "n_1"]


def test_a_tensor_whose_size_has_the_name_of_the_status():
    """Only where there is one, so that others keep the name."""
    tensors = ([TensorInfo("error", [LONGEST, 4], "float32")], attending_tensors()[1])
    header = build_symbolic(tensors=tensors).header
    assert "  const void* error_1;" in header
    assert "#define TVMGEN_DEFAULT_ERROR_SIZE (-2)\n" in header
    assert member_names({"": tensors}) == [["error", "y"]]


@pytest.mark.cc
@pytest.mark.parametrize(("language", "standard"), [("c", "c99"), ("c++", "c++11")])
def test_hostile_names_of_sizes(language, standard):
    random, text = Random(language), "#include <stdint.h>\n#include <math.h>\n"
    for number in range(60):
        names = [hostile_name(random) for _ in range(3)]
        sizes = name_sizes({"": (["x"], [SymbolicSize(n, 1, 9) for n in dict.fromkeys(names)])})[0]
        extents = [tirx.Var(size.name, "int64") + 1 for size in sizes]
        model = interface([symbolic("x", [10] * len(sizes), extents)], name=f"m{number}")
        text += print_header(replace(model, entries=[replace(model.entries[0], sizes=sizes)]))
        arguments = ", ".join("3" for _ in sizes)
        text += f"enum {{ bytes_{number} = TVMGEN_M{number}_X_BYTES({arguments}) }};\n"
    check_c(text, language, standard)


# ---- expressions


@pytest.mark.cc
def test_expressions_of_c_have_the_values_of_expressions(tmp_path):
    """C rounds quotients towards zero; all sizes of random expressions are compared."""
    require("gcc")
    checks = []
    for seed in levels.seeds(50, 200):
        expression = random_expression(Random(seed), 4)
        text = c_extent(expression, {"a": "a", "b": "b"}, BOUNDS)
        for a, b in product(*(range(low, high + 1) for low, high in BOUNDS.values())):
            value = extent_at(expression, {"a": a, "b": b})
            checks.append(f"  {{ const int32_t a = {a}, b = {b}; (void)a; (void)b;")
            checks.append(f"    if (({text}) != ({value})) return 1; }}")
    (tmp_path / "main.c").write_text(
        "#include <stdint.h>\nint main(void) {\n" + "\n".join(checks) + "\n  return 0;\n}\n"
    )
    command = ["gcc", "-w", "-O0", "-fsanitize=undefined", "-fno-sanitize-recover=all", "main.c"]
    run_compiler([*command, "-o", "main"], cwd=tmp_path)
    subprocess.run([tmp_path / "main"], check=True)


def test_expressions():
    cases = [
        (["//", ["-", "n", 8], 3], "(n - 8 + 9) / 3 - 3"),
        (["%", ["-", "n", 8], 3], "(n - 8 + 9) % 3"),
        (["//", ["-", "n", 1], 3], "(n - 1) / 3"),
        (["min", "n", 8], "(n < 8 ? n : 8)"),
        (["-", "n", -3], "n - (-3)"),
    ]
    assert [c_extent(expression, {"n": "n"}, {"n": (1, 9)}) for expression, _ in cases] == [
        text for _, text in cases
    ]


def test_an_expression_that_leaves_32_bits_with_what_is_added():
    with pytest.raises(ValueError, match="an extent may leave 32 bits; give the sizes smaller"):
        c_extent(["//", ["-", "n", 5], 9], {"n": "n"}, {"n": (1, 2**31 - 1)})


# ---- runs

GUARDED_MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tvmgen_default.h"
{pools}
/* Each array ends where its bytes end: the sanitizer sees what is read or written behind it. */
static void* filled(uint32_t bytes) {{
  void* memory = malloc(bytes);
  if (memory == NULL) abort();
  memset(memory, 0x5a, bytes);
  return memory;
}}

int main(void) {{
  int32_t seq;
  while (fread(&seq, sizeof(seq), 1, stdin) == 1) {{
    const int is_in_range = seq >= TVMGEN_DEFAULT_SEQ_MIN && seq <= TVMGEN_DEFAULT_SEQ_MAX;
    const int32_t held = is_in_range ? seq : TVMGEN_DEFAULT_SEQ_MAX;
    const uint32_t taken = TVMGEN_DEFAULT_X_BYTES(held), given = TVMGEN_DEFAULT_Y_BYTES(held);
{tensors}
    inputs.seq = seq;
    if (is_in_range && fread(x, taken, 1, stdin) != 1) return 1;
    const int32_t status = tvmgen_default_run({arguments});
    if (status != (is_in_range ? 0 : TVMGEN_DEFAULT_ERROR_SIZE)) return 2;
    if (fwrite(outputs.y, given, 1, stdout) != 1) return 3;
{frees}
  }}
  return 0;
}}
"""
OWN_TENSORS = {
    "tensors": """    void* const x = filled(taken);
    struct tvmgen_default_inputs inputs = {x, 0};
    struct tvmgen_default_outputs outputs = {filled(given)};""",
    "frees": "    free(x);\n    free(outputs.y);",
}
MAPPED_TENSORS = {
    "tensors": """    struct tvmgen_default_inputs inputs = tvmgen_default_map_inputs();
    struct tvmgen_default_outputs outputs = tvmgen_default_map_outputs();
    void* const x = inputs.x;
    if (inputs.seq != TVMGEN_DEFAULT_SEQ_MAX) return 4;
    memset(outputs.y, 0x5a, given);
    (void)filled;""",
    "frees": "",
}
POOLS = """
TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_ATTRIBUTES
static uint8_t sram[TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_SIZE];
static struct tvmgen_default_workspace_pools pools = {sram};
"""


def program(factory: usmp.AOTExecutorFactoryModule, folder: Path, **texts: str) -> Path:
    """An application of the model in strict C99, with sanitizers."""
    require("gcc")
    write_files(factory.files(), folder)
    (folder / "main.c").write_text(GUARDED_MAIN.format(**texts))
    sources = [*folder.glob("codegen/host/src/*.c"), *folder.glob("codegen/host/lib/*.o")]
    command = ["gcc", "-std=c99", *STRICT, *SANITIZERS, f"-I{folder}/codegen/host/include"]
    command += [str(path) for path in (*sources, folder / "main.c")]
    run_compiler([*command, "-lm", "-o", folder / "program"])
    return folder / "program"


@pytest.mark.cc
@pytest.mark.parametrize(
    ("target", "is_external", "io"),
    [
        *(("c", is_external, io) for is_external in (False, True) for io in (False, True)),
        *(("llvm", False, io) for io in (False, True)),
    ],
)
def test_runs_of_many_sizes(tmp_path, target, is_external, io):
    """One after the other, in any order; sizes out of range change nothing."""
    factory = build_symbolic(
        target=target, attrs=EXTERNAL if is_external else None, use_workspace_io=io
    )
    tensors = MAPPED_TENSORS if io else OWN_TENSORS
    arguments = "&inputs" if io else "&inputs, &outputs"
    if is_external:
        arguments += ", &pools"
        tensors = {k: v.replace("map_inputs()", "map_inputs(&pools)") for k, v in tensors.items()}
        tensors = {k: v.replace("map_outputs()", "map_outputs(&pools)") for k, v in tensors.items()}
    built = program(
        factory,
        tmp_path,
        pools=POOLS if is_external else "",
        arguments=arguments,
        **tensors,
    )
    generator = np.random.default_rng(0)
    data, expected = b"", []
    for seq in (1, 16, 2, 0, 7, 17, 15, -1, 2**31 - 1, -(2**31), 3, 16):
        data += np.int32(seq).tobytes()
        if 1 <= seq <= LONGEST:
            x = generator.random((1, seq, 4), np.float32)
            data += x.tobytes()
            expected.append(attending(x))
        else:
            expected.append(np.frombuffer(b"\x5a" * 128, np.float32))
    done = subprocess.run([built], input=data, stdout=subprocess.PIPE, check=True)
    found = np.frombuffer(done.stdout, np.float32)
    assert len(found) == sum(array.size for array in expected)
    for array in expected:
        np.testing.assert_allclose(found[: array.size], array.ravel(), rtol=1e-5)
        found = found[array.size :]


# ---- what is refused


def refused(fault: str, *arguments, **options) -> None:
    with pytest.raises(ValueError) as error:
        _ = build_symbolic(*arguments, **options).interface
    assert fault in str(error.value)


def y_of(extent) -> tuple:
    """Tensors of which an output has this extent at the axis 1."""
    x, _ = attending_tensors()
    return x, [TensorInfo("y", [1, 8, 4], "float32", symbolic_shape=[1, extent, 4])]


@pytest.mark.parametrize(
    ("sizes", "fault"),
    [
        ([SymbolicSize("seq", 0, 16)], 'size "seq" is 0 to 16; sizes are 1 to 2147483647'),
        ([SymbolicSize("seq", 17, 16)], 'size "seq" is 17 to 16; sizes are'),
        ([SymbolicSize("seq", 1, 2**31)], 'size "seq" is 1 to 2147483648; sizes are'),
        ([SymbolicSize("n", 1, 16)], 'parameter 2 of the main function must be the int32 "n", not'),
        ([SymbolicSize("seq", 1, 16)] * 2, 'the main function has size "seq" twice'),
    ],
    ids=str,
)
def test_sizes_that_c_cannot_take(sizes, fault):
    refused(fault, sizes=sizes)


@pytest.mark.parametrize(
    ("extent", "fault"),
    [
        (tirx.Var("n", "int64"), 'shape [1, n, 4] of tensor "y" depends on "n", which is no size'),
        (VARIABLE, 'tensor "y" of shape [1, seq, 4] is [1, 16, 4] at the largest sizes, not [1, 8'),
        (24 - VARIABLE, "may be larger than [1, 8, 4], which it is at the largest sizes"),
        (tirx.floormod(VARIABLE, 9) + 1, "may be larger than [1, 8, 4]"),
        (
            tirx.floordiv(VARIABLE * tirx.IntImm("int64", 2**28), 2**29),
            'shape [1, seq * 268435456 // 536870912, 4] of tensor "y" may leave 32 bits',
        ),
    ],
    ids=str,
)
def test_shapes_that_c_cannot_compute(extent, fault):
    refused(fault, tensors=y_of(extent))


def test_the_packed_interface_has_fixed_shapes():
    executor = usmp.Executor("aot", {"interface-api": "packed"})
    refused("the packed interface has fixed shapes only", attrs={"executor": executor})


def test_rows_and_windows_have_fixed_shapes():
    window = {"inputs": {"x": {"rows": 2, "window_rows": 4}}}
    refused('"x" is given or taken as a window of time', attrs={WINDOWS_ATTR.name: window})
    main = Attending["__tvm_main__"].with_attr(STREAMED_INPUTS_ATTR.name, ["x"])
    mod = IRModule({**Attending.functions, Attending.get_global_var("__tvm_main__"): main})
    refused('"x" is given or taken by rows', mod)
