"""Public placement problems for the solver, and solving them with a limit of work."""

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
"""Published capacity of MiniMalloc's challenging instances, A to K, in bytes."""

STEPS_A_SECOND = 200_000_000


def require_instances() -> None:
    """Exit with a message if the instances are missing."""
    if not FOLDER.is_dir():
        sys.exit(f"{FOLDER} is not there; set USMP_SHARED to the folder that has instances/")


def challenging() -> list[Path]:
    """Return the files of MiniMalloc's instances A to K."""
    return [FOLDER / f"minimalloc-{letter}.{CAPACITY}.csv" for letter in "ABCDEFGHIJK"]


def from_tvm() -> list[Path]:
    """Return the files of TVM 0.18's placement problems, one for each model."""
    return sorted(FOLDER.glob("tvm018-*.json"))


def title(path: Path) -> str:
    """Return the name of an instance in tables."""
    return path.name.split(".")[0].removeprefix("minimalloc-").removeprefix("tvm018-")


def lives_of(path: Path) -> list[tuple[str, int, int, int]]:
    """Return the name, live range (start, stop) and size of each buffer in a CSV file."""
    with path.open(newline="") as file:
        return [
            (row["id"], int(row["lower"]), int(row["upper"]), int(row["size"]))
            for row in csv.DictReader(file)
        ]


def problem_of(path: Path, capacity: int | None = None) -> Problem:
    """Return the problem in a file.

    A capacity limits the pool and turns the problem into a decision problem: a further buffer of
    that size, live alone, gives every feasible plan the same peak.
    """
    if path.suffix == ".csv":
        lives = lives_of(path)
        buffers = [Buffer(name, size, [(lower, upper)]) for name, lower, upper, size in lives]
        if capacity is not None:
            end = max(upper for _, _, upper, _ in lives)
            buffers.append(Buffer("the capacity", capacity, [(end, end + 1)]))
        return Problem.from_buffers(buffers, [Pool("memory", capacity)])
    return Problem.from_buffers(
        Buffer(b["name"], b["size"], alignment=b["alignment"], conflicts=b["conflicts"])
        for b in json.loads(path.read_text())["buffers"]
    )


def load_of(path: Path) -> int:
    """Return the most bytes that are live together; for TVM's problems, the heaviest clique of the
    conflict graph."""
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
    """A peak (0 without a plan) and lower bound in bytes, and the user and system CPU seconds."""

    peak: int
    lower_bound: int
    status: str
    seconds: float

    @property
    def is_optimal(self) -> bool:
        """Whether the plan is proved optimal."""
        return self.status == "optimal"


def _answer(path: Path, capacity: int | None, work_seconds: float) -> Answer:
    problem = problem_of(path, capacity)
    start = time.process_time()
    solution = solve(problem, work_budget=int(work_seconds * STEPS_A_SECOND))
    seconds = time.process_time() - start
    return Answer(solution.peak, solution.lower_bound, solution.status.value, seconds)


def answer(path: Path, *, work_seconds: float, capacity: int | None = None) -> Answer:
    """Solve the problem in a separate process, with the steps of about `work_seconds`."""
    with multiprocessing.get_context("spawn").Pool(1) as process:
        return process.apply(_answer, (path, capacity, work_seconds))
