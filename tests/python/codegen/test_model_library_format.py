"""The archive: its files, its metadata, its bytes."""

from __future__ import annotations

import json
import os
import re
import tarfile
from itertools import combinations
from pathlib import Path

import pytest
from tvm.ir.transform import PassContext
from tvm.target import Target
from tvm_ffi import structural_equal

import usmp
from support.library_files import library_files
from support.planner_contexts import planner_context
from support.planner_views import WithScratch, plan, with_io, workspace
from support.relax_models import PARAMS, Attention
from usmp import (
    ConstantMemoryPools,
    ConstantPoolInfo,
    PoolInfoProperties,
    WorkspaceMemoryPools,
    WorkspacePoolInfo,
)
from usmp.codegen.interface.module_interface import interface_of
from usmp.codegen.metadata import metadata
from usmp.objects.target.targets import accelerator_target, parse_targets


def build(module_name: str = "net", **options) -> usmp.AOTExecutorFactoryModule:
    with planner_context(options):
        return usmp.build(Attention, params=PARAMS, module_name=module_name)


@pytest.fixture(scope="module")
def factory() -> usmp.AOTExecutorFactoryModule:
    return build()


@pytest.fixture(scope="module")
def module(factory) -> dict:
    return factory.metadata["modules"]["net"]


def pool(module: dict, kind: str) -> dict:
    (found,) = (pool for pool in module["memory"]["pools"] if pool["kind"] == kind)
    return found


def test_metadata_has_the_fields_of_tvm(factory, module):
    assert factory.metadata["version"] == 7
    assert list(factory.metadata) == ["version", "modules"]
    assert {key: value for key, value in module.items() if key not in ("memory", "operators")} == {
        "model_name": "net",
        "export_datetime": "1970-01-01 00:00:00Z",
        "target": ["c"],
        "executors": ["aot"],
        "interface_api": "c",
        "style": "full-model",
        "external_dependencies": [],
        "c_prefix": "tvmgen_net",
        "float_operators": {},
        "model_operators": [],
    }
    assert list(module["memory"]["functions"]) == ["main", "operator_functions"]


def test_main_function_in_the_metadata(module):
    assert module["memory"]["functions"]["main"] == [
        {
            "entry": "main",
            "device": 1,
            "workspace_size_bytes": 320,
            "workspace_pools": {"global_workspace": 320},
            "constants_size_bytes": 8192,
            "constant_pools": {"global_const_workspace": 8192},
            "io_size_bytes": 320,
            "state_size_bytes": 0,
            "inputs": {"x": {"size": 64, "dtype": "float32", "shape": [1, 16], "c_name": "x"}},
            "outputs": {
                "output": {"size": 256, "dtype": "float32", "shape": [1, 64], "c_name": "output"}
            },
        }
    ]


def test_operator_functions_in_the_metadata(factory, module):
    operators = module["memory"]["functions"]["operator_functions"]
    names = sorted(v.name_hint for v in factory.ir_mod.functions if v.name_hint != "__tvm_main__")
    assert [operator["function_name"] for operator in operators] == names
    own = {b["function"]: b for b in pool(module, "workspace")["buffers"]}
    for operator in operators:
        (workspace,) = operator["workspace"]
        assert workspace["device"] == 1
        assert (workspace["workspace_size_bytes"] > 0) == (operator["function_name"] in own)


def two_pools(**options) -> usmp.AOTExecutorFactoryModule:
    """The small pool is wanted more, and cannot hold everything."""
    workspace = WorkspaceMemoryPools(
        [
            WorkspacePoolInfo("dtcm", [Target("c")], PoolInfoProperties(size_hint_bytes=256)),
            WorkspacePoolInfo("sram", [Target("c")]),
        ]
    )
    constants = ConstantMemoryPools(
        [
            ConstantPoolInfo("itcm", [Target("c")], [], PoolInfoProperties(size_hint_bytes=4096)),
            ConstantPoolInfo("flash", [Target("c")]),
        ]
    )
    with planner_context(options):
        return usmp.build(
            Attention,
            params=PARAMS,
            module_name="net",
            workspace_memory_pools=workspace,
            constant_memory_pools=constants,
        )


