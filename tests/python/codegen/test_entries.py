"""The C of models with several entries: names, what is there once, and what comments say."""

from __future__ import annotations

import re
import subprocess
from random import Random

import pytest
from tvm.ir.transform import PassContext

import usmp
from support.compilers import require, run_compiler
from support.entry_models import ENTRIES, check_entries_compute, entry_model
from support.hostile_names import check_c, hostile_name
from support.interface_views import constants, entry, tensor, workspace
from support.poison import poisoned
from usmp import ConstantMemoryPools, ConstantPoolInfo, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.codegen.interface.entry_facts import UsedState
from usmp.codegen.interface.entry_interface import member_names
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.sources.entry_points import MainFunction, print_entry_point_source
from usmp.codegen.sources.header import print_header
from usmp.codegen.sources.packed import print_packed_source
from usmp.objects import PlacedBuffer, PoolAllocation, TensorInfo
from usmp.objects.attributes.module_attributes import ENTRIES_ATTR

pytestmark = pytest.mark.cc

SRAM = workspace()
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
KEPT = [PlacedBuffer(n, "__tvm_a__", 3, "sram", 8 * i, 8, 8, [], []) for i, n in enumerate("kv")]


def two(a: dict | None = None, b: dict | None = None, **more) -> Interface:
    """A model of the entries `a` and `b`, which have an input each."""
    entries = [
        entry("a", [tensor("x")], [], [SRAM], **(a or {})),
        entry("b", [tensor("x", (2,))], [tensor("y")], [SRAM], **(b or {})),
    ]
    return Interface("default", entries, [SRAM], **more)


def comment_of(header: str, function: str) -> str:
    """The comment before a function of the header."""
    return re.findall(rf"/\*!\n((?: \*.*\n)*?) \*/\n[^\n]*\b{function}\(", header)[0]


# ---- names


def infos(*names: str, size: int = 4, scale: float | None = None) -> list[TensorInfo]:
    zero_point = None if scale is None else 0
    return [TensorInfo(name, [size], "int8", scale, zero_point) for name in names]


def test_tensors_of_different_entries_have_their_own_names():
    entries = {"a": (infos("x"), infos("x")), "b": (infos("x", size=8), infos("y"))}
    assert member_names(entries) == [["x", "x"], ["x", "y"]]


@pytest.mark.parametrize(
    ("other", "member"),
    [
        (infos("x"), "x"),
        (infos("x", size=5), "x_1"),
        (infos("x", scale=0.5), "x_1"),
    ],
    ids=["same", "size", "quantization"],
)
def test_macros_of_two_entries_with_one_name(other, member):
    """Tensor "b_x" of entry "a" and "x" of "a_b": both macros begin with A_B_X."""
    assert member_names({"a": (infos("b_x"), []), "a_b": (other, [])}) == [["b_x"], [member]]


def test_one_entry_may_have_an_input_and_an_output_of_one_size():
    """They share the macro of their size; those of what differs are left out."""
    assert member_names({"a": (infos("x"), infos("x", scale=0.5))}) == [["x", "x"]]


def test_macro_of_a_tensor_and_of_a_pool():
    entries = {"sram": (infos("workspace_pool"), []), "b": (infos("workspace_pool"), [])}
    assert member_names(entries, ["SRAM_WORKSPACE_POOL"]) == [
        ["workspace_pool_1"],
        ["workspace_pool"],
    ]


NAMES = ("a", "a_map", "run", "reset", "map_inputs", "default", "int", "workspace", "sram", "A_b_")


@pytest.mark.parametrize("language", ["c", "c++"])
def test_names_of_entries_that_are_names_of_other_things(language):
    place = PoolAllocation(SRAM.info.pool_info, 0)
    tensors = [tensor("x", place=place)], [tensor("run", place=place)]
    pools = [constants(), SRAM]
    entries = [entry(name, *tensors, pools) for name in NAMES]
    text = print_header(Interface("default", entries, pools))
    command = ["gcc", "-x", language, *STRICT, "-fsyntax-only", "-"]
    run_compiler(command, input=text)


