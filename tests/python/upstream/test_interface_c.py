"""TVM's tests of the header (tests/cpp/target/source/interface_c_test.cc), but for comments, blanks
and devices."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tvm

from usmp.codegen.c.names import sanitise_all
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor, member_names
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.codegen.sources.header import print_header
from usmp.objects import (
    AllocatedPoolInfo,
    ConstantInfo,
    ConstantPoolInfo,
    PoolAllocation,
    TensorInfo,
    WorkspacePoolInfo,
)

PREFIX = "tvmgen_ultimate_cat_spotter"
RUN = f"int32_t {PREFIX}_run(struct {PREFIX}_inputs* inputs, struct {PREFIX}_outputs* outputs"
POOLS = f"struct {PREFIX}_workspace_pools* workspace_pools"
POINTERS = {"inputs": "const void*", "outputs": "void*"}
"""Inputs had no const in TVM."""


def header(inputs=("input",), outputs=("output",), pools=(), places=None):
    """The text without comments, every run of blanks as one."""

    def infos(named):
        sizes = dict(named) if isinstance(named, dict) else dict.fromkeys(named, 0)
        return [TensorInfo(name, [size], "uint8") for name, size in sizes.items()]

    described = [infos(inputs), infos(outputs)]
    (members,) = member_names({"": described})
    tensors = [
        IOTensor(info, c_name, (places or {}).get(info.name))
        for info, c_name in zip([*described[0], *described[1]], members, strict=True)
    ]
    c_names = sanitise_all([pool.pool_info.pool_name for pool in pools], "pool")
    taken = [PoolParameter(pool, name) for pool, name in zip(pools, c_names, strict=True)]
    of_entry = tensors[: len(inputs)], tensors[len(inputs) :], taken
    main = EntryInterface("main", "__tvm_main__", PREFIX, *of_entry)
    interface = Interface("ultimate_cat_spotter", [main], taken)
    text = re.sub(r"/\*.*?\*/", "", print_header(interface), flags=re.DOTALL)
    return re.sub(r"\s+", " ", text)


def workspace(name="my_memory_pool", size_bytes=100000):
    return AllocatedPoolInfo(WorkspacePoolInfo(name, []), size_bytes)


def test_contains_header_guards():
    text = header()
    assert text.startswith(
        "#ifndef TVMGEN_ULTIMATE_CAT_SPOTTER_H_ #define TVMGEN_ULTIMATE_CAT_SPOTTER_H_ "
        '#include <stdint.h> #ifdef __cplusplus extern "C" { #endif '
    )
    assert text.endswith("#ifdef __cplusplus } #endif #endif ")


def test_contains_run_function():
    assert f"{RUN});" in header()


def test_contains_run_function_with_workspace_pools():
    assert f"{RUN}, {POOLS});" in header(pools=[workspace()])


def test_contains_run_function_with_workspace_and_constant_pools():
    constants = [
        ConstantInfo("const1", 0, tvm.runtime.tensor(np.array([7], "int32"))),
        ConstantInfo("const2", 16, tvm.runtime.tensor(np.array([-0.0], "float64"))),
    ]
    info = ConstantPoolInfo("my_constant_pool", [], constants)
    text = header(pools=[workspace(), AllocatedPoolInfo(info, 24)])
    assert f"{RUN}, {POOLS});" in text
    macro = "#define TVMGEN_ULTIMATE_CAT_SPOTTER_MY_CONSTANT_POOL_CONSTANT_POOL"
    assert f"{macro}_SIZE 24 " in text
    data = text.split(f"{macro}_DATA \\ ")[1].split("#")[0].replace("\\ ", "").split()
    assert data == ["0x07,", *["0x00,"] * 22, "0x80,"]


def test_contains_run_function_with_workspace_io():
    pool = workspace()
    places = {
        "input": PoolAllocation(pool.pool_info, 1000),
        "output": PoolAllocation(pool.pool_info, 2000),
    }
    text = header(pools=[pool], places=places)
    assert (
        f"struct {PREFIX}_inputs {PREFIX}_map_inputs({POOLS}); "
        f"struct {PREFIX}_outputs {PREFIX}_map_outputs({POOLS}); "
        f"int32_t {PREFIX}_run({POOLS});" in text
    )


@pytest.mark.parametrize("what", ["inputs", "outputs"])
@pytest.mark.parametrize(
    ("sizes", "members"),
    [
        ({"tensor": 765}, ["tensor"]),
        ({"tensor1": 765, "tensor2": 127}, ["tensor1", "tensor2"]),
        ({"tensor+1": 765, "tensor+2": 127}, ["tensor_1", "tensor_2"]),
    ],
    ids=["single", "many", "sanitised"],
)
def test_contains_tensor_struct(what, sizes, members):
    text = header(**{what: sizes})
    fields = " ".join(f"{POINTERS[what]} {member};" for member in members)
    assert f"struct {PREFIX}_{what} {{ {fields} }};" in text
    for member, size in zip(members, sizes.values(), strict=True):
        assert f"#define TVMGEN_ULTIMATE_CAT_SPOTTER_{member.upper()}_SIZE {size} " in text


@pytest.mark.parametrize("what", ["inputs", "outputs"])
def test_contains_tensor_struct_clash(what):
    """TVM refused it."""
    text = header(**{what: ["tensor+", "tensor-"]})
    fields = f"{POINTERS[what]} tensor_; {POINTERS[what]} tensor__1;"
    assert f"struct {PREFIX}_{what} {{ {fields} }};" in text


def test_no_device_api_struct_if_no_devices():
    assert f"struct {PREFIX}_devices" not in header()


def test_contains_workspace_size():
    text = header(pools=[workspace("a", 765000), workspace("b", 432)])
    assert "#define TVMGEN_ULTIMATE_CAT_SPOTTER_WORKSPACE_SIZE 765432 " in text


@pytest.mark.parametrize(
    ("pools", "members"),
    [
        ({"my_memory_pool": 100000}, ["my_memory_pool"]),
        (
            {"my_memory_pool_1": 100000, "my_memory_pool_2": 200000},
            ["my_memory_pool_1", "my_memory_pool_2"],
        ),
        ({"my_memory_pool+1": 100000}, ["my_memory_pool_1"]),
    ],
    ids=["single", "many", "sanitised"],
)
def test_contains_workspace_pool_struct(pools, members):
    text = header(pools=[workspace(name, size) for name, size in pools.items()])
    fields = " ".join(f"void* {member};" for member in members)
    assert f"struct {PREFIX}_workspace_pools {{ {fields} }};" in text
    for member, size in zip(members, pools.values(), strict=True):
        macro = f"TVMGEN_ULTIMATE_CAT_SPOTTER_{member.upper()}_WORKSPACE_POOL_SIZE"
        assert f"#define {macro} {size} " in text


def test_contains_workspace_pool_struct_clash():
    with pytest.raises(ValueError, match="are both my_memory_pool_ in C"):
        header(pools=[workspace("my_memory_pool+"), workspace("my_memory_pool-", 200000)])