@pytest.mark.slow
def test_memory_of_main_by_pool():
    memory = two_pools().metadata["modules"]["net"]["memory"]
    (main,) = memory["functions"]["main"]
    assert main["workspace_pools"] == {"dtcm": 256, "sram": 64}
    assert main["constant_pools"] == {"flash": 4096, "itcm": 4096}
    assert main["workspace_size_bytes"] == sum(main["workspace_pools"].values())
    assert main["constants_size_bytes"] == sum(main["constant_pools"].values())
    sizes = {found["name"]: found["size_bytes"] for found in memory["pools"]}
    assert sizes == {**main["workspace_pools"], **main["constant_pools"]}


def test_memory_of_operators_by_pool():
    """`first` has 16 bytes of scratch, `second` a constant of 4 bytes, `third` nothing."""
    mod = plan(with_io(WithScratch), [workspace("dtcm", 8), workspace("sram")])
    memory = metadata(mod, interface_of(mod, "net"))["modules"]["net"]["memory"]

    def operator(name, size_bytes=0, workspace_pools=(), constant_pools=()):
        entry = {
            "device": 1,
            "workspace_size_bytes": size_bytes,
            "workspace_pools": dict(workspace_pools),
            "constant_pools": dict(constant_pools),
        }
        return {"function_name": name, "workspace": [entry]}

    assert memory["functions"]["operator_functions"] == [
        operator("first", 16, workspace_pools={"sram": 16}),
        operator("second", constant_pools={"global_const_workspace": 4}),
        operator("third"),
    ]


@pytest.mark.slow
def test_target_is_what_tvmc_takes():
    targets = ["llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3 -mattr=+dsp,+fp", "c"]
    for target in targets:
        mod = two_pools().ir_mod
        cpu = parse_targets(target).cpu
        mod.update_func(
            mod.get_global_var("__tvm_main__"), mod["__tvm_main__"].with_attr("target", cpu)
        )
        (text,) = metadata(mod, interface_of(mod, "net"))["modules"]["net"]["target"]
        assert text == target
        assert structural_equal(parse_targets(text).cpu, cpu)


@pytest.mark.slow
def test_accelerators_are_targets_and_devices():
    mod = two_pools().ir_mod
    operators = sorted(str(v.name_hint) for v in mod.functions if v.name_hint != "__tvm_main__")
    for name in operators[:2]:
        func = mod[name].with_attr("target", accelerator_target("accel"))
        mod.update_func(mod.get_global_var(name), func)
    module = metadata(mod, interface_of(mod, "net"))["modules"]["net"]
    assert module["target"] == ["c", "accel"]
    devices = {
        operator["function_name"]: operator["workspace"][0]["device"]
        for operator in module["memory"]["functions"]["operator_functions"]
    }
    assert devices == {name: 12 if name in operators[:2] else 1 for name in operators}


def test_workspace_pool_in_the_metadata(module):
    found = pool(module, "workspace")
    assert {k: v for k, v in found.items() if k not in ("buffers", "live_at_peak")} == {
        "name": "global_workspace",
        "c_name": "global_workspace",
        "kind": "workspace",
        "internal": True,
        "size_hint_bytes": -1,
        "size_bytes": 320,
        "alignment_bytes": 16,
        "peak_bytes": 320,
        "memory_pressure_bytes": 512,
        "lower_bound_bytes": 320,
        "optimal": True,
        "peak_operator": 2,
    }
    assert module["memory"]["algorithm"] == "auto"
    assert module["memory"]["search_ended_by"] == "proof"
    assert module["memory"]["memory_pressure_bytes"] == 512
    assert module["memory"]["placement"] == {"policy": "preference"}


