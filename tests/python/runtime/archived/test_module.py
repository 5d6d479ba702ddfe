"""What an archive says of a module: read back as it was built, or refused."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import usmp
from support.archives import attention_archive, edited, message_of, relu_archive, write_tar
from support.relax_models import PARAMS, Attention, X
from support.tflite_builder import Graph, per_tensor, write_model
from usmp import WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.plain.buffer_place import BufferPlace
from usmp.report import print_memory_summary


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    return relu_archive(tmp_path_factory.mktemp("archive"))


@pytest.mark.slow
@pytest.mark.parametrize("use_workspace_io", [False, True])
def test_module_tells_what_the_model_was_built_to(tmp_path, use_workspace_io):
    archive, (factory,) = attention_archive(tmp_path, "net", use_workspace_io=use_workspace_io)
    module, interface = archive.module(), factory.interface
    assert (module.name, module.c_prefix) == ("net", "tvmgen_net")

    def read(tensor):
        return fields(tensor.info), tensor.c_name, tensor.pool_name, tensor.byte_offset

    def built(tensor):
        place = tensor.allocation
        where = (place.pool_info.pool_name, place.byte_offset) if place else (None, None)
        return fields(tensor.info), tensor.c_name, *where

    assert [*map(read, module.inputs.values())] == [*map(built, interface.inputs)]
    assert [*map(read, module.outputs.values())] == [*map(built, interface.outputs)]
    properties = ("c_name", "is_constant", "is_internal", "size_bytes", "alignment_bytes")
    pools = [[getattr(pool, name) for name in properties] for pool in module.pools]
    assert pools == [[getattr(pool, name) for name in properties] for pool in interface.pools]
    assert [pool.name for pool in module.pools] == [
        pool.info.pool_info.pool_name for pool in interface.pools
    ]


def test_archive_from_before_ram_was_summed_up(archive, tmp_path):
    files = dict(usmp.load_archive(archive).files)
    metadata = edited(json.loads(files["metadata.json"]), "modules/default/memory/ram", None)
    files["metadata.json"] = json.dumps(metadata).encode()
    module = usmp.load_archive(write_tar(tmp_path / "earlier.tar", files)).module()
    text = io.StringIO()
    print_memory_summary(module.metadata, Console(file=text))
    assert text.getvalue() == "Memory of relu (auto): none\n"


def fields(info):
    return info.name, list(info.shape), info.dtype, info.scale, info.zero_point


@pytest.mark.slow
def test_plan_is_that_of_the_build(tmp_path):
    archive, (factory,) = attention_archive(tmp_path, "net", use_workspace_io=True)
    read, built = archive.module(), factory.memory_plan
    assert (read.algorithm, read.memory_pressure_bytes) == (built.algorithm, built.memory_pressure)
    assert read.search_ended_by == built.search_ended_by == "proof"
    for pool in read.pools:
        bound = built.pool_bounds[pool.name]
        assert (pool.lower_bound_bytes, pool.is_optimal) == (bound.lower_bound_bytes, bound.optimal)

    def by_name(buffers):
        names = [field.name for field in dataclasses.fields(BufferPlace)]
        return sorted([getattr(buffer, name) for name in names] for buffer in buffers)

    assert by_name(b for pool in read.pools for b in pool.buffers) == by_name(built.buffers)


@pytest.mark.slow
def test_summary_of_an_archive_is_that_of_the_build(tmp_path):
    archive, (factory,) = attention_archive(tmp_path, "net")

    def summary(metadata):
        stream = io.StringIO()
        print_memory_summary(metadata, Console(file=stream))
        return stream.getvalue()

    assert summary(archive.module().metadata) == summary(factory.metadata["modules"]["net"])
    assert "Memory of net" in summary(archive.module().metadata)


def test_quantization_is_read_back(tmp_path):
    graph = Graph()
    x = graph.input((1, 4), "int8", per_tensor(0.1, -3), name="x")
    y = graph.tensor((1, 4), "int8", per_tensor(0.1, -3), name="y")
    graph.operator("RELU", [x], [y])
    graph.output(y)
    (tmp_path / "m.tflite").write_bytes(write_model(graph))
    factory = usmp.build(usmp.import_model(tmp_path / "m.tflite"))
    entry = factory.metadata["modules"]["default"]["memory"]["functions"]["main"][0]["inputs"]["x"]
    assert entry["quantization"] == {"scale": float(np.float32(0.1)), "zero_point": -3}
    factory.export_model_library_format(tmp_path / "m.tar")
    info = usmp.load_archive(tmp_path / "m.tar").module().inputs["x"].info
    assert (info.scale, info.zero_point) == (float(np.float32(0.1)), -3)


_MAIN = "modules/default/memory/functions/main"
_LACKS = 'module "default" lacks its inputs, outputs or pools'
_X = 'tensor "x" of module "default"'
_POOL = 'pool "global_workspace" of module "default"'
_A = f'buffer "a" of {_POOL}'
_POOLS = "modules/default/memory/pools"


@pytest.mark.parametrize(
    ("steps", "value", "fault"),
    [
        ("modules", None, 'it has no "modules"'),
        ("modules", {}, 'it has no "modules"'),
        ("modules", [1], 'it has no "modules"'),
        ("modules/default", 3, _LACKS),
        ("modules/default/memory", None, _LACKS),
        (_POOLS, None, _LACKS),
        (_POOLS, 5, _LACKS),
        (_MAIN, [], _LACKS),
        (f"{_MAIN}/0/inputs", None, _LACKS),
        (f"{_MAIN}/0/inputs", [], _LACKS),
        (f"{_MAIN}/0/outputs", "y", _LACKS),
        (f"{_MAIN}/0/io_size_bytes", -1, 'module "default" has no valid "io_size_bytes"'),
        ("modules/default/model_name", None, 'module "default" has no valid "model_name"'),
        ("modules/default/c_prefix", None, 'module "default" has no valid "c_prefix"'),
        (
            "modules/default/float_operators",
            {"x": "y"},
            'module "default" has no valid "float_operators"',
        ),
        (
            "modules/default/model_files",
            ["a.tflite", 1],
            'module "default" has no valid "model_files"',
        ),
        (
            "modules/default/pruned_channels",
            {"channels": 1},
            'the removed channels of module "default" has no valid "weights_size_bytes_before"',
        ),
        (
            "modules/default/windows",
            {"state_size_bytes": 1, "macs": 1, "window_macs": -1},
            'the windows of module "default" has no valid "window_macs"',
        ),
        (
            "modules/default/windows",
            {
                "state_size_bytes": 1,
                "macs": 1,
                "window_macs": 2,
                "whole": [],
                "inputs": {"x": {"rows": 1, "window_rows": "2"}},
            },
            'the windows of module "default" has no valid "window_rows"',
        ),
        (
            "modules/default/schedule_choices",
            {"optimize": "nothing"},
            'the choice of schedules of module "default" has no valid "optimize"',
        ),
        (
            "modules/default/schedule_choices",
            {"optimize": "ram", "ram": {"peak_bytes": 1, "instructions": -1}},
            'ram in the choice of schedules of module "default" has no valid "instructions"',
        ),
        (
            "modules/default/schedule_choices",
            {"optimize": "speed", "ram": {"peak_bytes": 1, "instructions": 1}},
            'speed in the choice of schedules of module "default" has no valid "peak_bytes"',
        ),
        ("modules/default/search", 5, 'module "default" has no valid "search"'),
        (
            "modules/default/search",
            [{"stage": "order", "taken": "a", "alternatives": [{"value": "b"}]}],
            'the search of module "default" has no valid "why"',
        ),
        (
            "modules/default/search",
            [{"stage": "order", "taken": "a", "alternatives": [], "peak_bytes": -1}],
            'the search of module "default" has no valid "peak_bytes"',
        ),
        (
            "modules/default/search",
            [{"stage": "order", "taken": 5, "alternatives": []}],
            'the search of module "default" has no valid "taken"',
        ),
        (
            "modules/default/image_layout",
            {"layout": "NWCH"},
            'the layout of images of module "default" has no valid "layout"',
        ),
        (
            "modules/default/image_layout",
            {"layout": "NHWC", "channels_first_peak_bytes": 1},
            'the layout of images of module "default" has no valid "channels_last_peak_bytes"',
        ),
        (f"{_MAIN}/0/inputs/x/shape", None, f'{_X} has no valid "shape"'),
        (f"{_MAIN}/0/inputs/x/shape", [1, -4], f'{_X} has no valid "shape"'),
        (f"{_MAIN}/0/inputs/x/shape", [1, "4"], f'{_X} has no valid "shape"'),
        (f"{_MAIN}/0/inputs/x/shape", [1, 5], f"{_X} has 16 bytes, which is not float32[1, 5]"),
        (f"{_MAIN}/0/inputs/x/dtype", "object", f'{_X} has no valid "dtype"'),
        (f"{_MAIN}/0/inputs/x/c_name", 5, f'{_X} has no valid "c_name"'),
        (f"{_MAIN}/0/inputs/x/quantization", {}, f'{_X} has no valid "scale"'),
        (f"{_MAIN}/0/inputs/x/pool", 7, f'{_X} has no valid "pool"'),
        (f"{_MAIN}/0/inputs/x", 1, f'{_X} has no valid "shape"'),
        (_POOLS, [{}], 'a pool of module "default" has no valid "name"'),
        (_POOLS, [3], 'a pool of module "default" has no valid "name"'),
        (f"{_POOLS}/0/kind", ["workspace"], f'{_POOL} has no valid "kind"'),
        (f"{_POOLS}/0/alignment_bytes", 0, f'{_POOL} has no valid "alignment_bytes"'),
        *(
            (
                f"{_POOLS}/0/buffer_alignment_bytes",
                lines,
                f'{_POOL} has no valid "buffer_alignment_bytes"',
            )
            for lines in (3, 0, True, 2.0)
        ),
        *(
            ("modules/default/memory/io_pool", io_pool, 'module "default" has no valid "io_pool"')
            for io_pool in ("other\n", 1)
        ),
        (f"{_POOLS}/0/live_at_peak", ["z"], f'{_POOL} has no valid "live_at_peak"'),
        (f"{_POOLS}/0/buffers", [[]], f'a buffer of {_POOL} has no valid "name"'),
        (f"{_POOLS}/0/buffers/0/kind", [], f'buffer "a" of {_POOL} has no valid "kind"'),
        (
            f"{_POOLS}/0/buffers/0/live_ranges",
            [[3, 3]],
            f'buffer "a" of {_POOL} has no valid "live_ranges"',
        ),
        (f"{_POOLS}/0/buffers/0/overlaps", None, f'{_A} has no valid "overlaps"'),
        (f"{_POOLS}/0/buffers/0/overlaps", ["a"], f'{_A} has no valid "overlaps"'),
        (
            f"{_POOLS}/0/buffers/0/overlaps",
            {"z": {"shared": 1, "distance": 0}},
            f'{_A} has no valid "overlaps"',
        ),
        (
            f"{_POOLS}/0/buffers/0/overlaps",
            {"a": {"shared": -1, "distance": 0}},
            f'an overlap of {_A} has no valid "shared"',
        ),
        (
            f"{_POOLS}/0/buffers/0/overlaps",
            {"a": {"shared": 1}},
            f'an overlap of {_A} has no valid "distance"',
        ),
        (f"{_POOLS}/0/buffers/0/overlaps", {"a": 4}, f'an overlap of {_A} has no valid "shared"'),
        (f"{_POOLS}/0/buffers/0/offset", 8, f'{_POOL} of 16 bytes does not hold buffer "a"'),
        (f"{_POOLS}/0/c_name", 'x"; int canary', f'{_POOL} has no valid "c_name"'),
        (f"{_POOLS}/0/c_name", "é", f'{_POOL} has no valid "c_name"'),
        (f"{_POOLS}/0/size_bytes", 2**32 + 1, f'{_POOL} has no valid "size_bytes"'),
        (f"{_POOLS}/0/alignment_bytes", 2**62, f'{_POOL} has no valid "alignment_bytes"'),
        ("modules/default/c_prefix", "../x", 'module "default" has no valid "c_prefix"'),
        ("modules/default/c_prefix", "tvmgen_a/b", 'module "default" has no valid "c_prefix"'),
        (f"{_MAIN}/0/inputs/x/c_name", "x\\\n", f'{_X} has no valid "c_name"'),
        (f"{_MAIN}/0/inputs/x/shape", [1] * 33, f'{_X} has no valid "shape"'),
        (f"{_MAIN}/0/inputs/x/size", 2**40, f'{_X} has no valid "size"'),
        (
            "modules/default/memory/placement",
            5,
            'the placement of module "default" has no valid "policy"',
        ),
        (
            "modules/default/memory/placement",
            {"policy": "cost", "estimated_access_cycles": 1},
            'module "default" has no valid "estimated_access_cycles_by_preference"',
        ),
    ],
)
def test_metadata_of_the_wrong_shape(archive, tmp_path, steps, value, fault):
    files = with_a_pool(usmp.load_archive(archive).files)
    metadata = edited(json.loads(files["metadata.json"]), steps, value)
    files["metadata.json"] = json.dumps(metadata).encode()
    path = write_tar(tmp_path / "model.tar", files)
    assert message_of(path) == f"metadata.json is damaged: {fault}"


def with_a_pool(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files with a workspace pool of one buffer, which one operator alone does not need."""
    metadata = json.loads(files["metadata.json"])
    buffer = {
        "name": "a",
        "kind": "intermediate",
        "function": "__tvm_main__",
        "offset": 0,
        "size": 16,
        "alignment": 16,
        "live_ranges": [[0, 1]],
        "identical": [],
        "overlaps": {},
    }
    pool = {
        "name": "global_workspace",
        "c_name": "global_workspace",
        "kind": "workspace",
        "internal": True,
        "size_hint_bytes": -1,
        "size_bytes": 16,
        "alignment_bytes": 16,
        "peak_bytes": 16,
        "memory_pressure_bytes": 16,
        "lower_bound_bytes": 16,
        "optimal": True,
        "live_at_peak": ["a"],
        "buffers": [buffer],
    }
    metadata["modules"]["default"]["memory"]["pools"] = [pool]
    header = "codegen/host/include/tvmgen_default.h"
    macro = b"#define TVMGEN_DEFAULT_GLOBAL_WORKSPACE_WORKSPACE_POOL_SIZE 16\n"
    return {
        **files,
        "metadata.json": json.dumps(metadata).encode(),
        header: files[header] + macro,
    }