@pytest.mark.parametrize("place", [None, PoolAllocation(SRAM.info.pool_info, 0)], ids=str)
def test_functions_of_entries_with_such_names(tmp_path, place):
    tensors = [tensor("x", place=place)], [tensor("y", place=place)]
    entries = [entry(name, *tensors, [SRAM]) for name in NAMES]
    model = Interface("default", entries, [SRAM])
    types = ["const int8_t*", "int8_t*", "uint8_t*"][-1 if place else 0 :]
    mains = [MainFunction(f"planned_{name}", types) for name in NAMES]
    (tmp_path / "tvmgen_default.h").write_text(print_header(model))
    (tmp_path / "model.c").write_text(print_entry_point_source(model, mains))
    command = ["gcc", "-std=c99", *STRICT, "-c", "model.c", "-o", "model.o"]
    run_compiler(command, cwd=tmp_path)
    listed = subprocess.run(["nm", "model.o"], cwd=tmp_path, capture_output=True, text=True)
    kinds = ("run", "map_inputs", "map_outputs") if place else ("run",)
    assert {line.split()[2] for line in listed.stdout.splitlines() if " T " in line} == {
        f"tvmgen_default_{name}_{kind}" for name in NAMES for kind in kinds
    }


# ---- the header


def test_declarations():
    text = re.sub(r"/\*.*?\*/", "", print_header(two(states=KEPT)), flags=re.DOTALL)
    start, end = text.index("struct tvmgen_default_a_inputs {"), text.index("#ifdef __cplusplus\n}")
    pools = "struct tvmgen_default_workspace_pools* workspace_pools"
    assert re.sub(r"\s+\n", "\n", text[start:end]) == (
        "struct tvmgen_default_a_inputs {\n  const void* x;\n};\n"
        "struct tvmgen_default_a_outputs {\n  uint8_t unused;\n};\n"
        "struct tvmgen_default_b_inputs {\n  const void* x;\n};\n"
        "struct tvmgen_default_b_outputs {\n  void* y;\n};\n"
        "struct tvmgen_default_workspace_pools {\n  void* sram;\n};\n"
        "int32_t tvmgen_default_a_run(struct tvmgen_default_a_inputs* inputs, "
        f"struct tvmgen_default_a_outputs* outputs, {pools});\n"
        "int32_t tvmgen_default_b_run(struct tvmgen_default_b_inputs* inputs, "
        f"struct tvmgen_default_b_outputs* outputs, {pools});\n"
        f"void tvmgen_default_reset({pools});\n"
    )


def test_macros():
    defined = dict(re.findall(r"#define TVMGEN_DEFAULT_(\w+) (\d+)$", print_header(two()), re.M))
    assert defined == {
        "A_X_SIZE": "4",
        "B_X_SIZE": "2",
        "B_Y_SIZE": "4",
        "WORKSPACE_SIZE": "64",
        "SRAM_WORKSPACE_POOL_SIZE": "64",
        "SRAM_WORKSPACE_POOL_ALIGNMENT": "16",
    }


def test_an_entry_that_is_called_otherwise_than_main_has_its_name_in_c():
    model = Interface("default", [entry("forward", [tensor("x")])], [])
    text = print_header(model)
    assert "int32_t tvmgen_default_forward_run(" in text
    assert "#define TVMGEN_DEFAULT_FORWARD_X_SIZE 4\n" in text
    assert model.inputs == model.only_entry.inputs


def test_the_only_entry_of_several():
    with pytest.raises(ValueError) as error:
        _ = two().only_entry
    assert str(error.value) == ('model "default" has 2 entries; choose one by its name: "a", "b"')


def test_comments_without_state():
    text = print_header(two({"concurrent_with": ["b", "c"]}))
    assert comment_of(text, "tvmgen_default_a_run") == (
        ' * \\brief Run entry "a" of TVM module "default"; returns 0.\n'
        ' * Only entries "b", "c" may run at the same time, and interrupt it or be interrupted\n'
    )
    assert comment_of(text, "tvmgen_default_b_run") == (
        ' * \\brief Run entry "b" of TVM module "default"; returns 0.\n'
        " * No other entry may run at the same time\n"
    )


@pytest.mark.parametrize(
    ("used", "sentence"),
    [
        ({}, "It uses none of the 16 bytes that are kept between runs"),
        ({"k": True}, 'It changes 8 ("k") of the 16 bytes that are kept between runs'),
        ({"k": False}, 'It only reads 8 ("k") of the 16 bytes that are kept between runs'),
        (
            {"k": True, "v": False},
            'It changes 8 ("k") and only reads 8 ("v") of the 16 bytes that are kept between runs',
        ),
        ({"k": True, "v": True}, 'It changes 16 ("k", "v") of the 16 bytes that are kept'),
    ],
    ids=str,
)
def test_comments_about_state(used, sentence):
    states = [UsedState(name, 8, is_changed) for name, is_changed in used.items()]
    text = print_header(two({"states": states}, states=KEPT))
    assert f" * {sentence}" in comment_of(text, "tvmgen_default_a_run")


