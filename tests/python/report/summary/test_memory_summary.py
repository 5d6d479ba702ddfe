"""The table that `tvmc compile` ends with."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

import usmp
from support.memory_summaries import pool, shown
from support.small_digits import small_digits
from usmp.frontend.tflite.importer import import_tflite
from usmp.report import print_memory_summary


def summary(
    *pools: dict[str, Any],
    io_in_pool: bool = False,
    width: int = 80,
    placement: dict[str, Any] | None = None,
    ended_by: str | None = None,
    interface_api: str = "c",
    with_workspace_io: int | None = None,
    pruned_channels: dict[str, int] | None = None,
) -> list[str]:
    """The summary of a model with these pools."""
    tensor = {"pool": "sram"} if io_in_pool else {}
    main = {"io_size_bytes": 12, "inputs": {"x": tensor}, "outputs": {"y": tensor}}
    states = [b["size"] for p in pools for b in p["buffers"] if b["kind"] == "state"]
    main["state_size_bytes"] = sum(states)
    main["constants_size_bytes"] = sum(p["peak_bytes"] for p in pools if p["kind"] == "constant")
    memory = {"algorithm": "mine", "pools": list(pools), "functions": {"main": [main]}}
    workspace = sum(p["peak_bytes"] for p in pools if p["kind"] == "workspace")
    outside = 0 if io_in_pool else 12
    memory["ram"] = {
        "size_bytes": workspace + outside,
        "workspace_size_bytes": workspace,
        "io_size_bytes": outside,
        "state_size_bytes": sum(states),
    }
    if with_workspace_io is not None:
        memory["ram"]["size_bytes_with_workspace_io"] = with_workspace_io
    memory["placement"] = placement or {"policy": "preference"}
    if ended_by is not None:
        memory["search_ended_by"] = ended_by
    metadata = {"model_name": "net", "interface_api": interface_api, "memory": memory}
    if pruned_channels is not None:
        metadata["pruned_channels"] = pruned_channels
    return shown(metadata, width)


def before_total(*pools: dict[str, Any], **options: Any) -> list[str]:
    """The lines before RAM and flash in all, which are the last two without tensors outside."""
    *lines, ram, flash = summary(*pools, io_in_pool=True, **options)
    assert (ram.split()[0], flash.split()[0]) == ("RAM", "Flash:")
    return lines


def test_whole_summary():
    assert summary(
        pool("flash", "constant", 50, 50),
        pool("sram", "workspace", 300, 200, ("a", 100), ("b", 200), optimal=False),
    ) == [
        "Memory of net (mine)",
        "pool kind peak bytes lower bound ratio optimal",
        "sram workspace 300 200 1.500 unknown",
        "flash constant 50 50 1.000 yes",
        "Live at the peak of sram",
        "buffer offset bytes",
        "a 0 100",
        "b 100 200",
        "RAM 312 bytes = workspace 300 + inputs and outputs 12, without the stack.",
        "Inputs and outputs are provided by the application; --workspace-io",
        "(tir.usmp.use_workspace_io=1) plans them too.",
        "Flash: constants 50 bytes, and the code once it is compiled.",
    ]


def last_lines(*pools: dict[str, Any], **options: Any) -> list[str]:
    lines = summary(*pools, width=200, **options)
    return lines[next(i for i, line in enumerate(lines) if line.startswith("RAM")) :]


def test_ram_with_inputs_and_outputs_in_the_workspace_if_it_was_planned():
    pools = (pool("sram", "workspace", 300, 300), pool("dtcm", "workspace", 20, 20))
    assert last_lines(*pools, with_workspace_io=321) == [
        "RAM 332 bytes = workspace 320 + inputs and outputs 12, without the stack.",
        "Inputs and outputs are provided by the application; --workspace-io "
        "(tir.usmp.use_workspace_io=1) plans them too: RAM 321 bytes.",
        "Flash: constants 0 bytes, and the code once it is compiled.",
    ]


def test_ram_of_inputs_and_outputs_that_are_planned():
    assert last_lines(pool("sram", "workspace", 300, 300), io_in_pool=True) == [
        "RAM 300 bytes = workspace 300, without the stack.",
        "Flash: constants 0 bytes, and the code once it is compiled.",
    ]


def test_ram_of_the_packed_interface_has_no_other_way():
    assert last_lines(pool("sram", "workspace", 8, 8), interface_api="packed")[1] == (
        "Inputs and outputs are provided by the application."
    )


@pytest.mark.slow
def test_an_archive_without_ram_in_all_is_shown():
    metadata = usmp.build(import_tflite(small_digits())).metadata["modules"]["default"]
    del metadata["memory"]["ram"]
    stream = io.StringIO()
    print_memory_summary(metadata, Console(file=stream, highlight=False))
    assert "global_workspace" in stream.getvalue()
    assert "RAM" not in stream.getvalue()


def test_state_is_part_of_the_workspace():
    assert last_lines(pool("sram", "workspace", 40, 40, ("state a", 8), ("b", 30)))[0] == (
        "RAM 52 bytes = workspace 40 (state 8 of it) + inputs and outputs 12, without the stack."
    )


def test_state_is_told_by_pool():
    lines = before_total(
        pool("[dtcm]", "workspace", 40, 40, ("state a", 8), ("b", 30), ("state c", 2)),
        pool("sram", "workspace", 5, 5, ("state d", 5)),
        pool("dram", "workspace", 5, 5, ("e", 5)),
        width=200,
    )
    assert lines[-1] == (
        "State, 15 bytes, is kept between runs (10 in [dtcm], 5 in sram): "
        "nothing else may write these bytes."
    )


def test_workspace_pools_keep_the_order_of_the_plan():
    lines = before_total(pool("b", "workspace", 1, 1), pool("a", "workspace", 1, 1))
    assert [line[0] for line in lines[2:4]] == ["b", "a"]


def test_pool_without_bytes_has_no_ratio():
    assert "sram workspace 0 0 - yes" in before_total(pool("sram", "workspace", 0, 0))


def test_model_without_pools():
    assert before_total() == ["Memory of net (mine): none"]


def test_inputs_in_the_workspace_need_no_remark():
    lines = before_total(pool("sram", "workspace", 1, 1, ("a", 1)))
    assert lines[-1] == "a 0 1"


def test_only_the_largest_live_buffers_are_listed():
    live = [(f"b{i}", 10 + i) for i in range(9)]
    lines = before_total(pool("sram", "workspace", 126, 126, *live))
    first = lines.index("buffer offset bytes") + 1
    assert [line.split()[0] for line in lines[first:-1]] == ["b3", "b4", "b5", "b6", "b7", "b8"]
    assert lines[-1] == "3 smaller buffers 33"


def overlapping_pool(peak: int, pressure: int) -> dict[str, Any]:
    """`conv2d` takes bytes of its input `x`, `sum` all of `conv2d` and of a buffer that is dead."""
    pool_of_all = pool(
        "sram", "workspace", peak, peak, ("conv2d", 900), ("x", 600), ("sum", 900), ("dead", 8)
    )
    conv2d, x, total, _ = pool_of_all["buffers"]
    x["offset"] = 400
    conv2d["overlaps"] = {"x": {"shared": 500, "distance": 390}}
    total["offset"] = 0
    total["overlaps"] = {
        "conv2d": {"shared": 900, "distance": 0},
        "dead": {"shared": 8, "distance": 0},
    }
    pool_of_all["live_at_peak"] = ["conv2d", "sum", "x"]
    return {**pool_of_all, "memory_pressure_bytes": pressure}


def test_which_live_buffers_overlap_by_how_many_bytes():
    lines = before_total(overlapping_pool(1000, 2400))
    assert lines[lines.index("Live at the peak of sram") + 1 :] == [
        "buffer offset bytes overwrites",
        "conv2d 0 900 500 of 600 bytes of x",
        "sum 0 900 900 of 900 bytes of conv2d",
        "x 400 600",
        "These 2400 bytes fit in 1000, since they overlap: an operator writes its output",
        "where it has read its input for the last time.",
        "Without overlap (--disabled-pass=OverlapInputsAndOutputs) the buffers of the",
        "pool would need at least 2400 bytes in this order of operators.",
    ]


def test_what_the_pool_would_need_is_told_only_if_it_is_more():
    lines = before_total(overlapping_pool(1000, 1000))
    assert lines[-1] == "where it has read its input for the last time."


def test_overlaps_of_buffers_that_are_not_live_at_the_peak_are_not_told():
    whole = overlapping_pool(1000, 1000)
    lines = before_total({**whole, "live_at_peak": ["sum", "x"]})
    assert lines[-3:] == ["buffer offset bytes", "sum 0 900", "x 400 600"]


def test_overlaps_of_long_names_fit_the_width():
    long = overlapping_pool(1000, 2400)
    for buffer in long["buffers"]:
        if buffer["name"] == "x":
            buffer["name"] = "quantized_depthwise_conv2d_bias_add_relu_clip_cast_12"
    long["buffers"][0]["overlaps"] = {long["buffers"][1]["name"]: {"shared": 500, "distance": 390}}
    long["live_at_peak"][2] = long["buffers"][1]["name"]
    lines = before_total(long)
    assert all(len(line) <= 80 for line in lines)
    assert "…" not in "".join(lines)
    row = " ".join(lines[lines.index("Live at the peak of sram") + 1 :])
    assert "500 of 600 bytes of" in row


def test_names_are_shown_as_they_are():
    name = "a[b]x[/c]:a:0"
    lines = before_total(pool(name, "workspace", 1, 1, (name, 1)))
    assert f"{name} workspace 1 1 1.000 yes" in lines
    assert f"Live at the peak of {name}" in lines
    assert lines[-1] == f"{name} 0 1"


def test_long_names_are_folded_not_cut():
    name = "n" * 300
    lines = before_total(pool(name, "workspace", 12, 12, (name, 12)))
    assert "".join(lines).count("n" * 20) >= 3 * (300 // 80)
    assert "…" not in "".join(lines)


def test_access_cycles_by_both_placements():
    placement = {
        "policy": "cost",
        "clock_frequency_hz": -1,
        "estimated_access_cycles": 70,
        "estimated_access_cycles_by_preference": 90,
        "estimated_access_cycles_by_cost": 70,
        "estimated_access_cycles_lower_bound": 60,
    }
    assert before_total(width=200, placement=placement)[-1] == (
        "Estimated access cycles: 70 with placement=cost; "
        "by preference 90, by cost 70, lower bound 60."
    )
    placement["estimated_access_cycles_by_preference"] = None
    lines = before_total(width=200, placement=placement)
    assert "by preference no plan fits, by cost 70" in lines[-1]


@pytest.mark.parametrize(
    ("ended_by", "told"),
    [
        (None, []),
        ("proof", []),
        ("work", []),
        (
            "time",
            ["The search was ended by its time budget: another run may end with another plan."],
        ),
        ("interrupt", ["The search was interrupted: another run may end with another plan."]),
    ],
)
def test_an_end_that_another_run_may_not_have_is_told(ended_by, told):
    lines = before_total(pool("sram", "workspace", 1, 1, ("a", 1)), ended_by=ended_by)
    assert lines[lines.index("a 0 1") + 1 :] == told


PRUNED = {
    "channels": 1724,
    "weights_size_bytes_before": 208112,
    "weights_size_bytes": 29066,
    "macs_before": 7489664,
    "macs": 999999,
}


def test_removed_channels_are_told():
    lines = summary(
        pool("sram", "workspace", 1, 1, ("a", 1)),
        io_in_pool=True,
        width=200,
        pruned_channels=PRUNED,
    )
    assert lines[lines.index("a 0 1") + 1 : -2] == [
        "Removed 1724 channels that are constant or not read: weights 208112 -> 29066 bytes, "
        "7.5 M -> 999999 MACs (--disabled-pass=PruneConstantChannels keeps them)."
    ]


NAME = "\x1b[31m\x9b2J[red]:smile:\r\u202e"
CYCLES = ("_by_preference", "_by_cost", "_lower_bound")
KEYS = set(
    """model_name memory algorithm pools functions main placement policy float_operators name kind
    peak_bytes memory_pressure_bytes lower_bound_bytes optimal live_at_peak buffers offset size
    overlaps shared distance io_size_bytes state_size_bytes inputs interface_api ram size_bytes
    workspace_size_bytes constants_size_bytes pruned_channels channels weights_size_bytes
    weights_size_bytes_before macs macs_before""".split()
) | {f"estimated_access_cycles{end}" for end in ("", *CYCLES)}
PLAIN = "\\x1b[31m\\x9b2J[red]:smile:\\r\\u202e"


def hostile(value: Any) -> Any:
    """The metadata with this name in the place of every text but the kinds."""
    if isinstance(value, dict):
        return {
            key if key in KEYS else NAME: entry if key == "kind" else hostile(entry)
            for key, entry in value.items()
        }
    if isinstance(value, list):
        return [hostile(entry) for entry in value]
    return NAME if isinstance(value, str) else value


def test_no_name_controls_the_terminal():
    pools = [pool(kind, kind, 9, 9, ("state a", 4)) for kind in ("workspace", "constant")]
    for described in pools:
        described["buffers"][0]["overlaps"] = {"state a": {"shared": 1, "distance": 2}}
    main = {"io_size_bytes": 12, "state_size_bytes": 4, "constants_size_bytes": 9, "inputs": {}}
    parts = ("", "workspace_", "io_", "state_")
    cycles = {f"estimated_access_cycles{end}": 1 for end in ("", *CYCLES)}
    memory = {
        "algorithm": "mine",
        "pools": pools,
        "functions": {"main": [main]},
        "ram": {f"{part}size_bytes": 4 for part in parts},
        "placement": {"policy": "cost", **cycles},
    }
    metadata = {"model_name": "net", "memory": memory, "float_operators": {"softmax": 1}}
    metadata["interface_api"] = "c"
    metadata["pruned_channels"] = PRUNED
    stream = io.StringIO()
    print_memory_summary(hostile(metadata), Console(file=stream, width=300, highlight=False))
    text = stream.getvalue()
    assert all(line.isprintable() for line in text.split("\n"))
    # In title, pools, peak of the workspace, its buffer, what that overwrites, and three sentences.
    assert text.count(PLAIN) == 2 + 2 + 1 + 1 + 1 + (1 + 2 + 1)
