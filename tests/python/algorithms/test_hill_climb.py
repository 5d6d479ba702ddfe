"""hill_climb beside the greedy algorithms, TVM's own results and lower bounds."""

import json
import random

import pytest

from conftest import SHARED
from support.placement_graphs import graph, offsets, peaks, pool, run
from usmp.algorithms import get_algorithm
from usmp.analysis import check_plan, memory_pressure
from usmp.objects import BufferInfo, LiveRange, WorkspacePoolInfo
from usmp_solver import read_csv, solve

GREEDY = ["greedy_by_size", "greedy_by_conflicts"]


def random_graph(seed, count, pools, share=0.2):
    draw = random.Random(seed)
    buffers = graph({f"b{i}": draw.randint(1, 65534) for i in range(count)}, {}, pools)
    for buffer in buffers.values():
        buffer.set_conflicts([b for b in buffers.values() if draw.random() < share])
    return buffers


@pytest.mark.slow
def test_never_worse_than_greedy():
    better = 0
    for seed in range(40):
        buffers = random_graph(seed, 20, [pool()])
        greedy = min(peaks(name, buffers)["global_workspace"] for name in GREEDY)
        climbed = peaks("hill_climb", buffers)["global_workspace"]
        assert climbed <= greedy
        better += climbed < greedy
    assert better > 20


def test_limited_and_unlimited_pool():
    """TVM's test_bounded: 150 buffers, 65535 bytes of fast memory."""
    buffers = random_graph(0, 150, [pool("default", 65535), pool("slow")], share=0.01)
    plan = get_algorithm("hill_climb")(list(buffers.values()), 0)
    check_plan(buffers.values(), plan)
    assert peaks("hill_climb", buffers)["default"] <= 65535


@pytest.mark.slow
def test_fits_where_greedy_does_not():
    """TVM's `simple` needs 216096 bytes; both greedy algorithms take 220192."""
    fitted = 0
    for seed in range(60):
        buffers = random_graph(seed, 12, [pool()], share=0.3)
        climbed = peaks("hill_climb", buffers)["global_workspace"]
        limited = random_graph(seed, 12, [pool(size_hint_bytes=climbed)], share=0.3)
        if min(peaks(name, buffers)["global_workspace"] for name in GREEDY) > climbed:
            assert peaks("hill_climb", limited)["global_workspace"] == climbed
            fitted += 1
    assert fitted > 10


def test_stops_at_the_memory_pressure():
    """The greedy plan, which comes first, is not improved where it is as good as asked for."""
    buffers = random_graph(1, 20, [pool()])
    peak = peaks("greedy_by_size", buffers)["global_workspace"]
    assert offsets("hill_climb", buffers) != offsets("greedy_by_size", buffers)
    assert run("hill_climb", buffers, memory_pressure=peak) == run("greedy_by_size", buffers)


@pytest.mark.slow
@pytest.mark.parametrize("limits", [[-1], [3000, -1]], ids=["one pool", "two pools"])
def test_goes_on_below_the_memory_pressure_where_buffers_overlap(limits):
    """What is live at once is no bound there: a search that stops at it misses better plans."""
    better = 0
    for seed in range(20):
        draw = random.Random(seed)
        pools = [pool(f"p{number}", limit) for number, limit in enumerate(limits)]
        chain = [
            BufferInfo(
                f"b{at}",
                draw.randint(100, 1000),
                pools,
                live_ranges=[LiveRange(at, at + draw.randint(2, 5))],
            )
            for at in range(12)
        ]
        for output in chain[1:]:
            dying = [b for b in chain if b.live_ranges[0].stop == output.live_ranges[0].start + 1]
            output.set_overlaps({b: output.size_bytes // 8 for b in dying})
        buffers = {b.name_hint: b for b in chain}
        pressure = memory_pressure(chain)
        told = sum(peaks("hill_climb", buffers, pressure).values())
        assert told == sum(peaks("hill_climb", buffers).values())
        first = sum(peaks("greedy_by_size", buffers).values())
        better += told < first <= pressure
    assert better > 5


def test_the_same_on_every_platform():
    """The offsets are part of the contract: same problem, same plan, on every machine."""
    sizes = [310, 270, 520, 440, 150, 630, 390, 210, 480, 350]
    buffers = graph(
        {f"b{i}": size for i, size in enumerate(sizes)},
        {f"b{i}": [f"b{(i * 7 + k) % 10}" for k in (1, 3, 4)] for i in range(10)},
    )
    greedy = min(peaks(name, buffers)["global_workspace"] for name in GREEDY)
    assert peaks("hill_climb", buffers)["global_workspace"] < greedy
    assert list(offsets("hill_climb", buffers).values()) == [
        270,
        0,
        630,
        1370,
        1150,
        0,
        980,
        0,
        1150,
        630,
    ]


# Peaks that TVM 0.18's hill_climb reaches on MiniMalloc's challenging instances, in bytes.
TVM_PEAKS = {
    "A": 1263616,
    "B": 1227776,
    "C": 1241088,
    "D": 1197056,
    "E": 1280000,
    "F": 1278976,
    "G": 1352704,
    "H": 1262592,
    "I": 1400832,
    "J": 1243136,
    "K": 1296384,
}


@pytest.mark.models
@pytest.mark.parametrize("instance", TVM_PEAKS)
def test_never_worse_than_tvm(instance):
    """In one pool our walk meets the plans of TVM's, and keeps the best."""
    problem = read_csv(shared(f"instances/minimalloc-{instance}.1048576.csv")).problem
    solution = solve(problem, algorithm="hill_climb")
    assert solution.peak <= TVM_PEAKS[instance]


def shared(name):
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is not there; set USMP_SHARED to the folder that has instances/")
    return path


@pytest.mark.models
@pytest.mark.parametrize(
    "model",
    [
        "mlp",
        "mlperf_ad01_int8",
        "mlperf_kws_int8",
        "mlperf_resnet8_float",
        "mlperf_resnet8_int8",
        "mlperf_strww_int8",
        "mlperf_vww_96_float",
        "mlperf_vww_96_int8",
        "mobilenet",
        "resnet18",
        "squeezenet",
    ],
)
def test_real_models_reach_the_lower_bound(model):
    """The heaviest clique of TVM's conflict graph; no plan is smaller."""
    problem = json.loads(shared(f"instances/tvm018-{model}.json").read_text())
    pools = {name: WorkspacePoolInfo(name, []) for b in problem["buffers"] for name in b["pools"]}
    buffers = {
        b["name"]: BufferInfo(
            b["name"], b["size"], [pools[name] for name in b["pools"]], b["alignment"]
        )
        for b in problem["buffers"]
    }
    assert len(buffers) == len(problem["buffers"])
    for b in problem["buffers"]:
        buffers[b["name"]].set_conflicts([buffers[other] for other in b["conflicts"]])
    peak = sum(peaks("hill_climb", buffers).values())
    assert peak == problem["clique_lb"]
    assert peak <= sum(problem["usmp_results"]["hill_climb"]["pool_sizes"].values())
