import numpy as np
import pytest
import tvm
from tvm.target import Target

from usmp.objects import (
    AllocatedPoolInfo,
    ConstantInfo,
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)

PROPERTIES = {
    "size_hint_bytes": 1425,
    "clock_frequency_hz": 200_000_000,
    "read_bandwidth_bytes_per_cycle": 8,
    "write_bandwidth_bytes_per_cycle": 4,
    "read_latency_cycles": 3,
    "write_latency_cycles": 2,
    "is_internal": True,
    "section_name": ".dtcm_bss",
    "alignment": 32,
    "pool_offset": 3,
    "address": 0x2000_0000,
    "io": "no",
}
DEFAULTS = {
    "size_hint_bytes": -1,
    "clock_frequency_hz": -1,
    "read_bandwidth_bytes_per_cycle": -1,
    "write_bandwidth_bytes_per_cycle": -1,
    "read_latency_cycles": 0,
    "write_latency_cycles": 0,
    "is_internal": False,
    "section_name": "",
    "alignment": 0,
    "pool_offset": 0,
    "address": -1,
    "io": "any",
}
TARGET = Target("c")


def constant(name, byte_offset=0):
    return ConstantInfo(name, byte_offset, tvm.runtime.tensor(np.arange(4, dtype="int8")))


def fields(obj, names):
    return {name: getattr(obj, name) for name in names}


def test_properties_default_to_no_limit_and_nothing_known():
    properties = PoolInfoProperties()
    assert fields(properties, DEFAULTS) == DEFAULTS
    assert dict(properties.target_burst_bytes) == {}


def test_properties_keep_what_they_were_given():
    properties = PoolInfoProperties(target_burst_bytes={TARGET: 2}, **PROPERTIES)
    assert fields(properties, PROPERTIES) == PROPERTIES
    assert dict(properties.target_burst_bytes) == {TARGET: 2}


@pytest.mark.parametrize(
    ("field", "value", "minimum"),
    [
        ("size_hint_bytes", -2, -1),
        ("clock_frequency_hz", -2, -1),
        ("read_bandwidth_bytes_per_cycle", -2, -1),
        ("write_bandwidth_bytes_per_cycle", -2, -1),
        ("read_latency_cycles", -1, 0),
        ("write_latency_cycles", -1, 0),
        ("alignment", -1, 0),
        ("pool_offset", -1, 0),
        ("address", -2, -1),
    ],
)
def test_properties_refuse_numbers_without_meaning(field, value, minimum):
    with pytest.raises(ValueError) as error:
        PoolInfoProperties(**{field: value})
    assert str(error.value) == (
        f"{field} of a memory pool must be at least {minimum}, but is {value}"
    )


@pytest.mark.parametrize("alignment", [3, 24, 2**62 + 1])
def test_properties_refuse_an_alignment_that_is_no_power_of_two(alignment):
    with pytest.raises(ValueError) as error:
        PoolInfoProperties(alignment=alignment)
    assert str(error.value) == (
        f"alignment of a memory pool must be a power of two, but is {alignment}"
    )


@pytest.mark.parametrize(("field", "limit"), [("alignment", 2**28), ("pool_offset", 2**62)])
def test_properties_refuse_numbers_that_are_too_large(field, limit):
    assert getattr(PoolInfoProperties(**{field: limit}), field) == limit
    value = {"alignment": 2**62, "pool_offset": 2**63 - 1}[field]
    with pytest.raises(ValueError) as error:
        PoolInfoProperties(**{field: value})
    assert str(error.value) == f"{field} of a memory pool must be at most {limit}, but is {value}"


@pytest.mark.parametrize("field", ["alignment", "pool_offset", "address"])
def test_properties_name_the_field_of_another_type(field):
    for value in ("32", 1.5, None):
        with pytest.raises(TypeError) as error:
            PoolInfoProperties(**{field: value})
        assert str(error.value) == (
            f"{field} of a memory pool must be a whole number of bytes, not {value!r}"
        )
    with pytest.raises(ValueError) as too_large:
        PoolInfoProperties(**{field: 2**63})
    assert str(too_large.value) == (
        f"{field} of a memory pool must fit in 64 bits with a sign, not {2**63}"
    )
    with pytest.raises(TypeError) as io:
        PoolInfoProperties(io=None)
    assert str(io.value) == 'io of a memory pool must be "any", "only" or "no", not None'


@pytest.mark.parametrize("io", ["", "yes", "ONLY"])
def test_properties_refuse_another_word_for_inputs_and_outputs(io):
    with pytest.raises(ValueError) as error:
        PoolInfoProperties(io=io)
    assert str(error.value) == f'io of a memory pool must be any, only or no, but is "{io}"'


def test_new_properties_are_named():
    with pytest.raises(TypeError):
        PoolInfoProperties(-1, -1, -1, -1, 0, 0, None, False, "", 32)