def test_comment_about_many_states():
    states = [UsedState(f"layers.{number}.cache", 8, True) for number in range(9)]
    text = comment_of(print_header(two({"states": states}, states=KEPT)), "tvmgen_default_a_run")
    assert '"layers.5.cache" and 3 more) of the 16 bytes' in text
    assert "layers.6.cache" not in text


@pytest.mark.parametrize(("language", "standard"), [("c", "c99"), ("c++", "c++11")])
def test_hostile_names_of_tensors_and_states(language, standard):
    random = Random(language)
    text = "#include <stdint.h>\n#include <math.h>\n#include <string.h>\n"
    for number in range(60):
        names = [hostile_name(random) for _ in range(4)]
        members = member_names({"a": (infos(*names[:2]), []), "a_b": (infos(*names[2:]), [])})
        states = [UsedState(hostile_name(random), 1, bool(random.randrange(2))) for _ in range(3)]
        entries = [
            entry(
                name,
                [tensor(n, c_name=c) for n, c in zip(given, own, strict=True)],
                states=states,
                module_name=f"m{number}",
            )
            for name, given, own in zip(("a", "a_b"), (names[:2], names[2:]), members, strict=True)
        ]
        text += print_header(Interface(f"m{number}", entries, [], KEPT))
    check_c(text, language, standard)


def test_comment_about_tensors_in_the_workspace():
    """What one entry leaves there, another one overwrites."""
    place = PoolAllocation(SRAM.info.pool_info, 16)
    inputs = [tensor("x", place=place)]
    entries = [entry(name, inputs, [], [SRAM], preserves_inputs=True) for name in "ab"]
    comment = comment_of(print_header(Interface("m", entries, [SRAM])), "tvmgen_default_a_run")
    assert comment == (
        ' * \\brief Run entry "a" of TVM module "m"; returns 0.\n'
        " * Inputs and outputs live in the workspace, where map_inputs and map_outputs say:\n"
        " * write all inputs right before each run, and read the outputs right after it, for\n"
        " * other entries use the same bytes.\n"
        " * No other entry may run at the same time\n"
    )


def test_packed_tables_of_entries():
    source = print_packed_source(
        two(states=KEPT),
        [MainFunction(f"planned_{n}", ["uint8_t*"] * c) for n, c in (("a", 2), ("b", 3))],
    )
    tables = re.findall(r"^static const (?:int64_t|struct tvmgen_argument) (\w+)\[\]", source, re.M)
    assert tables == ["shape_0_0", "arguments_0", "shape_1_0", "shape_1_1", "arguments_1"]
    exported = re.findall(r"^TVM_FFI_DLL_EXPORT int __tvm_ffi_(\w+)\(", source, re.M)
    assert exported == ["tvmgen_default_a_run", "tvmgen_default_b_run", "tvmgen_default_reset"]
    assert 'tvmgen_check_all("tvmgen_default_b_run", arguments_1, 3, args' in source
    assert 'tvmgen_check_all("tvmgen_default_reset", &arguments_0[1], 1, args' in source


def test_reset_says_that_pools_are_unused_where_states_are_in_none_of_them():
    """Compilers warn of a parameter that is not used; without external pools there is none."""
    kept = workspace("kept", is_internal=True)
    for pools, pool, is_unused in (
        ([SRAM, kept], "sram", False),
        ([SRAM, kept], "kept", True),
        ([kept], "kept", False),
    ):
        state = PlacedBuffer("k", "__tvm_a__", 3, pool, 8, 8, 8, [], [])
        model = Interface("default", [entry("a", [], [], pools)], pools, [state])
        source = print_entry_point_source(model, [MainFunction("a", ["uint8_t*"] * len(pools))])
        start = source.index("void tvmgen_default_reset(")
        _, clears, *others = source[start : source.index("\n}", start)].splitlines()
        assert clears.startswith("  memset((uint8_t*)")
        assert others == ["  (void)workspace_pools;"] * is_unused


# ---- whole models


EXTERNAL = {
    "workspace_memory_pools": WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c", "llvm"])]),
    "constant_memory_pools": ConstantMemoryPools([ConstantPoolInfo("flash", ["c", "llvm"])]),
}
PACKED = {"executor": usmp.Executor("aot", {"interface-api": "packed"})}


@pytest.fixture(scope="module")
def factory() -> usmp.AOTExecutorFactoryModule:
    return usmp.build(entry_model())


