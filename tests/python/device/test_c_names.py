"""How the C of a module calls its tensors and pools, and what an application has to bring."""

from __future__ import annotations

import pytest

from support.archived_views import entry, module, pool, tensor
from usmp.device.c_names import (
    external_pools,
    has_devices,
    has_hooks,
    has_state,
    own_inputs,
    own_outputs,
    pool_macro,
    pools_argument,
    read_only_inputs,
    tensor_macro,
    tensors_of,
)


def test_tensors_are_those_of_their_side():
    both = entry([tensor("a"), tensor("b")], [tensor("y")])
    assert [t.c_name for t in tensors_of(both, "inputs")] == ["a", "b"]
    assert [t.c_name for t in tensors_of(both, "outputs")] == ["y"]


def test_macros_begin_with_the_names_in_capitals():
    one = entry([tensor("image")])
    assert tensor_macro(one, one.inputs["image"]) == "TVMGEN_NET_IMAGE"
    model = module([one], [pool("sram"), pool("flash", is_constant=True)])
    assert [pool_macro(model, each) for each in model.pools] == [
        "TVMGEN_NET_SRAM_WORKSPACE_POOL",
        "TVMGEN_NET_FLASH_CONSTANT_POOL",
    ]


def test_only_pools_of_the_application_are_passed():
    model = module([], [pool("own", is_internal=True), pool("sram")])
    assert [each.name for each in external_pools(model)] == ["sram"]
    assert pools_argument(model) == ["tvmgen_net_device_pools()"]
    assert pools_argument(module([], [pool("own", is_internal=True)])) == []


ROWS = tensor("r", (8, 4), is_by_rows=True)


@pytest.mark.parametrize(
    ("model", "read_only", "inputs", "outputs"),
    [
        (entry([tensor("x", pool="sram")], [tensor("y", pool="sram")]), [], [], []),
        (entry([tensor("x", pool="sram")], [tensor("y")]), [], [], [0]),
        # The struct of entries with tensors in the workspace has pointers without const.
        (entry([tensor("x")], [tensor("y", pool="sram")]), [], [0], []),
        (entry([ROWS, tensor("x")], [ROWS, tensor("y")]), [1], [], [1]),
        (entry([tensor("x", is_updated=True), tensor("w", is_written=True)]), [], [0, 1], []),
    ],
)
def test_memory_is_needed_for_what_runs_write_outside_the_workspace(
    model, read_only, inputs, outputs
):
    found = (read_only_inputs(model), own_inputs(model), own_outputs(model))
    assert [list(tensors) for tensors in found] == [read_only, inputs, outputs]


def test_state_devices_and_hooks_are_there_if_the_module_has_some():
    plain = module([], [pool("sram")])
    assert not (has_state(plain) or has_devices(plain) or has_hooks(plain))
    assert has_state(module([], [pool("sram", state_bytes=1)]))
    assert has_devices(module([], devices=["npu"]))
    assert not has_devices(module([], devices=[]))
    assert has_hooks(module([], operator_hooks=["begin", "end"]))