@pytest.mark.slow
def test_access_cycles_in_the_metadata():
    """Of pools that say how fast they are: each pool's cycles, in those of the fastest clock."""
    pools = [
        usmp.WorkspacePoolInfo("tcm", ["c"], usmp.PoolInfoProperties(0, 400_000_000)),
        usmp.WorkspacePoolInfo("sram", ["c"], usmp.PoolInfoProperties(-1, 200_000_000)),
    ]
    with PassContext(config={"tir.usmp.placement": "cost"}):
        factory = usmp.build(
            Attention, params=PARAMS, workspace_memory_pools=usmp.WorkspaceMemoryPools(pools)
        )
    described = factory.metadata["modules"]["default"]["memory"]["placement"]
    cycles = described.pop("estimated_access_cycles_by_pool")
    assert list(cycles) == ["global_const_workspace", "sram"]
    total = sum(cycles.values())
    assert described == {
        "policy": "cost",
        "clock_frequency_hz": 400_000_000,
        "estimated_access_cycles": total,
        "estimated_access_cycles_by_preference": total,
        "estimated_access_cycles_by_cost": total,
        "estimated_access_cycles_lower_bound": total,
    }


def test_peak_is_the_highest_end(module):
    for found in module["memory"]["pools"]:
        assert found["peak_bytes"] == max(b["offset"] + b["size"] for b in found["buffers"])


def test_pressure_is_what_the_live_ranges_say(module):
    buffers = pool(module, "workspace")["buffers"]
    positions = {start for b in buffers for start, _ in b["live_ranges"]}
    assert pool(module, "workspace")["memory_pressure_bytes"] == max(
        sum(
            b["size"]
            for b in buffers
            if any(start <= position < stop for start, stop in b["live_ranges"])
        )
        for position in positions
    )


def shared_while_live(buffers: list[dict]) -> dict[tuple[str, str], int]:
    """How many bytes two buffers share that are live together, by their names in sorted order."""
    found = {}
    for a, b in combinations(sorted(buffers, key=lambda b: b["name"]), 2):
        live_together = any(
            max(s, t) < min(u, v) for s, u in a["live_ranges"] for t, v in b["live_ranges"]
        )
        end = min(a["offset"] + a["size"], b["offset"] + b["size"])
        shared = end - max(a["offset"], b["offset"])
        if live_together and shared > 0:
            found[a["name"], b["name"]] = shared
    return found


def test_live_buffers_share_the_bytes_that_are_told(module):
    buffers = pool(module, "workspace")["buffers"]
    assert {b["name"]: b["overlaps"] for b in buffers if b["overlaps"]} == {
        "softmax": {"matmul": {"shared": 256, "distance": 0}},
        "softmax1": {"matmul1": {"shared": 64, "distance": 0}},
    }
    assert shared_while_live(buffers) == {("matmul", "softmax"): 256, ("matmul1", "softmax1"): 64}


@pytest.mark.slow
def test_without_overlap_live_buffers_share_no_byte():
    found = pool(
        build(disabled_pass=("OverlapInputsAndOutputs",)).metadata["modules"]["net"], "workspace"
    )
    assert [b["overlaps"] for b in found["buffers"]] == [{}] * 5
    assert shared_while_live(found["buffers"]) == {}
    assert found["peak_bytes"] == found["memory_pressure_bytes"] == 512


def test_buffers_live_at_the_peak_reach_it(module):
    found = pool(module, "workspace")
    live = [b for b in found["buffers"] if b["name"] in found["live_at_peak"]]
    assert max(b["offset"] + b["size"] for b in live) == found["peak_bytes"]
    assert sum(b["size"] for b in live) == found["peak_bytes"]


@pytest.mark.slow
def test_constants_live_all_the_time(module):
    ranges = [b["live_ranges"] for b in pool(module, "constant")["buffers"]]
    assert len(ranges) == 2
    assert ranges[0] == ranges[1]
    ((start, stop),) = ranges[0]
    assert start == 0
    assert stop >= max(s for b in pool(module, "workspace")["buffers"] for _, s in b["live_ranges"])


