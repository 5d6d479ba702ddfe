"""Internal pools in C: where they are put, and what is asserted of them."""

import subprocess

import pytest

from support.compilers import require, run_compiler
from support.interface_views import constants, interface, tensor, workspace
from usmp.codegen.interface.module_interface import check_sections
from usmp.codegen.sources.entry_points import MainFunction, print_entry_point_source
from usmp.codegen.sources.header import print_header
from usmp.codegen.sources.pools import pool_symbol, print_internal_pools, taken_symbols
from usmp.objects import PoolAllocation
from usmp.ops.accelerator_function import AcceleratorFunction

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
COMPILERS = {
    "gcc": ["gcc"],
    "clang": ["clang"],
    "arm": ["arm-none-eabi-gcc", "-mcpu=cortex-m3", "-mthumb"],
}


@pytest.fixture(params=COMPILERS)
def object_of(request, tmp_path):
    """Compile the entry points of a model; the object file and the folder it is in."""
    command = COMPILERS[request.param]
    require(command[0])

    def compiled(model, change=lambda text: text):
        types = ["uint8_t*"] * (len(model.inputs) + len(model.outputs)) + [
            "const uint8_t*" if pool.is_constant else "uint8_t*" for pool in model.pools
        ]
        if model.only_entry.has_workspace_io:
            types = types[len(model.inputs) + len(model.outputs) :]
        source = print_entry_point_source(model, [MainFunction("planned_main", types)])
        (tmp_path / f"{model.prefix}.h").write_text(print_header(model))
        (tmp_path / "x.c").write_text(change(source))
        return run_compiler(
            [*command, *STRICT, "-c", "x.c", "-o", "x.o"], cwd=tmp_path, check=False
        )

    return compiled


def sections(folder):
    """Section name -> its type, of an object file."""
    text = subprocess.run(
        ["readelf", "-SW", folder / "x.o"], capture_output=True, text=True, check=True
    ).stdout
    words = [line.split("]", 1)[1].split() for line in text.splitlines() if "]" in line]
    return {line[0]: line[1] for line in words if len(line) > 2}


def test_the_assertions_of_a_pool():
    pool = workspace("ram", is_internal=True, size_hint_bytes=100)
    *_, assertions = print_internal_pools(interface(pools=[pool]))
    assert assertions == (
        "TVMGEN_STATIC_ASSERT(sizeof(tvmgen_default_ram) == 64, tvmgen_default_ram_has_size);\n"
        "TVMGEN_STATIC_ASSERT(sizeof(tvmgen_default_ram) <= 100, "
        "tvmgen_default_ram_is_within_size_hint);\n"
        "#if defined(__GNUC__) || defined(__clang__)\n"
        "TVMGEN_STATIC_ASSERT(__extension__ __alignof__(tvmgen_default_ram) >= 16, "
        "tvmgen_default_ram_is_aligned);\n"
        "#endif\n"
    )


def test_the_hint_of_an_external_pool_is_asserted_of_its_macro():
    (text,) = print_internal_pools(interface(pools=[workspace(size_hint_bytes=100)]))
    assert text == (
        "TVMGEN_STATIC_ASSERT(TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_SIZE <= 100, "
        "tvmgen_default_sram_is_within_size_hint);\n"
    )


WRONG = {
    "has_size": ("tvmgen_default_ram[64]", "tvmgen_default_ram[65]"),
    "is_within_size_hint": (" <= 80,", " <= 63,"),
    "is_aligned": ("TVMGEN_ALIGNED(16)", "TVMGEN_ALIGNED(8)"),
}


@pytest.mark.board
@pytest.mark.parametrize("assertion", WRONG)
def test_what_is_asserted_does_not_compile_if_it_is_wrong(assertion, object_of):
    model = interface(pools=[workspace("ram", is_internal=True, size_hint_bytes=80)])
    assert object_of(model).stderr == ""
    done = object_of(model, lambda text: text.replace(*WRONG[assertion]))
    assert f"tvmgen_default_ram_{assertion}" in done.stderr


@pytest.mark.board
def test_a_constant_at_an_address_that_c_would_not_give_it_does_not_compile(object_of):
    model = interface(pools=[constants("rom", [1, 2], at=3, size_bytes=7, is_internal=True)])
    assert "tvmgen_default_rom_has_size" in object_of(model).stderr


@pytest.mark.board
def test_pools_are_in_their_sections(object_of, tmp_path):
    pools = [
        workspace("dtcm", is_internal=True, section_name=".bss.dtcm"),
        workspace("sram", is_internal=True, section_name=".sram_data"),
        constants("itcm", is_internal=True, section_name=".itcm_rodata"),
    ]
    assert object_of(interface(pools=pools)).stderr == ""
    found = sections(tmp_path)
    # Only a name that begins with .bss takes no bytes of the file.
    assert found[".bss.dtcm"] == "NOBITS"
    assert found[".sram_data"] == "PROGBITS"
    assert found[".itcm_rodata"] == "PROGBITS"