def test_properties_refuse_an_empty_burst():
    with pytest.raises(ValueError, match="target_burst_bytes of a memory pool must be at least 1"):
        PoolInfoProperties(target_burst_bytes={TARGET: 0})


def test_workspace_pool_flattens_its_properties():
    pool = WorkspacePoolInfo(
        "sram", [TARGET], PoolInfoProperties(target_burst_bytes={TARGET: 2}, **PROPERTIES)
    )
    assert isinstance(pool, PoolInfo)
    assert pool.pool_name == "sram"
    assert list(pool.targets) == [TARGET]
    assert fields(pool, PROPERTIES) == PROPERTIES
    assert dict(pool.target_burst_bytes) == {TARGET: 2}


def test_pools_need_no_properties():
    for pool in (WorkspacePoolInfo("sram", [TARGET]), ConstantPoolInfo("flash", [TARGET])):
        assert fields(pool, DEFAULTS) == DEFAULTS


def test_constant_pool_holds_constants():
    weights, bias = constant("weights"), constant("bias", 16)
    pool = ConstantPoolInfo("flash", [TARGET], [weights, bias], PoolInfoProperties(**PROPERTIES))
    assert isinstance(pool, PoolInfo)
    assert list(pool.constant_info_array) == [weights, bias]
    assert [(c.name_hint, c.byte_offset) for c in pool.constant_info_array] == [
        ("weights", 0),
        ("bias", 16),
    ]
    assert pool.constant_info_array[1].data.numpy().tolist() == [0, 1, 2, 3]
    assert fields(pool, PROPERTIES) == PROPERTIES


def test_constant_pool_starts_empty():
    assert list(ConstantPoolInfo("flash", [TARGET]).constant_info_array) == []


def test_pools_refuse_an_empty_name():
    for make in (WorkspacePoolInfo, ConstantPoolInfo):
        with pytest.raises(ValueError, match=r"^pool_name of a memory pool must not be empty$"):
            make("", [TARGET])


def test_the_base_of_pools_is_not_made_directly():
    with pytest.raises(TypeError, match="Use WorkspacePoolInfo or ConstantPoolInfo"):
        PoolInfo()


def test_constant_refuses_a_negative_offset():
    with pytest.raises(ValueError) as error:
        constant("weights", -1)
    assert str(error.value) == 'byte_offset of constant "weights" must be at least 0, but is -1'


def test_memory_pools_keep_the_order_of_the_user():
    fast, slow = WorkspacePoolInfo("z_fast", [TARGET]), WorkspacePoolInfo("a_slow", [TARGET])
    assert list(WorkspaceMemoryPools([fast, slow]).pools) == [fast, slow]
    flash = ConstantPoolInfo("flash", [TARGET])
    assert list(ConstantMemoryPools([flash]).pools) == [flash]


def test_memory_pools_refuse_one_name_twice():
    with pytest.raises(ValueError, match=r'^Two memory pools are called "sram"$'):
        WorkspaceMemoryPools([WorkspacePoolInfo("sram", [TARGET])] * 2)
    with pytest.raises(ValueError, match=r'^Two memory pools are called "flash"$'):
        ConstantMemoryPools([ConstantPoolInfo("flash", [TARGET])] * 2)


def test_memory_pools_refuse_the_other_kind():
    with pytest.raises(TypeError):
        WorkspaceMemoryPools([ConstantPoolInfo("flash", [TARGET])])


def test_pools_are_read_only():
    pool = WorkspacePoolInfo("sram", [TARGET])
    with pytest.raises(AttributeError):
        pool.size_hint_bytes = 4


def test_repr_is_one_line_and_leaves_defaults_out():
    pool = WorkspacePoolInfo("sram", ["c"], PoolInfoProperties(400, is_internal=True))
    assert repr(pool) == (
        'WorkspacePoolInfo(pool_name="sram", targets=("c",), size_hint_bytes=400, is_internal=True)'
    )
    flash = ConstantPoolInfo("flash", ["c"], [constant("w")])
    assert repr(flash) == (
        'ConstantPoolInfo(pool_name="flash", targets=("c",), constant_info_array=["w"])'
    )
    assert repr(constant("w")) == 'ConstantInfo(name_hint="w", byte_offset=0, data=int8[4]@cpu:0)'
    assert repr(PoolInfoProperties()) == "PoolInfoProperties()"
    assert repr(PoolInfoProperties(4, target_burst_bytes={"c": 2})) == (
        'PoolInfoProperties(size_hint_bytes=4, target_burst_bytes={"c": 2})'
    )
    assert repr(PoolInfoProperties(alignment=32, pool_offset=3, address=16, io="only")) == (
        'PoolInfoProperties(alignment=32, pool_offset=3, address=16, io="only")'
    )
    assert repr(WorkspaceMemoryPools([pool])) == 'WorkspaceMemoryPools(pools=["sram"])'
    assert repr(ConstantMemoryPools([flash])) == 'ConstantMemoryPools(pools=["flash"])'


