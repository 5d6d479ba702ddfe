"""The content of metadata.json: what is said of every module, and what of some."""

from __future__ import annotations

import pytest
from tvm.ir import IRModule
from tvm.script import tirx as T
from tvm.target import Target

from support.interface_views import constants, entry, interface, tensor, workspace
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.metadata.module import metadata
from usmp.objects import BufferInfoKind, LiveRange, MemoryPlan, PlacedBuffer, PoolBound
from usmp.objects.attributes.module_attributes import BOARD_ATTR, ENTRIES_ATTR, MEMORY_PLAN_ATTR
from usmp.objects.target.targets import accelerator_target
from usmp.ops.accelerator_function import AcceleratorFunction
from usmp.plain.state_layout import StateLayout

SRAM = workspace("sram", 16)


@T.prim_func(private=True)
def nothing():
    T.evaluate(0)


def planned(functions=("__tvm_main__",), **attrs):
    body = nothing.with_attr("target", Target("c"))
    buffers = [
        PlacedBuffer(name, "f", int(kind), pool, 0, 16, 16, [LiveRange(0, 1)], [])
        for name, kind, pool in (
            ("b", BufferInfoKind.INTERMEDIATE, "sram"),
            ("w", BufferInfoKind.INTERMEDIATE, "flash"),
        )
    ]
    bounds = {name: PoolBound(16, True) for name in ("sram", "flash")}
    mod = IRModule({name: body for name in functions})
    plan = MemoryPlan("auto", 16, buffers, pool_bounds=bounds)
    return mod.with_attrs({MEMORY_PLAN_ATTR.name: plan, **attrs})


def of(mod=None, model=None):
    model = model or interface([tensor("x")], [tensor("y")], [SRAM, constants("flash")])
    return metadata(mod or planned(), model)["modules"]["default"]


def test_a_module_without_choices_has_none_of_their_keys():
    said = of()
    assert said["interface_api"] == "c" and said["target"] == ["c"]
    assert said["c_prefix"] == "tvmgen_default" and said["model_name"] == "default"
    left_out = {"board", "devices", "accelerator_functions", "operator_hooks", "model_files"}
    assert not left_out & set(said)
    assert "state_layout" not in said["memory"]
    assert [pool["name"] for pool in said["memory"]["pools"]] == ["sram", "flash"]
    assert [main["entry"] for main in said["memory"]["functions"]["main"]] == ["main"]
    assert (said["memory"]["algorithm"], said["memory"]["memory_pressure_bytes"]) == ("auto", 16)


def test_what_was_chosen_is_said():
    layout = StateLayout("default", ())
    model = interface(
        pools=[SRAM, constants("flash")],
        is_packed=True,
        operator_hooks=["begin", "end"],
        state_layout=layout,
        accelerator_functions=[AcceleratorFunction("npu_0", "npu", "", [], [], True, 0)],
    )
    said = of(planned(**{BOARD_ATTR.name: "mps2-an385"}), model)
    assert said["board"] == "mps2-an385"
    assert said["interface_api"] == "packed"
    assert said["operator_hooks"] == ["begin", "end"]
    assert said["devices"] == ["npu"]
    assert [function["symbol"] for function in said["accelerator_functions"]] == ["npu_0"]
    assert said["memory"]["state_layout"] == layout.document()


def test_targets_are_the_cpu_then_accelerators_by_name():
    mod = planned(["__tvm_main__", "f", "g"])
    for name, accelerator in (("f", "npu"), ("g", "dsp")):
        func = mod[name].with_attr("target", accelerator_target(accelerator))
        mod.update_func(mod.get_global_var(name), func)
    assert of(mod)["target"] == ["c", "dsp", "npu"]


def test_the_target_is_that_of_the_first_entry():
    names = ["__tvm_a__", "__tvm_b__"]
    mod = planned(names, **{ENTRIES_ATTR.name: ["a", "b"]})
    body = nothing.with_attr("target", Target("llvm"))
    mod.update_func(mod.get_global_var("__tvm_b__"), body)
    ranges = {"a": LiveRange(0, 1), "b": LiveRange(1, 2)}
    mod = mod.with_attr(MEMORY_PLAN_ATTR.name, MemoryPlan("auto", 0, [], entry_ranges=ranges))
    assert of(mod, Interface("default", [entry("a"), entry("b")], []))["target"] == ["c"]


def test_weights_are_counted_in_constant_pools():
    main = of()["memory"]["functions"]["main"][0]
    assert main["workspace_pools"] == {"sram": 16} and main["constant_pools"] == {"flash": 8}


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "1970-01-01 00:00:00Z"),
        ("", "1970-01-01 00:00:00Z"),
        ("86399", "1970-01-01 23:59:59Z"),
    ],
)
def test_the_date_is_that_of_reproducible_builds(monkeypatch, seconds, said):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    if seconds is not None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
    assert of()["export_datetime"] == said


@pytest.mark.parametrize("seconds", ["today", "1.5", "9" * 30])
def test_a_date_that_is_none_is_refused(monkeypatch, seconds):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
    with pytest.raises(ValueError, match=f"seconds since 1970, not {seconds}"):
        of()