@pytest.mark.board
def test_a_pool_is_in_no_section_of_its_own_by_default(object_of, tmp_path):
    pools = [workspace(is_internal=True), constants(is_internal=True)]
    done = object_of(interface(pools=pools))
    assert done.stderr == ""
    assert not [name for name in sections(tmp_path) if "tvm" in name or "sram" in name]
    texts = print_internal_pools(interface(pools=pools))
    assert not any("TVMGEN_SECTION" in text for text in texts)


@pytest.mark.board
def test_pools_of_any_names(object_of):
    """What is asserted of one pool may be the name of another."""
    names = ["x", "x_has_size", "x_is_aligned", "run", "map_inputs", "run_1"]
    pools = [workspace(name, is_internal=True, size_hint_bytes=64) for name in names]
    assert object_of(interface(pools=pools)).stderr == ""


@pytest.mark.parametrize("names", [["run", "run_1"], ["run_1", "run"]])
def test_each_pool_is_an_array_of_its_own(names):
    """C takes two definitions of one static array without content for one array."""
    model = interface(pools=[workspace(name, is_internal=True) for name in names])
    assert len({pool_symbol(model, pool) for pool in model.pools}) == 2


def test_no_pool_has_the_name_of_a_function_of_an_accelerator():
    pool = workspace("accel_main_0", is_internal=True)
    function = AcceleratorFunction("tvmgen_default_accel_main_0", "accel", "", [], [])
    model = interface(pools=[pool], accelerator_functions=[function])
    assert pool_symbol(model, pool) == "tvmgen_default_accel_main_0_1"


def test_nothing_else_may_have_the_names_of_pools_and_assertions():
    model = interface(pools=[workspace("x", is_internal=True), workspace("run", is_internal=True)])
    assert taken_symbols(model) == [
        f"tvmgen_default_{name}"
        for name in (
            *("run", "reset", "map_inputs", "map_outputs"),
            *("x", "run_1"),
            *("x_has_size", "x_is_within_size_hint", "x_is_aligned"),
            *("run_has_size", "run_is_within_size_hint", "run_is_aligned"),
        )
    ]


@pytest.mark.board
def test_an_external_pool_in_which_no_tensor_has_its_place(object_of):
    """The map functions take the pools all the same, and use none of them."""
    own = workspace("own", is_internal=True)
    place = PoolAllocation(own.info.pool_info, 16)
    model = interface([tensor("x", place=place)], [tensor("y", place=place)], [own, workspace()])
    assert object_of(model).stderr == ""


def test_a_hint_that_c_cannot_keep():
    """A struct is a whole number of its elements."""
    pool = constants("rom", [1], at=0, size_bytes=3, is_internal=True, size_hint_bytes=3)
    with pytest.raises(ValueError) as error:
        print_internal_pools(interface(pools=[pool]))
    assert str(error.value) == (
        'constant pool "rom" takes 4 bytes as a C object, since C rounds its 3 bytes up, but its '
        "size hint is 3; give it 4"
    )


@pytest.mark.parametrize("section", [".bss", ".bss.rom", ".noinit", ".sbss.x"])
def test_constants_in_a_section_without_content(section):
    with pytest.raises(ValueError) as error:
        check_sections([constants(section_name=section)])
    assert str(error.value) == (
        f'constant pool "flash" cannot be in section "{section}", which has no content; '
        "give the pool another section_name"
    )


@pytest.mark.parametrize("section", [".rodata", ".rodata.sram", ".text", ".text.itcm"])
def test_a_workspace_in_a_section_that_is_read_only(section):
    with pytest.raises(ValueError) as error:
        check_sections([workspace(section_name=section)])
    assert str(error.value) == (
        f'workspace pool "sram" cannot be in section "{section}", which is read-only; '
        "give the pool another section_name"
    )


@pytest.mark.parametrize("section", [".bssx", ".noinit_rom", ".itcm"])
def test_sections_of_similar_names_hold_constants(section):
    check_sections([constants(section_name=section)])


def test_two_workspaces_may_share_a_section_but_not_with_constants():
    shared = [workspace("a", section_name=".x"), workspace("b", section_name=".x")]
    check_sections(shared)
    with pytest.raises(ValueError) as error:
        check_sections([*shared, constants("rom", section_name=".x")])
    assert str(error.value) == (
        'section ".x" cannot hold both workspace pool "a" and constant pool "rom": '
        "one is constant, the other written; give one of them another section_name"
    )


@pytest.mark.parametrize("section", [".noinit", ".bss.noinit.tvm"])
def test_state_needs_memory_that_is_zeroed(section):
    """An application that has the array can call reset; before the first run nothing else does."""
    internal = workspace(is_internal=True, section_name=section)
    check_sections([internal])
    check_sections([workspace(section_name=section)], {"sram"})
    check_sections([workspace(is_internal=True, section_name=".bss.sram")], {"sram"})
    with pytest.raises(ValueError) as error:
        check_sections([internal], {"sram"})
    assert str(error.value) == (
        'workspace pool "sram" keeps state between runs, which begins as zeros, but section '
        f'"{section}" is not zeroed at start-up; give the pool another section_name, or the states '
        "a pool of their own (--state-pool, state_memory_pool) with a start-up check"
    )