def test_pools_survive_in_a_saved_module():
    sram = WorkspacePoolInfo("sram", [TARGET], PoolInfoProperties(**PROPERTIES))
    flash = ConstantPoolInfo("flash", [TARGET], [constant("weights", 16)])
    module = tvm.IRModule({}).with_attr(
        "pool_args", [AllocatedPoolInfo(sram, 7), AllocatedPoolInfo(flash, 20, 1)]
    )
    loaded = tvm.ir.load_json(tvm.ir.save_json(module))
    tvm.ir.assert_structural_equal(loaded, module)
    sram_arg, flash_arg = loaded.attrs["pool_args"]
    assert fields(sram_arg.pool_info, PROPERTIES) == PROPERTIES
    assert (flash_arg.allocated_size, flash_arg.pool_var_idx) == (20, 1)
    assert flash_arg.pool_info.constant_info_array[0].data.numpy().tolist() == [0, 1, 2, 3]


def test_pools_can_be_printed_in_a_module():
    allocated = AllocatedPoolInfo(ConstantPoolInfo("flash", [TARGET], [constant("weights")]), 20)
    module = tvm.IRModule({}).with_attr("pool_args", [allocated])
    assert '{"pool_args": [metadata["usmp.AllocatedPoolInfo"][0]]}' in str(module)
    assert "usmp.ConstantPoolInfo" in module.script(show_meta=True)


# ---- access


def test_targets_may_read_and_write_unless_told_otherwise():
    pool = WorkspacePoolInfo("sram", [TARGET, "accel"])
    assert list(pool.targets) == [TARGET, "accel"]
    assert pool.target_access == {TARGET: "rw", "accel": "rw"}


@pytest.mark.parametrize("one", ["llvm", TARGET])
def test_one_target_needs_no_list(one):
    assert list(WorkspacePoolInfo("sram", one).targets) == [one]


@pytest.mark.parametrize("make", [WorkspacePoolInfo, ConstantPoolInfo])
def test_access_by_target(make):
    pool = make("sram", {TARGET: "rw", "accel": "ro"})
    assert list(pool.targets) == [TARGET, "accel"]
    assert list(pool.read_only_targets) == ["accel"]
    assert pool.target_access == {TARGET: "rw", "accel": "ro"}


def test_access_is_kept_with_the_constants():
    pool = ConstantPoolInfo("flash", {"c": "rw", "accel": "ro"}).with_constants([constant("a")])
    assert pool.target_access == {"c": "rw", "accel": "ro"}


def test_access_that_does_not_exist():
    with pytest.raises(ValueError) as error:
        WorkspacePoolInfo("sram", {"c": "wo"})
    assert str(error.value) == (
        'access of target c to memory pool "sram" must be "rw" or "ro", not "wo"'
    )


# ---- comparison


def some_pool(**changes):
    properties = {"target_burst_bytes": {Target("c"): 2}, **PROPERTIES, **changes}
    return WorkspacePoolInfo(
        "sram", {Target("c"): "rw", "accel": "ro"}, PoolInfoProperties(**properties)
    )


def test_pools_are_equal_if_their_fields_are():
    assert some_pool() == some_pool()
    assert hash(some_pool()) == hash(some_pool())
    assert len({some_pool(), some_pool()}) == 1
    assert some_pool() != some_pool(size_hint_bytes=1426)
    assert some_pool() != some_pool(target_burst_bytes={TARGET: 4})
    assert some_pool() != WorkspacePoolInfo("sram", ["c"])
    assert WorkspacePoolInfo("sram", ["c"]) != WorkspacePoolInfo("sram", {"c": "ro"})
    assert WorkspacePoolInfo("sram", ["c"]) != ConstantPoolInfo("sram", ["c"])
    assert some_pool() != "sram"


def test_constants_are_equal_if_their_content_is():
    other = ConstantInfo("a", 0, tvm.runtime.tensor(np.arange(1, 5, dtype="int8")))
    assert constant("a") == constant("a") != other
    assert constant("a") != constant("a", 16)
    flash = ConstantPoolInfo("flash", ["c"])
    assert flash.with_constants([constant("a")]) == flash.with_constants([constant("a")])
    assert flash.with_constants([constant("a")]) != flash.with_constants([other])


def test_containers_are_equal_if_their_pools_are():
    assert WorkspaceMemoryPools([some_pool()]) == WorkspaceMemoryPools([some_pool()])
    assert WorkspaceMemoryPools([some_pool()]) != WorkspaceMemoryPools([])
    assert PoolInfoProperties(8) == PoolInfoProperties(8) != PoolInfoProperties(9)


def test_pools_are_equal_after_saving_and_loading():
    saved = tvm.ir.save_json(WorkspaceMemoryPools([some_pool()]))
    assert tvm.ir.load_json(saved) == WorkspaceMemoryPools([some_pool()])
