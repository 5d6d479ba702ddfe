"""The header of a compiled model."""

import subprocess

import numpy as np
import pytest
import tvm

from usmp.codegen.c_header import print_header
from usmp.codegen.interface import Interface, Pool, Tensor
from usmp.objects import (
    AllocatedPoolInfo,
    ConstantInfo,
    ConstantPoolInfo,
    PoolAllocation,
    PoolInfoProperties,
    TensorInfo,
    WorkspacePoolInfo,
)


def workspace(name="sram", size_bytes=64, internal=False):
    properties = PoolInfoProperties(is_internal=internal)
    return Pool(
        AllocatedPoolInfo(WorkspacePoolInfo(name, ["c"], properties), size_bytes, 0, 16), name
    )


def constants(name="flash", internal=False):
    infos = [ConstantInfo("x", 4, tvm.runtime.tensor(np.array([1, 258], "int16")))]
    properties = PoolInfoProperties(is_internal=internal)
    info = ConstantPoolInfo(name, ["c"], infos, properties)
    return Pool(AllocatedPoolInfo(info, 8, 0, 16), name)


def tensor(name, shape=(1, 4), dtype="int8", place=None, c_name=None):
    return Tensor(TensorInfo(name, list(shape), dtype), c_name or name, place)


def interface(inputs=(), outputs=(), pools=(), name="default"):
    return Interface(name, list(inputs), list(outputs), list(pools))


