"""`usmp.build` with the memories of a user: several pools, external ones, too small ones."""

from __future__ import annotations

import numpy as np
import pytest
from tvm.ir.transform import PassContext
from tvm.target import Target

import usmp
from support.relax_models import Attention, X, attention, bound_attention
from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)

pytestmark = pytest.mark.usefixtures("one_session")

C = Target("c")
PEAK = 320
"""Bytes that the buffers of `Attention` take in one pool."""


def workspace(name: str, size: int = -1, internal: bool = False, targets=(C,)) -> WorkspacePoolInfo:
    return WorkspacePoolInfo(name, targets, PoolInfoProperties(size, is_internal=internal))


def constants(name: str, size: int = -1, internal: bool = False) -> ConstantPoolInfo:
    return ConstantPoolInfo(name, [C], None, PoolInfoProperties(size, is_internal=internal))


def build(
    *pools, use_workspace_io: bool = False, executor: usmp.Executor | None = None
) -> usmp.AOTExecutorFactoryModule:
    ours = [pool for pool in pools if isinstance(pool, WorkspacePoolInfo)]
    read_only = [pool for pool in pools if isinstance(pool, ConstantPoolInfo)]
    with PassContext(config={"tir.usmp.use_workspace_io": use_workspace_io}):
        return usmp.build(
            bound_attention(),
            executor=executor,
            workspace_memory_pools=WorkspaceMemoryPools(ours) if ours else None,
            constant_memory_pools=ConstantMemoryPools(read_only) if read_only else None,
        )


def message_of(*pools, **options) -> str:
    with pytest.raises(ValueError) as error:
        build(*pools, **options)
    return str(error.value).split("\n\n")[0]


def assert_right(factory: usmp.AOTExecutorFactoryModule) -> None:
    (value,) = factory.run({"x": X}).values()
    np.testing.assert_allclose(value, attention(), rtol=1e-5)


def pools_of(factory: usmp.AOTExecutorFactoryModule) -> dict[str, dict]:
    pools = factory.metadata["modules"]["default"]["memory"]["pools"]
    return {pool["name"]: pool for pool in pools}


def sizes_of(factory: usmp.AOTExecutorFactoryModule) -> dict[str, int]:
    return {name: pool["size_bytes"] for name, pool in pools_of(factory).items()}


@pytest.mark.cc
def test_default_pools_are_internal():
    factory = build()
    pools = pools_of(factory)
    assert {name: pool["internal"] for name, pool in pools.items()} == {
        "global_workspace": True,
        "global_const_workspace": True,
    }
    assert sizes_of(factory) == {"global_workspace": PEAK, "global_const_workspace": 2 * 4096}
    assert "workspace_pools" not in factory.header
    assert_right(factory)


@pytest.mark.cc
@pytest.mark.parametrize("internal", [True, False], ids=["internal", "external"])
@pytest.mark.parametrize("use_workspace_io", [True, False], ids=["io-planned", "io-outside"])
def test_pools_of_the_user_run(internal, use_workspace_io):
    factory = build(
        workspace("sram", internal=internal),
        constants("flash", internal=internal),
        use_workspace_io=use_workspace_io,
    )
    assert sorted(sizes_of(factory)) == ["flash", "sram"]
    assert_right(factory)


@pytest.mark.slow
def test_external_pools_are_parameters_of_the_entry_point():
    factory = build(workspace("sram"), constants("flash"))
    flash = sizes_of(factory)["flash"]
    assert (
        "struct tvmgen_default_workspace_pools {\n"
        f"  const void* flash;  /* {flash} bytes, aligned to 16 */\n"
        f"  void* sram;  /* {PEAK} bytes, aligned to 16 */\n"
        "};\n"
    ) in factory.header
    assert "struct tvmgen_default_workspace_pools* workspace_pools);" in factory.header
    assert "#define TVMGEN_DEFAULT_FLASH_CONSTANT_POOL_DATA \\\n" in factory.header
    assert f"#define TVMGEN_DEFAULT_SRAM_WORKSPACE_POOL_SIZE {PEAK}\n" in factory.header
    assert "static uint8_t" not in factory.source
    assert "static const" not in factory.source


@pytest.mark.cc
def test_internal_pool_is_not_a_parameter():
    factory = build(workspace("sram", internal=True), constants("flash"))
    struct = factory.header.split("struct tvmgen_default_workspace_pools {\n")[1].split("}")[0]
    assert struct.startswith("  const void* flash;")
    assert "sram" not in struct
    assert_right(factory)


@pytest.mark.cc
def test_buffers_spill_to_the_second_pool():
    factory = build(workspace("tcm", 256), workspace("sram"))
    pools = pools_of(factory)
    assert 0 < pools["tcm"]["size_bytes"] <= 256
    assert pools["sram"]["size_bytes"] > 0
    assert pools["tcm"]["size_hint_bytes"] == 256
    assert_right(factory)


