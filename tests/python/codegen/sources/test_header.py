"""The header of a compiled model."""

import re
from dataclasses import replace

import pytest

from support.compilers import run_compiler
from support.interface_views import constants, interface, tensor, workspace
from usmp.codegen.sources.header import print_header
from usmp.codegen.sources.macros import STATIC_ASSERT
from usmp.objects import PoolAllocation, TensorInfo


def compiles(text, *flags, language="c"):
    """Whether a compiler takes the header on its own, without a warning."""
    command = ["gcc", "-x", language, "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"]
    done = run_compiler([*command, *flags, "-"], input=text, check=False)
    return done.returncode == 0


def test_a_whole_header():
    model = interface([tensor("x")], [tensor("y", (3,), "float32")], [workspace(is_internal=True)])
    assert print_header(model) == (
        "#ifndef TVMGEN_DEFAULT_H_\n"
        "#define TVMGEN_DEFAULT_H_\n"
        "\n"
        "#include <stdint.h>\n"
        "\n"
        f"{STATIC_ASSERT}\n"
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
        ' * \\brief Alignment in bytes of workspace pool "sram"'
        ' of TVM module "default"\n'
        " */\n"
        "#define TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_ALIGNMENT 16\n"
        "\n"
        "/*!\n"
        ' * \\brief The inputs of TVM module "default", aligned for their element types\n'
        " */\n"
        "struct tvmgen_default_inputs {\n"
        "  const void* x;  /* int8[1, 4] */\n"
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


@pytest.mark.parametrize(
    ("changes", "const"),
    [
        ({}, "const "),
        ({"is_written": True}, ""),
        ({"info": TensorInfo("x", [4], "int8", is_updated=True)}, ""),
    ],
    ids=["read", "written", "updated"],
)
def test_inputs_are_constant_unless_a_run_writes_them(changes, const):
    inputs = [replace(tensor("x"), **changes), tensor("other")]
    members = re.findall(r"^  (.*?void\* \w+);", print_header(interface(inputs)), re.MULTILINE)
    assert members == [f"{const}void* x", "const void* other"]


def test_external_pools_are_passed():
    text = print_header(interface([tensor("x")], [tensor("y")], [constants(), workspace()]))
    flash, sram = constants().size_bytes, workspace().size_bytes
    assert (
        "struct tvmgen_default_workspace_pools {\n"
        f"  const void* flash;  /* {flash} bytes, aligned to 16 */\n"
        f"  void* sram;  /* {sram} bytes, aligned to 16 */\n"
        "};\n"
    ) in text
    assert (
        "struct tvmgen_default_outputs* outputs, "
        "struct tvmgen_default_workspace_pools* workspace_pools);" in text
    )


@pytest.mark.cc
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
    assert "POOL_DATA" not in print_header(interface(pools=[constants(is_internal=True)]))


def test_map_functions_exist_if_tensors_are_in_the_workspace():
    pool = workspace()
    place = PoolAllocation(pool.info.pool_info, 16)
    text = print_header(interface([tensor("x", place=place)], [tensor("y")], [pool]))
    assert "struct tvmgen_default_inputs {\n  void* x;" in text
    assert (
        "struct tvmgen_default_inputs tvmgen_default_map_inputs("
        "struct tvmgen_default_workspace_pools* workspace_pools);" in text
    )
    assert (
        "struct tvmgen_default_outputs tvmgen_default_map_outputs("
        "struct tvmgen_default_workspace_pools* workspace_pools);" in text
    )
    assert (
        "int32_t tvmgen_default_run(struct tvmgen_default_workspace_pools* workspace_pools);"
        in text
    )
    assert "map_" not in print_header(interface([tensor("x")], [tensor("y")], [pool]))


def test_nothing_is_passed_if_all_is_internal():
    pool = workspace(is_internal=True)
    place = PoolAllocation(pool.info.pool_info, 16)
    text = print_header(interface([tensor("x", place=place)], [tensor("y", place=place)], [pool]))
    assert "struct tvmgen_default_inputs tvmgen_default_map_inputs(void);" in text
    assert "struct tvmgen_default_outputs tvmgen_default_map_outputs(void);" in text
    assert "int32_t tvmgen_default_run(void);" in text


def test_the_packed_interface_has_macros_only():
    pools = [workspace(), constants()]
    text = print_header(interface([tensor("x")], [tensor("y")], pools, is_packed=True))
    assert "struct" not in text
    assert "int32_t" not in text
    names = [line.split()[1] for line in text.split("\n") if line.startswith("#define TVMGEN_D")]
    assert names == [
        "TVMGEN_DEFAULT_H_",
        "TVMGEN_DEFAULT_X_SIZE",
        "TVMGEN_DEFAULT_Y_SIZE",
        "TVMGEN_DEFAULT_WORKSPACE_SIZE",
        "TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_SIZE",
        "TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_ALIGNMENT",
        "TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_SIZE",
        "TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_ALIGNMENT",
        "TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_DATA",
        "TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_ATTRIBUTES",
        "TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_ASSERT(array)",
        "TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_ATTRIBUTES",
        "TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_ASSERT(array)",
    ]


@pytest.mark.cc
@pytest.mark.parametrize(
    ("language", "standard"), [("c", "c99"), ("c", "c11"), ("c++", "c++11"), ("c++", "c++17")]
)
def test_the_header_compiles_alone(language, standard):
    pools = [constants(), workspace()]
    place = PoolAllocation(pools[1].info.pool_info, 16)
    text = print_header(interface([tensor("x", place=place)], [], pools))
    assert compiles(text, f"-std={standard}", language=language)


@pytest.mark.cc
@pytest.mark.parametrize("name", ["a*/b", "/*", "*/*", "été", "日本", "a\\", "??/", "//", "*\\\n/"])
def test_a_name_cannot_end_a_comment(name):
    text = print_header(interface([tensor(name, c_name="x")], [tensor("y")], [], "m"))
    assert compiles(text, "-std=c99")


def test_a_module_name_becomes_a_prefix():
    text = print_header(interface([tensor("x")], [tensor("y")], [], "my-model.v2"))
    assert "#ifndef TVMGEN_MY_MODEL_V2_H_" in text
    assert "int32_t tvmgen_my_model_v2_run(struct tvmgen_my_model_v2_inputs* inputs" in text


@pytest.mark.cc
def test_a_model_without_tensors():
    assert compiles(print_header(interface()), "-std=c99")
