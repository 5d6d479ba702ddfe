"""Where in a memory a plan begins, and what a size hint leaves of it."""

import pytest

from usmp.objects import ConstantPoolInfo, PoolInfoProperties, WorkspacePoolInfo
from usmp.objects.pool_places import first_byte, line_bytes, planned_limit, rounded_up


def pool(**properties):
    return WorkspacePoolInfo("sram", ["c"], PoolInfoProperties(**properties))


@pytest.mark.parametrize(
    ("properties", "alignment", "first"),
    [
        ({}, 16, 0),
        ({"address": 0x2000_0000}, 64, 0),
        ({"pool_offset": 1}, 16, 16),
        ({"pool_offset": 16}, 16, 16),
        ({"pool_offset": 17}, 64, 64),
        ({"address": 0x2000_0003}, 16, 13),
        ({"address": 0x2000_0003, "pool_offset": 13}, 16, 13),
        ({"address": 0x2000_0003, "pool_offset": 14}, 16, 29),
        # The emitted code aligns every pool to 16 bytes or more.
        ({"address": 0, "pool_offset": 5}, 4, 16),
    ],
)
def test_a_plan_begins_at_the_first_aligned_address_behind_the_bytes_of_others(
    properties, alignment, first
):
    assert first_byte(pool(**properties), alignment) == first


def test_a_size_hint_counts_what_is_skipped():
    assert planned_limit(pool(), 16) is None
    assert planned_limit(pool(size_hint_bytes=100), 16) == 100
    assert planned_limit(pool(size_hint_bytes=100, pool_offset=16), 16) == 100
    assert planned_limit(pool(size_hint_bytes=100, pool_offset=13), 16) == 97
    assert planned_limit(pool(size_hint_bytes=10, address=1), 64) == 0


def test_lines_are_those_of_the_pool_with_the_largest():
    assert line_bytes([]) == line_bytes([pool()]) == 1
    assert line_bytes([pool(alignment=32), pool(), pool(alignment=8)]) == 32
    assert [rounded_up(size, 32) for size in (0, 1, 32, 33)] == [0, 32, 32, 64]


@pytest.mark.parametrize("make", [WorkspacePoolInfo, ConstantPoolInfo])
@pytest.mark.parametrize("place", [{"address": 0x2000_0000}, {"pool_offset": 4}])
def test_a_pool_that_the_compiler_puts_somewhere_has_no_place(make, place):
    with pytest.raises(ValueError) as error:
        PoolInfoProperties(is_internal=True, **place)
    what = "an address" if "address" in place else "a pool_offset"
    assert str(error.value) == (
        f"an internal memory pool with {what} needs a section_name, which the linker script puts "
        "there; or leave out is_internal, and pass the pool"
    )
    assert make("sram", ["c"]).properties(is_internal=True, section_name=".x", **place).is_internal


def test_a_memory_ends_at_an_address():
    with pytest.raises(ValueError) as error:
        PoolInfoProperties(address=2**63 - 10, pool_offset=4, size_hint_bytes=7)
    assert str(error.value) == (
        "address, pool_offset, size_hint_bytes and alignment of a memory pool add up to more than "
        "the largest 64-bit address"
    )
    PoolInfoProperties(address=2**63 - 12, pool_offset=4, size_hint_bytes=7)
