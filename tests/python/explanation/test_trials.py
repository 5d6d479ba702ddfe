"""Which builds are tried for a model, and what each of them changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.planner_contexts import planner_context
from usmp.explanation.trials import trials
from usmp.objects import Executor, PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from usmp.planning.options import planning_options


def tensor(dtype="float32", **known):
    return {"dtype": dtype, "size": 16, "shape": [1, 2, 2, 1], **known}


def main(inputs=None, outputs=None, entry="main"):
    inputs = {"x": tensor()} if inputs is None else inputs
    return {"entry": entry, "inputs": inputs, "outputs": outputs or {}}


def pool(name="sram", **known):
    held = {"optimal": True, "peak_bytes": 8, "live_at_peak": ["x"]}
    return {"name": name, "kind": "workspace", **held, **known}


def metadata(*mains, pools=None, ram=100):
    pools = [pool()] if pools is None else pools
    functions = {"main": list(mains or [main()])}
    return {"memory": {"ram": {"size_bytes": ram}, "functions": functions, "pools": pools}}


def tried(config=None, known=None, has_code=False, **arguments):
    arguments = {"executor": Executor("aot"), **arguments}
    options = planning_options(planner_context(config or {}))
    found = trials(options, arguments, known or metadata(), has_code)
    return {trial.name: trial for trial in found}


def test_options_that_take_memory_are_tried_without():
    assert tuple(tried()) == (
        "use_workspace_io",
        "stream_inputs",
        "max_extra_macs",
        "io_type",
        "workspace_byte_alignment",
    )
    found = tried({"preserve_inputs": True, "optimize": "speed"})
    assert tuple(found) == (
        "use_workspace_io",
        "preserve_inputs",
        "max_extra_macs",
        "optimize",
        "io_type",
        "workspace_byte_alignment",
    )
    assert found["preserve_inputs"].flag == "without --usmp-preserve-inputs"
    assert found["optimize"].config == {"tir.usmp.optimize": "ram"}


def test_strips_are_tried_where_there_are_none():
    assert tried()["max_extra_macs"].config == {"tir.usmp.max_extra_macs": "10%"}
    assert "max_extra_macs" not in tried({"max_extra_macs": "5%"})


def test_inputs_and_outputs_are_tried_elsewhere():
    assert tried()["use_workspace_io"].flag == "--workspace-io"
    placed = tried({"use_workspace_io": True})["use_workspace_io"]
    assert placed.config == {"tir.usmp.use_workspace_io": False}
    free, restricted = (
        WorkspaceMemoryPools([WorkspacePoolInfo("sram", ["c"], PoolInfoProperties(io=io))])
        for io in ("any", "only")
    )
    inside = {"use_workspace_io": True}
    assert "use_workspace_io" in tried(inside, workspace_memory_pools=free)
    assert "use_workspace_io" not in tried(inside, workspace_memory_pools=restricted)
    assert "use_workspace_io" in tried(workspace_memory_pools=restricted)
    assert "use_workspace_io" not in tried(inside, io_memory_pool=restricted.pools[0])


@pytest.mark.parametrize(
    ("config", "mains", "expected"),
    [
        ({}, [main({"x": tensor(), "y": tensor(), "z": tensor()})], "y"),
        ({}, [main({"s": tensor(updated=True), "a b": tensor()})], "a b"),
        ({"stream_inputs": ["x"]}, [main({"x": tensor(), "y": tensor()})], "y"),
        ({"stream_inputs": ["x"]}, [main()], None),
        ({}, [main({"x": tensor(size=9)}, entry="a"), main(entry="b")], "a.x"),
        ({"stream_inputs": ["b.x"]}, [main({}, entry="a"), main(entry="b")], None),
        ({"stream_inputs": ["x:hop=1"]}, [main({}, entry="a"), main(entry="b")], None),
        ({"preserve_inputs": True}, [main()], None),
        ({"disabled_pass": ["StreamOperators"]}, [main()], None),
        # Less than 2 % of the RAM.
        ({}, [main({"x": tensor(size=1), "y": tensor(size=2)})], "y"),
    ],
)
def test_inputs_are_tried_by_rows(config, mains, expected):
    found = tried(config, metadata(*mains)).get("stream_inputs")
    if expected is None:
        assert found is None
    else:
        given = config.get("stream_inputs", [])
        assert found.config == {"tir.usmp.stream_inputs": [*given, expected]}
        assert found.flag.split(" ", 1)[1].strip("'") == expected


def test_the_largest_tensors_of_all_entries_are_tried_by_rows():
    first = main({"x": tensor(size=7), "y": tensor(size=9)}, entry="a")
    second = main({"x": tensor(size=8)}, {"image": tensor()}, entry="b")
    options = planning_options(planner_context({}))
    found = trials(options, {"executor": Executor("aot")}, metadata(first, second))
    flags = [trial.flag for trial in found if trial.name.startswith("stream_")]
    assert flags == ["--stream-input a.y", "--stream-input b.x", "--stream-output b.image"]


def test_outputs_with_rows_are_tried_by_rows():
    outputs = {"scores": tensor(shape=[1, 16]), "small": tensor(size=1), "image": tensor()}
    found = tried(None, metadata(main(outputs=outputs)))["stream_outputs"]
    assert found.flag == "--stream-output image"
    assert found.application == "the application needs a callback"
    assert "stream_outputs" not in tried({"stream_outputs": ["image"]}, metadata(main({}, outputs)))


def test_code_is_tried_where_flash_is_asked_for():
    assert "code" not in tried()
    found = tried(has_code=True)["code"]
    assert (found.flag, found.is_of_code) == ("--pass-config tir.usmp.code=small", True)
    assert "code" not in tried({"code": "small"}, has_code=True)


def test_a_pair_has_both_changes():
    found = tried({"stream_inputs": ["a"]}, metadata(main({"x": tensor(), "y": tensor()})))
    rows, strips, types = (found[name] for name in ("stream_inputs", "max_extra_macs", "io_type"))
    pair = rows.combined(strips)
    assert pair.flag == "--stream-input y --pass-config tir.usmp.max_extra_macs=10%"
    assert pair.config == {**rows.config, **strips.config}
    assert (pair.application, pair.parts) == (rows.application, (rows, strips))
    both = rows.combined(types)
    assert both.arguments == {"io_type": "int8"}
    assert both.application == "the application needs a callback; the application passes int8"
    other = {"tir.usmp.stream_inputs": ["a", "x"]}
    two = rows.combined(replace(rows, config=other))
    assert two.config == {"tir.usmp.stream_inputs": ["a", "y", "x"]}
    assert strips.combined(strips) is None
    assert types.combined(types) is None


@pytest.mark.parametrize(
    ("known", "arguments", "is_tried"),
    [
        (main(), {}, True),
        (main({"x": tensor("int8")}, {"y": tensor()}), {}, True),
        (main({"x": tensor("int8")}, {"y": tensor("int8")}), {}, False),
        (main(), {"io_type": "int8"}, False),
    ],
)
def test_integers_are_tried_for_float_inputs_and_outputs(known, arguments, is_tried):
    found = tried(None, metadata(known), **arguments)
    assert ("io_type" in found) == is_tried
    if is_tried:
        assert found["io_type"].arguments == {"io_type": "int8"}


@pytest.mark.parametrize(("alignment", "is_tried"), [(2, False), (4, False), (8, True)])
def test_words_are_tried_as_alignment(alignment, is_tried):
    executor = Executor("aot", {"workspace-byte-alignment": alignment, "unpacked-api": True})
    found = tried(executor=executor).get("workspace_byte_alignment")
    assert (found is not None) == is_tried
    if found is not None:
        changed = found.arguments["executor"]
        assert changed.workspace_byte_alignment == 4
        assert dict(changed.options)["unpacked-api"]


def test_words_are_not_tried_where_padding_is_little():
    assert "workspace_byte_alignment" in tried(known=metadata(ram=600))
    assert "workspace_byte_alignment" not in tried(known=metadata(ram=601))


@pytest.mark.parametrize(
    ("config", "pools", "expected"),
    [
        ({}, [pool()], None),
        ({}, [pool(), pool("flash", kind="constant", optimal=False)], None),
        ({}, [pool(), pool("slow", optimal=False)], "time_budget"),
        ({"algorithm": "greedy_by_size"}, [pool(optimal=False)], "algorithm"),
        ({"algorithm": "exact"}, [pool(optimal=False)], None),
        ({"time_budget": "2s"}, [pool(optimal=False)], None),
    ],
)
def test_longer_searches_are_tried_where_nothing_is_proved(config, pools, expected):
    found = tried(config, metadata(pools=pools))
    names = [name for name in ("algorithm", "time_budget") if name in found]
    assert names == ([] if expected is None else [expected])
    if expected == "time_budget":
        assert found[expected].config == {"tir.usmp.time_budget": "1min"}
        assert found[expected].search_seconds == 10
    if expected == "algorithm":
        changed = {"tir.usmp.algorithm": "auto", "tir.usmp.custom_algorithm": None}
        assert found[expected].config == changed


@pytest.mark.parametrize(
    ("size", "spilled", "board", "is_tried"),
    [
        (64, 1, None, True),
        (0, 1, None, True),
        (-1, 1, None, False),
        (64, 0, None, False),
        (64, 1, "mps2-an385", False),
    ],
)
def test_a_larger_pool_is_tried_where_others_have_the_rest(size, spilled, board, is_tried):
    limited = PoolInfoProperties(size_hint_bytes=size)
    given = WorkspaceMemoryPools(
        [
            WorkspacePoolInfo("fast", {"c": "ro", "llvm": "rw"}, limited),
            WorkspacePoolInfo("slow", ["c"]),
        ]
    )
    pools = [pool("fast"), pool("slow", peak_bytes=spilled)]
    found = tried(None, metadata(pools=pools), workspace_memory_pools=given, board=board)
    assert ("pool_size" in found) == is_tried
    if is_tried:
        first, second = found["pool_size"].arguments["workspace_memory_pools"].pools
        assert (str(first.pool_name), int(first.size_hint_bytes)) == ("fast", -1)
        assert [str(target) for target in first.read_only_targets] == ["c"]
        assert second.same_as(given.pools[1])
    assert "pool_size" not in tried(None, metadata(pools=pools))