@pytest.mark.slow
@pytest.mark.cc
def test_constants_spill_to_the_second_pool():
    factory = build(constants("itcm", 4096), constants("flash"))
    assert {
        name: size for name, size in sizes_of(factory).items() if name != "global_workspace"
    } == {
        "itcm": 4096,
        "flash": 4096,
    }
    assert_right(factory)


def test_the_first_pool_is_taken_if_it_suffices():
    sizes = sizes_of(build(workspace("first"), workspace("second")))
    assert (sizes["first"], sizes["second"]) == (PEAK, 0)


@pytest.mark.slow
def test_pool_of_exactly_the_needed_size():
    assert sizes_of(build(workspace("sram", PEAK)))["sram"] == PEAK


def test_pool_that_is_too_small():
    message = message_of(workspace("sram", PEAK - 1))
    first, pool, proof, hint = message.split("\n")
    assert first.startswith(
        "TVM USMP Error: the space available in the provided pools exceeded "
        "when trying to allocate the buffer : "
    )
    assert pool == f'  pool "sram": size_hint_bytes={PEAK - 1}'
    assert proof.startswith(f"No plan fits: 2 buffers together need at least {PEAK} bytes: ")
    assert hint.startswith("Please increase the size_hints for memory pools.")
    assert f'{PEAK} for pool "sram"' in hint


def test_constant_pool_that_is_too_small():
    message = message_of(constants("flash", 100))
    assert '  pool "flash": size_hint_bytes=100' in message.splitlines()
    assert "the constants need at least 8192 bytes, but there are 100" in message


def test_every_pool_that_is_too_small_is_listed():
    message = message_of(workspace("tcm", 64), workspace("sram", 128))
    assert [line.split('"')[1] for line in message.splitlines() if "pool " in line[:7]] == [
        "tcm",
        "sram",
    ]


def test_two_pools_of_one_name():
    assert message_of(workspace("sram"), workspace("sram", 100)) == (
        'Two memory pools are called "sram"'
    )


@pytest.mark.slow
def test_workspace_and_constant_pool_of_one_name():
    assert message_of(workspace("ram"), constants("ram")) == (
        'Two different memory pools are called "ram"'
    )


def test_pools_that_are_one_name_in_c():
    factory = build(workspace("sram 1", 256), workspace("sram-1"))
    with pytest.raises(ValueError) as error:
        factory.files()
    assert str(error.value) == (
        'pool names "sram 1" and "sram-1" are both sram_1 in C; rename one of them in the model'
    )


def test_pool_of_another_target():
    message = message_of(workspace("sram", targets=[Target("llvm")]))
    assert message.startswith("the model: no pool may hold buffer ")
    assert " by target c of matmul (sram: llvm" in message


@pytest.mark.cc
def test_target_of_a_pool_by_name():
    assert_right(build(workspace("sram", targets=["c"])))


def test_pool_of_another_target_stays_empty():
    factory = build(workspace("npu", targets=[Target("llvm")]), workspace("sram"))
    assert sizes_of(factory) == {"global_const_workspace": 2 * 4096, "npu": 0, "sram": PEAK}


@pytest.mark.parametrize("value", [[workspace("sram")], workspace("sram"), "sram"])
@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("workspace_memory_pools", "WorkspaceMemoryPools"),
        ("constant_memory_pools", "ConstantMemoryPools"),
    ],
)
def test_what_is_no_pools_object(argument, expected, value):
    with pytest.raises(TypeError) as error:
        usmp.build(Attention, **{argument: value})
    assert str(error.value) == f"{argument} takes {expected}, not {type(value).__name__}"


def test_pools_of_the_other_kind():
    pools = ConstantMemoryPools([constants("flash")])
    with pytest.raises(TypeError) as error:
        usmp.build(Attention, workspace_memory_pools=pools)
    assert str(error.value) == (
        "workspace_memory_pools takes WorkspaceMemoryPools, not ConstantMemoryPools"
    )


@pytest.mark.cc
@pytest.mark.parametrize("internal", [False, True])
def test_pools_are_aligned_as_the_executor_asks(internal):
    executor = usmp.Executor(
        "aot", {"workspace-byte-alignment": 64, "constant-byte-alignment": 128}
    )
    pools = workspace("sram", internal=internal), constants("flash", internal=internal)
    factory = build(*pools, executor=executor)
    assert {name: pool["alignment_bytes"] for name, pool in pools_of(factory).items()} == {
        "flash": 128,
        "sram": 64,
    }
    text = factory.source if internal else factory.header
    for alignment in (64, 128):
        assert (f"TVMGEN_ALIGNED({alignment})" if internal else f"aligned to {alignment}") in text
    assert_right(factory)
