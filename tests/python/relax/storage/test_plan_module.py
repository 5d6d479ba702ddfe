"""Which tensors get a place in a planned storage."""

from __future__ import annotations

import pytest
from tvm import relax
from tvm.ir import Call, IRModule, PrimType

from usmp.relax.storage.plan_module import _Placeable


def allocation(index: relax.Expr | int, scope: str) -> Call:
    """An allocation on the device of this index, which may be known when it runs only."""
    call = relax.op.builtin.alloc_tensor(relax.ShapeExpr([16]), "int32", 0, scope)
    shape, dtype, _, memory_scope = call.args
    device = relax.prim_value(index) if isinstance(index, int) else index
    return Call(call.op, [shape, dtype, device, memory_scope])


def is_placeable(scopes: list[str], index: relax.Expr | int, scope: str = "global") -> bool:
    """Whether it is on devices whose memories have these scopes."""
    mod = IRModule({})
    if scopes:
        devices = [relax.VDevice("llvm", number, each) for number, each in enumerate(scopes)]
        mod = IRModule({}, global_infos={"vdevice": devices})
    return _Placeable(mod).is_placeable(allocation(index, scope))


@pytest.mark.parametrize(
    ("scopes", "places"),
    [
        ([], [True]),
        (["global"], [True, True]),
        (["local", "global", "local"], [False, True, False, True]),
    ],
)
def test_a_tensor_is_placed_in_the_flat_memory_of_its_device(scopes, places):
    """A device that the module does not describe has flat memory."""
    assert [is_placeable(scopes, index) for index in range(len(places))] == places


@pytest.mark.parametrize("scopes", [[], ["global"], ["local"]])
def test_a_tensor_of_another_scope_is_not_placed(scopes):
    assert not is_placeable(scopes, 0, scope="local")


@pytest.mark.parametrize("scopes", [[], ["global"]])
@pytest.mark.parametrize("index", [-1, relax.Var("device", PrimType("int64"))])
def test_a_tensor_of_a_device_that_is_not_known_is_not_placed(scopes, index):
    assert not is_placeable(scopes, index)
