"""The judge of the pools that inputs and outputs lie in, with candidates that are wrong."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.ir import IRModule

from usmp import (
    BufferInfo,
    PoolAllocation,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.analysis.checks.io_place_checker import check_io_places
from usmp.objects.attributes.module_attributes import (
    IO_MEMORY_POOL_ATTR,
    WORKSPACE_MEMORY_POOLS_ATTR,
)

ROLES = {"x": "input_tensor", "y": "output_tensor", "rows": "streamed_tensor"}


def pool(name: str, io: str = "any") -> WorkspacePoolInfo:
    return WorkspacePoolInfo(name, ["c"], PoolInfoProperties(io=io))


def check(name: str, placed: WorkspacePoolInfo, *listed, io_pool=None) -> None:
    """Check a plan of one buffer, whose candidate is the pool that it is in."""
    role = {ROLES[name]: name} if name in ROLES else {}
    stmt = tirx.AllocBuffer(tirx.decl_buffer((4,), "int8", name), role)
    buffer = BufferInfo(name, 4, [placed])
    mod = IRModule({}).with_attr(WORKSPACE_MEMORY_POOLS_ATTR.name, WorkspaceMemoryPools(listed))
    if io_pool is not None:
        mod = mod.with_attr(IO_MEMORY_POOL_ATTR.name, io_pool)
    check_io_places(mod, {buffer: stmt}, {buffer: PoolAllocation(placed, 0)})


@pytest.mark.parametrize("name", ROLES)
def test_inputs_and_outputs_where_they_may_be(name):
    check(name, pool("sram", "only"), pool("sram", "only"))
    check(name, pool("sram"), pool("sram"), io_pool=pool("sram"))


@pytest.mark.parametrize("name", ROLES)
@pytest.mark.parametrize("placed", ["any", "no"])
def test_inputs_and_outputs_where_they_may_not_be(name, placed):
    """Also if the plan's own pool does not say so, and that of the module does."""
    with pytest.raises(ValueError) as error:
        check(name, pool("ccm", placed), pool("ccm", "no"))
    assert str(error.value) == (
        f'USMP plan check: buffer "{name}" is in pool "ccm", which has io=no, but is an input or '
        "output"
    )


@pytest.mark.parametrize("name", ROLES)
def test_inputs_and_outputs_outside_of_their_pool(name):
    with pytest.raises(ValueError) as error:
        check(name, pool("ccm"), pool("ccm"), pool("sram"), io_pool=pool("sram"))
    assert str(error.value) == (
        f'USMP plan check: buffer "{name}", an input or output, is in pool "ccm", not in the I/O '
        'pool "sram"'
    )


@pytest.mark.parametrize("placed", ["any", "only"])
def test_others_in_a_pool_of_inputs_and_outputs(placed):
    with pytest.raises(ValueError) as error:
        check("a", pool("sram", placed), pool("sram", "only"))
    assert str(error.value) == (
        'USMP plan check: buffer "a" is in pool "sram", which has io=only, but is neither an input '
        "nor an output"
    )


def test_others_where_they_may_be():
    check("a", pool("ccm", "no"), pool("ccm", "no"))
    check("a", pool("sram"), pool("sram"), io_pool=pool("sram"))
