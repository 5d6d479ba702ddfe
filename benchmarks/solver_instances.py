"""Public placement problems as the solver takes them, and how hard it is asked to try."""

from __future__ import annotations

import csv
import json
import multiprocessing
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from usmp_solver import Buffer, Pool, Problem, solve

FOLDER = (
    Path(os.environ.get("USMP_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    / "instances"
)
CAPACITY = 1_048_576
"""Of MiniMalloc's challenging instances, A to K."""

STEPS_A_SECOND = 200_000_000


def require_instances() -> None:
    """End, and say why, where the instances are not."""
    if not FOLDER.is_dir():
        sys.exit(f"{FOLDER} is not there; set USMP_SHARED to the folder that has instances/")


def challenging() -> list[Path]:
    """MiniMalloc's instances A to K."""
    return [FOLDER / f"minimalloc-{letter}.{CAPACITY}.csv" for letter in "ABCDEFGHIJK"]


def from_tvm() -> list[Path]:
    """What TVM 0.18 handed to its algorithms, one file a model."""
    return sorted(FOLDER.glob("tvm018-*.json"))


def title(path: Path) -> str:
    """The instance as tables call it."""
    return path.name.split(".")[0].removeprefix("minimalloc-").removeprefix("tvm018-")


def lives_of(path: Path) -> list[tuple[str, int, int, int]]:
    """Name, first time, time after the last, and size of each buffer of a CSV."""
    with path.open(newline="") as file:
        return [
            (row["id"], int(row["lower"]), int(row["upper"]), int(row["size"]))
            for row in csv.DictReader(file)
        ]


def problem_of(path: Path, capacity: int | None = None) -> Problem:
    """The problem of a file.

    With a capacity, which limits the pool, only whether it suffices is asked: a buffer of just this
    size, at a time of its own, makes every plan within it as good as any other.
    """
    if path.suffix == ".csv":
        lives = lives_of(path)
        buffers = [Buffer(name, size, [(lower, upper)]) for name, lower, upper, size in lives]
        if capacity is not None:
            end = max(upper for _, _, upper, _ in lives)
            buffers.append(Buffer("the capacity", capacity, [(end, end + 1)]))
        return Problem.from_buffers(buffers, [Pool("memory", capacity)])
    return Problem.from_buffers(
        Buffer(each["name"], each["size"], alignment=each["alignment"], conflicts=each["conflicts"])
        for each in json.loads(path.read_text())["buffers"]
    )


def load_of(path: Path) -> int:
    """Most bytes that are live at one time: of intervals the largest sum, of TVM's problems the
    heaviest clique of their conflict graph.
    """
    if path.suffix == ".json":
        return int(json.loads(path.read_text())["clique_lb"])
    events = []
    for _, lower, upper, size in lives_of(path):
        events += [(lower, size), (upper, -size)]
    live = load = 0
    for _, change in sorted(events):
        live += change
        load = max(load, live)
    return load


@dataclass(frozen=True)
class Answer:
    """Peak and lower bound in bytes, `peak` 0 if there is no plan; user and system CPU seconds."""

    peak: int
    lower_bound: int
    status: str
    seconds: float

    @property
    def is_optimal(self) -> bool:
        """Whether no plan is better."""
        return self.status == "optimal"


def _answer(path: Path, capacity: int | None, work_seconds: float) -> Answer:
    problem = problem_of(path, capacity)
    start = time.process_time()
    found = solve(problem, work_budget=int(work_seconds * STEPS_A_SECOND))
    seconds = time.process_time() - start
    return Answer(found.peak, found.lower_bound, found.status.value, seconds)


def answer(path: Path, *, work_seconds: float, capacity: int | None = None) -> Answer:
    """Solve the problem in a process of its own, with as much work as takes about so long."""
    with multiprocessing.get_context("spawn").Pool(1) as process:
        return process.apply(_answer, (path, capacity, work_seconds))
