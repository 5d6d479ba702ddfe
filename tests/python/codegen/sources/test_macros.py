"""Macros of the header: what they say, which of them clash, and what they let compile."""

import numpy as np
import pytest

from support.compilers import require, run_compiler
from support.interface_views import constants, interface, tensor, workspace
from usmp.codegen.interface.entry_interface import IOTensor
from usmp.codegen.sources.header import print_header
from usmp.codegen.sources.macros import print_macros
from usmp.objects import TensorInfo

COMPILERS = {
    "c99": ["gcc", "-std=c99", "-x", "c"],
    "c11": ["gcc", "-std=c11", "-x", "c"],
    "c++11": ["g++", "-std=c++11", "-x", "c++"],
    "c++17": ["g++", "-std=c++17", "-x", "c++"],
    "clang": ["clang", "-std=c99", "-x", "c"],
    "clang++": ["clang++", "-std=c++11", "-x", "c++"],
    "arm": ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb", "-std=c99", "-x", "c"],
}
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]


@pytest.fixture(params=COMPILERS)
def errors_of(request, tmp_path):
    """What a compiler says of a text; nothing if it takes it."""
    command = COMPILERS[request.param]
    require(command[0])

    def errors(text):
        done = run_compiler(
            [*command, *STRICT, "-c", "-", "-o", tmp_path / "x.o"], input=text, check=False
        )
        assert (done.returncode == 0) == (not done.stderr)
        return done.stderr

    return errors


def macro(model, name):
    """The value of a macro, or None if there is none."""
    for text in print_macros(model):
        head, _, value = text.rstrip("\n").partition(f"#define TVMGEN_DEFAULT_{name}")
        if value and head.endswith("*/\n"):
            return value.strip()
    return None


def test_size_and_alignment_of_each_pool():
    pools = [workspace(is_internal=True, alignment=32), constants(alignment=8)]
    model = interface(pools=pools)
    assert macro(model, "SRAM_WORKSPACE_POOL_SIZE ") == "64"
    assert macro(model, "SRAM_WORKSPACE_POOL_ALIGNMENT ") == "32"
    assert macro(model, "FLASH_CONSTANT_POOL_SIZE ") == "8"
    assert macro(model, "FLASH_CONSTANT_POOL_ALIGNMENT ") == "8"


def test_attributes_of_external_pools():
    pools = [workspace(section_name=".bss.dtcm", alignment=32), constants()]
    model = interface(pools=pools)
    assert macro(model, "SRAM_WORKSPACE_POOL_ATTRIBUTES ") == (
        '__attribute__((section(".bss.dtcm"), aligned(32)))'
    )
    assert macro(model, "FLASH_CONSTANT_POOL_ATTRIBUTES ") == "__attribute__((aligned(16)))"


def test_an_internal_pool_needs_nothing_of_the_application():
    model = interface(pools=[workspace(is_internal=True), constants(is_internal=True)])
    names = [line.split()[1] for text in print_macros(model) for line in text.splitlines()[3:]]
    assert names == [
        f"TVMGEN_DEFAULT_{name}"
        for name in (
            "WORKSPACE_SIZE",
            "SRAM_WORKSPACE_POOL_SIZE",
            "SRAM_WORKSPACE_POOL_ALIGNMENT",
            "FLASH_CONSTANT_POOL_SIZE",
            "FLASH_CONSTANT_POOL_ALIGNMENT",
        )
    ]


ARRAYS = """
TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_ATTRIBUTES static uint8_t sram[%s];
TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_ASSERT(sram);
static const uint8_t flash[] TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_ATTRIBUTES = {
  TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_DATA
};
TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_ASSERT(flash);
const void* used(void);
const void* used(void) { return sram[0] ? sram : flash; }
"""
EXTERNAL = interface(
    pools=[workspace(section_name=".bss.dtcm"), constants(section_name=".rodata.itcm")]
)
SIZE = "TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_SIZE"


@pytest.mark.board
@pytest.mark.parametrize("size", [SIZE, f"{SIZE} + 1"])
def test_arrays_that_are_large_enough(size, errors_of):
    assert errors_of(print_header(EXTERNAL) + ARRAYS % size) == ""


@pytest.mark.board
def test_an_array_that_is_too_small_does_not_compile(errors_of):
    errors = errors_of(print_header(EXTERNAL) + ARRAYS % f"{SIZE} - 1")
    assert "tvmgen_default_sram_workspace_pool_is_large_enough" in errors
    assert "is_aligned" not in errors


@pytest.mark.board
@pytest.mark.parametrize("alignment", [1, 8])
def test_an_array_that_is_not_aligned_enough_does_not_compile(alignment, errors_of):
    wrong = ARRAYS.replace(
        "TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_ATTRIBUTES", f"__attribute__((aligned({alignment})))"
    )
    errors = errors_of(print_header(EXTERNAL) + wrong % SIZE)
    assert "tvmgen_default_sram_workspace_pool_is_aligned" in errors
    assert "large_enough" not in errors