def test_offsets_are_those_of_the_c(factory, module):
    for found in module["memory"]["pools"]:
        pattern = rf"\* (\w+) = .*\({found['c_name']}_\d+_var(?: \+ (\d+))?\);"
        in_c = {name: int(offset or 0) for name, offset in re.findall(pattern, factory.source)}
        assert in_c == {b["name"]: b["offset"] for b in found["buffers"]}


def test_sizes_are_those_of_the_c(factory, module):
    for found in module["memory"]["pools"]:
        name = f"TVMGEN_NET_{found['c_name']}_{found['kind']}_POOL_SIZE".upper()
        assert f"#define {name} {found['size_bytes']}\n" in factory.header
    assert "static uint8_t tvmgen_net_global_workspace[320]" in factory.source


@pytest.mark.slow
def test_places_of_inputs_and_outputs_in_the_workspace():
    module = build(use_workspace_io=True).metadata["modules"]["net"]
    places = {b["name"]: b["offset"] for b in pool(module, "workspace")["buffers"]}
    main = module["memory"]["functions"]["main"][0]
    assert main["inputs"]["x"]["pool"] == "global_workspace"
    assert main["inputs"]["x"]["offset"] == places["x"]
    assert main["outputs"]["output"]["offset"] == places["output"]


def test_metadata_file_is_the_metadata(factory):
    assert json.loads(factory.files()["metadata.json"]) == factory.metadata


def test_planned_tir_is_text(factory):
    script = factory.files()["src/net.tir"].decode()
    assert script == factory.ir_mod.script(show_meta=False).rstrip() + "\n"
    assert "def __tvm_main__(" in script
    assert "T.decl_buffer(" in script
    assert "T.alloc_buffer(" not in script


def test_entries_of_the_archive(factory, tmp_path):
    factory.export_model_library_format(tmp_path / "net.tar")
    with tarfile.open(tmp_path / "net.tar") as tar:
        entries = tar.getmembers()
        model = [
            "codegen/host/include/tvmgen_net.h",
            "codegen/host/src/net_lib0.c",
            "metadata.json",
            "src/net.tir",
        ]
        names = sorted([*model, *library_files("net")])
        assert [entry.name for entry in entries] == [f"./{name}" for name in names]
        contents = [tar.extractfile(entry).read() for entry in entries]
    assert contents == [factory.files()[entry.name[2:]] for entry in entries]
    for entry in entries:
        assert entry.isreg()
        assert (entry.mode, entry.mtime) == (0o644, 0)
        assert (entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, "", "")


@pytest.mark.slow
def test_two_builds_give_the_same_bytes(factory, tmp_path):
    factory.export_model_library_format(tmp_path / "a.tar")
    build().export_model_library_format(tmp_path / "b.tar")
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()


@pytest.mark.slow
def test_long_module_name(tmp_path):
    factory = build("n" * 150)
    factory.export_model_library_format(tmp_path / "n.tar")
    assert usmp.load_archive(tmp_path / "n.tar").files == factory.files()


def test_source_date_epoch_is_the_time_of_the_export(factory, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    module = factory.metadata["modules"]["net"]
    assert module["export_datetime"] == "1970-01-02 00:00:00Z"


@pytest.mark.parametrize("seconds", ["soon", "1.5", "9" * 30])
def test_source_date_epoch_that_is_no_time(factory, monkeypatch, seconds):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)
    with pytest.raises(ValueError) as error:
        _ = factory.metadata
    assert str(error.value) == (
        f"the environment variable SOURCE_DATE_EPOCH must be seconds since 1970, not {seconds}"
    )


def test_failed_export_leaves_the_older_archive(factory, tmp_path, monkeypatch):
    path = tmp_path / "net.tar"
    path.write_bytes(b"older")

    def fail(source: str, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left on device"):
        factory.export_model_library_format(path)
    assert path.read_bytes() == b"older"
    assert os.listdir(tmp_path) == ["net.tar"]