def test_metadata_that_contradicts_the_header(archive, tmp_path):
    files = with_a_pool(usmp.load_archive(archive).files)
    path = write_tar(tmp_path / "model.tar", files)
    assert usmp.load_archive(path).modules["default"].pools[0].size_bytes == 16
    metadata = edited(json.loads(files["metadata.json"]), f"{_POOLS}/0/size_bytes", 32)
    files["metadata.json"] = json.dumps(metadata).encode()
    assert message_of(write_tar(path, files)) == (
        "metadata.json is damaged: GLOBAL_WORKSPACE_WORKSPACE_POOL_SIZE is 32 there and 16 in the "
        'header of module "default"'
    )


def test_pool_that_the_header_does_not_take(archive, tmp_path):
    """A run would be called with one argument too many."""
    files = with_a_pool(usmp.load_archive(archive).files)
    metadata = edited(json.loads(files["metadata.json"]), f"{_POOLS}/0/internal", False)
    files["metadata.json"] = json.dumps(metadata).encode()
    assert message_of(write_tar(tmp_path / "model.tar", files)) == (
        "metadata.json is damaged: struct tvmgen_default_workspace_pools has the members "
        "global_workspace there and none in the header"
    )


@pytest.mark.slow
def test_external_pools_are_read_back(tmp_path):
    sram = WorkspaceMemoryPools([WorkspacePoolInfo("a pool", ["c"])])
    factory = usmp.build(Attention, params=PARAMS, workspace_memory_pools=sram)
    path = usmp.export_model_library_format(factory, tmp_path / "model.tar")
    pools = [pool for pool in usmp.load_archive(path).module().pools if not pool.is_constant]
    assert [(p.name, p.c_name, p.is_internal) for p in pools] == [("a pool", "a_pool", False)]


@pytest.mark.slow
def test_model_without_inputs_is_read_back(tmp_path):
    factory = usmp.build(Attention, params={**PARAMS, "x": X})
    path = usmp.export_model_library_format(factory, tmp_path / "model.tar")
    assert usmp.load_archive(path).module().inputs == {}


@pytest.mark.slow
def test_packed_interface_has_no_structs(tmp_path):
    sram = WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c"])])
    packed = usmp.Executor("aot", {"interface-api": "packed"})
    factory = usmp.build(Attention, params=PARAMS, executor=packed, workspace_memory_pools=sram)
    path = usmp.export_model_library_format(factory, tmp_path / "model.tar")
    assert list(usmp.load_archive(path).module().inputs) == ["x"]