@pytest.mark.slow
def test_what_entries_have_in_common_is_there_once(factory):
    source = factory.source
    functions = re.findall(
        r"^static (?:TVMGEN_NOINLINE )?void tvmgen_default_(\w+)\(", source, re.M
    )
    assert len(functions) == len(set(functions))
    assert {f"__tvm_{name}__" for name in ENTRIES} < set(functions)
    assert functions.count("usmp_copy_0") == 1, "the initial value is copied in two entries"
    (content,) = re.findall(r"static const struct {\n(.*?)^} \w+ TVMGEN", source, re.M | re.DOTALL)
    assert re.findall(r"float \w+\[(\d+)\]", content) == ["64", "8"]


def test_workspace_is_the_largest_entry_and_the_state(factory):
    """Of `plain`, a row of each product: its operators run interleaved."""
    assert factory.interface.workspace_size_bytes == 2 * 8 * 4 + 32 + 1
    assert factory.ram_bytes == factory.interface.workspace_size_bytes + (24 + 24 + 3) * 4


@pytest.mark.slow
def test_peak_of_each_entry(factory):
    """States count in all of them: 32 bytes at the begin of the pool, and a byte at its end."""
    mains = factory.metadata["modules"]["default"]["memory"]["functions"]["main"]
    peaks = {main["entry"]: main["peak_bytes"] for main in mains}
    assert peaks == {name: {"global_workspace": 97} for name in ENTRIES}
    with PassContext(config={"tir.usmp.algorithm": "no_sharing"}):
        mains = usmp.build(entry_model()).metadata["modules"]["default"]["memory"]["functions"]
    peaks = {main["entry"]: main["peak_bytes"]["global_workspace"] for main in mains["main"]}
    assert peaks == {"learn": 65, "tell": 65, "plain": 272}


def test_states_that_entries_use(factory):
    """All set the initial values that are not zeros, if they run first."""
    used = {e.name: {s.name: s.is_changed for s in e.states} for e in factory.interface.entries}
    both = {"total": True, "states_are_set": True}
    assert used == {"learn": both, "tell": both, "plain": {}}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["c", "llvm"])
@pytest.mark.parametrize("arguments", [{}, EXTERNAL, PACKED, {**EXTERNAL, **PACKED}], ids=len)
def test_entries_compute(target, arguments):
    module = usmp.build(entry_model(), target, **arguments).load()
    check_entries_compute(module.run)
    module.reset()
    check_entries_compute(module.run)


@pytest.mark.slow
@pytest.mark.parametrize("concurrent", [(), [("tell", "plain")], [ENTRIES[1:]]], ids=str)
@pytest.mark.parametrize("arguments", [{}, EXTERNAL], ids=len)
def test_entries_compute_with_workspace_io(concurrent, arguments):
    with PassContext(config={"tir.usmp.use_workspace_io": True}):
        factory = usmp.build(entry_model(), concurrent=concurrent, **arguments)
    assert factory.metadata["modules"]["default"]["memory"]["ram"]["io_size_bytes"] == 0
    check_entries_compute(poisoned(factory).run)


@pytest.mark.slow
def test_an_entry_without_pools(tmp_path):
    """It takes the struct of pools as the others do, and nothing of it."""
    mod = entry_model()
    factory = usmp.build(mod, **EXTERNAL)
    require("gcc")
    model = factory.interface
    entries = [model.entries[0], entry("idle", [tensor("x")], [])]
    both = Interface("default", entries, model.pools, model.states)
    mains = [MainFunction("learn", ["float*"] * 4), MainFunction("idle", ["int8_t*"])]
    (tmp_path / "tvmgen_default.h").write_text(print_header(both))
    (tmp_path / "model.c").write_text(print_entry_point_source(both, mains))
    command = ["gcc", "-std=c99", *STRICT, "-c", "model.c", "-o", "model.o"]
    run_compiler(command, cwd=tmp_path)


def test_only_functions_of_the_header_are_global(factory, tmp_path):
    for name, content in factory.files().items():
        if name.startswith("codegen/"):
            (tmp_path / name.rpartition("/")[2]).write_bytes(content)
    command = ["gcc", "-std=c99", *STRICT, "-c", "default_lib0.c", "-o", "model.o"]
    run_compiler(command, cwd=tmp_path)
    listed = subprocess.run(["nm", "model.o"], cwd=tmp_path, capture_output=True, text=True)
    external = {
        line.split()[-1] for line in listed.stdout.splitlines() if re.search(" [TDBR] ", line)
    }
    assert external == {
        *(f"tvmgen_default_{name}_run" for name in ENTRIES),
        "tvmgen_default_reset",
    }


def test_name_that_c_cannot_have(factory):
    mod = factory.ir_mod.with_attr(ENTRIES_ATTR.name, ["learn", "a b"])
    with pytest.raises(ValueError, match='an entry cannot be called "a b"'):
        _ = usmp.AOTExecutorFactoryModule(mod, "default").interface