def compiles(text, *flags, language="c"):
    """Whether a compiler takes the header on its own, without a warning."""
    command = ["gcc", "-x", language, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    done = subprocess.run([*command, *flags, "-"], input=text, text=True, check=False)
    return done.returncode == 0


def test_a_whole_header():
    model = interface([tensor("x")], [tensor("y", (3,), "float32")], [workspace(internal=True)])
    assert print_header(model) == (
        "#ifndef TVMGEN_DEFAULT_H_\n"
        "#define TVMGEN_DEFAULT_H_\n"
        "\n"
        "#include <stdint.h>\n"
        "\n"
        "#ifdef __cplusplus\n"
        'extern "C" {\n'
        "#endif\n"
        "\n"
        "/*!\n"
        ' * \\brief Bytes of input tensor "x" of TVM module "default"\n'
        " */\n"
        "#define TVMGEN_DEFAULT_X_SIZE 4\n"
        "\n"
        "/*!\n"
        ' * \\brief Bytes of output tensor "y" of TVM module "default"\n'
        " */\n"
        "#define TVMGEN_DEFAULT_Y_SIZE 12\n"
        "\n"
        "/*!\n"
        ' * \\brief Bytes of all workspace pools of TVM module "default"\n'
        " */\n"
        "#define TVMGEN_DEFAULT_WORKSPACE_SIZE 64\n"
        "\n"
        "/*!\n"
        ' * \\brief Bytes of workspace pool "sram" of TVM module "default"\n'
        " */\n"
        "#define TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_SIZE 64\n"
        "\n"
        "/*!\n"
        ' * \\brief The inputs of TVM module "default", aligned for their element types\n'
        " */\n"
        "struct tvmgen_default_inputs {\n"
        "  void* x;  /* int8[1, 4] */\n"
        "};\n"
        "\n"
        "/*!\n"
        ' * \\brief The outputs of TVM module "default", aligned for their element types\n'
        " */\n"
        "struct tvmgen_default_outputs {\n"
        "  void* y;  /* float32[3] */\n"
        "};\n"
        "\n"
        "/*!\n"
        ' * \\brief Run TVM module "default"; returns 0\n'
        " */\n"
        "int32_t tvmgen_default_run(struct tvmgen_default_inputs* inputs, "
        "struct tvmgen_default_outputs* outputs);\n"
        "\n"
        "#ifdef __cplusplus\n"
        "}\n"
        "#endif\n"
        "\n"
        "#endif  /* TVMGEN_DEFAULT_H_ */\n"
    )


def test_external_pools_are_passed():
    text = print_header(interface([tensor("x")], [tensor("y")], [constants(), workspace()]))
    flash, sram = constants().size_bytes, workspace().size_bytes
    assert (
        "struct tvmgen_default_workspace_pools {\n"
        f"  void* flash;  /* {flash} bytes, aligned to 16 */\n"
        f"  void* sram;  /* {sram} bytes, aligned to 16 */\n"
        "};\n"
    ) in text
    assert (
        "struct tvmgen_default_outputs* outputs, "
        "struct tvmgen_default_workspace_pools* workspace_pools);" in text
    )


def test_the_content_of_an_external_constant_pool():
    text = print_header(interface(pools=[constants()]))
    assert "#define TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_SIZE 8\n" in text
    assert (
        "#define TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_DATA \\\n"
        "  0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x02, 0x01,\n" in text
    )
    use = (
        "static const uint8_t flash[TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_SIZE] = "
        "{ TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_DATA };\n"
        "extern const uint8_t* start;\nconst uint8_t* start = flash;\n"
    )
    assert compiles(text + use, "-std=c99")


def test_an_internal_constant_pool_is_not_in_the_header():
    assert "POOL_DATA" not in print_header(interface(pools=[constants(internal=True)]))


def test_map_functions_exist_if_tensors_are_in_the_workspace():
    pool = workspace()
    place = PoolAllocation(pool.info.pool_info, 16)
    text = print_header(interface([tensor("x", place=place)], [tensor("y")], [pool]))
    assert (
        "struct tvmgen_default_inputs tvmgen_default_map_inputs("
        "struct tvmgen_default_workspace_pools* workspace_pools);" in text
    )
    assert "map_outputs" in text
    assert "map_" not in print_header(interface([tensor("x")], [tensor("y")], [pool]))


@pytest.mark.parametrize(
    ("language", "standard"), [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++17")]
)
def test_the_header_compiles_alone(language, standard):
    pools = [constants(), workspace()]
    place = PoolAllocation(pools[1].info.pool_info, 16)
    text = print_header(interface([tensor("x", place=place)], [], pools))
    assert compiles(text, f"-std={standard}", language=language)


@pytest.mark.parametrize("name", ["a*/b", "/*", "*/*", "été", "日本", "a\\", "??/", "//"])
def test_a_name_cannot_end_a_comment(name):
    text = print_header(interface([tensor(name, c_name="x")], [tensor("y")], [], "m"))
    assert compiles(text, "-std=c99", "-Wno-trigraphs")


def test_a_module_name_becomes_a_prefix():
    text = print_header(interface([tensor("x")], [tensor("y")], [], "my-model.v2"))
    assert "#ifndef TVMGEN_MY_MODEL_V2_H_" in text
    assert "int32_t tvmgen_my_model_v2_run(struct tvmgen_my_model_v2_inputs* inputs" in text


@pytest.mark.parametrize(
    ("inputs", "outputs", "macro"),
    [
        ([tensor("a", (1,)), tensor("A", (2,))], [], "TVMGEN_DEFAULT_A_SIZE"),
        ([tensor("a", (1,))], [tensor("a", (2,))], "TVMGEN_DEFAULT_A_SIZE"),
        ([tensor("workspace", (1,))], [], "TVMGEN_DEFAULT_WORKSPACE_SIZE"),
        ([tensor("sram_workspace_pool", (1,))], [], "TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_SIZE"),
    ],
)
def test_one_macro_for_two_sizes_is_refused(inputs, outputs, macro):
    with pytest.raises(ValueError, match=f"would define {macro} twice"):
        print_header(interface(inputs, outputs, [workspace()]))


def test_one_macro_for_two_equal_sizes():
    text = print_header(interface([tensor("a", (2,))], [tensor("a", (2,))], []))
    assert compiles(text, "-std=c99")


def test_a_model_without_tensors():
    assert compiles(print_header(interface()), "-std=c99")