@pytest.mark.board
def test_an_array_without_alignment_does_not_compile(errors_of):
    wrong = ARRAYS.replace("TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_ATTRIBUTES", "")
    errors = errors_of(print_header(EXTERNAL) + wrong % SIZE)
    assert "tvmgen_default_sram_workspace_pool_is_aligned" in errors


@pytest.mark.board
def test_two_models_may_share_an_array(errors_of):
    other = print_header(interface(pools=[workspace(size_bytes=32)], name="other"))
    text = ARRAYS % SIZE + "TVMGEN_OTHER_SRAM_WORKSPACE_POOL_ASSERT(sram);\n"
    assert errors_of(print_header(EXTERNAL) + other + text) == ""


@pytest.mark.parametrize(
    ("inputs", "outputs", "pools", "message"),
    [
        (
            [tensor("a", (1,)), tensor("A", (2,))],
            [],
            [],
            'TVMGEN_DEFAULT_A_SIZE twice: Bytes of input tensor "a" is 1, and '
            'Bytes of input tensor "A" is 2; rename one of the two',
        ),
        (
            [tensor("a", (1,))],
            [tensor("a", (2,))],
            [],
            'TVMGEN_DEFAULT_A_SIZE twice: Bytes of input tensor "a" is 1, and '
            'Bytes of output tensor "a" is 2; rename one of the two',
        ),
        (
            [tensor("workspace", (1,))],
            [],
            [workspace()],
            'TVMGEN_DEFAULT_WORKSPACE_SIZE twice: Bytes of input tensor "workspace" is 1, and '
            "Bytes of all workspace pools is 64; rename one of the two",
        ),
        (
            [tensor("sram_workspace_pool", (1,))],
            [],
            [workspace()],
            "TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_SIZE twice: "
            'Bytes of input tensor "sram_workspace_pool" is 1, and '
            'Bytes of workspace pool "sram" is 64; rename one of the two',
        ),
        (
            [],
            [],
            [workspace("ram", 64), workspace("RAM", 32)],
            'TVMGEN_DEFAULT_RAM_WORKSPACE_POOL_SIZE twice: Bytes of workspace pool "ram" is 64, '
            'and Bytes of workspace pool "RAM" is 32; rename one of the two',
        ),
        (
            [],
            [],
            [constants("rom"), constants("ROM", [1, 259])],
            "TVMGEN_DEFAULT_ROM_CONSTANT_POOL_DATA twice: "
            'Content, little-endian, of constant pool "rom", and '
            'Content, little-endian, of constant pool "ROM"; rename one of the two',
        ),
    ],
)
def test_one_macro_for_two_values_is_refused(inputs, outputs, pools, message):
    with pytest.raises(ValueError) as error:
        print_macros(interface(inputs, outputs, pools))
    assert str(error.value) == f"the header would define {message}"


@pytest.mark.board
def test_one_macro_for_two_equal_sizes(errors_of):
    """As in TVM 0.18; C lets the same definition stand twice."""
    text = print_header(interface([tensor("a", (2,))], [tensor("a", (2,))], []))
    assert text.count("#define TVMGEN_DEFAULT_A_SIZE 2\n") == 2
    assert errors_of(text) == ""


def quantized(name, scale, zero_point):
    return IOTensor(TensorInfo(name, [4], "int8", scale, zero_point), name, None)


@pytest.mark.board
def test_quantization_of_inputs_and_outputs(errors_of):
    x, y = quantized("x", float(np.float32(0.1)), -128), quantized("y", 2.0**-40, 3)
    model = interface([x], [y, tensor("z")])
    assert macro(model, "X_SCALE ") == "0.1f"
    assert macro(model, "X_ZERO_POINT ") == "-128"
    assert macro(model, "Y_SCALE ") == "9.094947e-13f"
    assert macro(model, "Y_ZERO_POINT ") == "3"
    assert macro(model, "Z_SCALE ") is None
    assert macro(model, "Z_ZERO_POINT ") is None
    (scale,) = (text for text in print_macros(model) if "DEFAULT_X_SCALE" in text)
    assert '\\brief Quantization scale of input tensor "x" of TVM module "default"\n' in scale
    use = (
        "float f(int i);\n"
        "float f(int i) { return TVMGEN_DEFAULT_X_SCALE * (i-TVMGEN_DEFAULT_X_ZERO_POINT); }\n"
    )
    assert errors_of(print_header(model) + use) == ""


def test_quantizations_that_need_one_macro():
    """Neither is there: that two tensors differ in case only did not matter before."""
    model = interface([quantized("x", 0.5, 1)], [quantized("X", 0.25, 1)])
    assert macro(model, "X_SCALE ") is None
    assert macro(model, "X_ZERO_POINT ") == "1"
