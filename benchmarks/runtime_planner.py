"""Compare the runtime planner with TVM's pooled allocator, on calls of random lengths.

The model is the transformer encoder of `tests/python/support/encoder.py`: 2 layers, width 64, 4
heads, Relax virtual machine, llvm. TVM runs it without and with an upper bound of the length, for
which it has a static plan. Bytes and allocations are those of a process. A preloaded allocator
counts blocks aligned for tensors, including memory of kernels, and other blocks of 4096 bytes or
more. Times are of a single process in which the calls alternate, and include planning.

    python benchmarks/runtime_planner.py [--calls N] [--longest N]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tvm
from tvm import relax

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/python"))

from support.counted_allocations import Counts, run_counted, why_not
from support.encoder import WIDTH, encoder, static_plan_bytes
from usmp.runtime import MemoryPlanner, compile_managed

Run = Callable[[Any], Any]


def runner(way: str, longest: int) -> Run:
    """Return a function that runs the model, with the planner or with TVM's pooled allocator."""
    if way == "planner":
        return MemoryPlanner(compile_managed(encoder()))
    mod = encoder(longest if way == "bounded" else None)
    machine = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu(), "pooled")
    return machine["main"]


def lengths_of(calls: int, longest: int) -> list[int]:
    """Return random lengths of inputs; the longest one comes after a quarter of them, or before."""
    lengths = np.random.default_rng(7).integers(1, longest, calls, endpoint=True)
    lengths[calls // 4] = longest
    return [int(length) for length in lengths]


def inputs_of(lengths: Sequence[int]) -> list[Any]:
    """Return an input for each call; calls with one length share an input."""
    random = np.random.default_rng(8)
    by_length = {
        length: tvm.runtime.tensor(random.standard_normal((length, WIDTH), np.float32))
        for length in sorted(set(lengths))
    }
    return [by_length[length] for length in lengths]


def measured(run: Run, inputs: Sequence[Any], longest: int) -> dict[str, int]:
    """Return the bytes and allocations of the calls."""
    counts = Counts()
    counts.forget_peak()
    before, start = counts.bytes, counts.allocations
    after = None
    for data in inputs:
        run(data)
        if after is None and data.shape[0] == longest:
            after = counts.allocations
    return {
        "peak": counts.peak_bytes - before,
        "allocations": counts.allocations - start,
        "late": counts.allocations - (start if after is None else after),
        "managed": run.total_managed if isinstance(run, MemoryPlanner) else 0,
        "plans": run.num_plans if isinstance(run, MemoryPlanner) else 0,
    }


def timed(runs: Sequence[Run], inputs: Sequence[Any]) -> list[float]:
    """Return the milliseconds a call of each function; the first one alternates."""
    seconds = [0.0] * len(runs)
    for number, data in enumerate(inputs):
        order = range(len(runs)) if number % 2 else reversed(range(len(runs)))
        for which in order:
            started = time.perf_counter()
            runs[which](data)
            seconds[which] += time.perf_counter() - started
    return [1000 * total / len(inputs) for total in seconds]


def counted(way: str, calls: int, longest: int) -> dict[str, int]:
    """Return the measurements of a separate process."""
    command = [sys.argv[0], f"--calls={calls}", f"--longest={longest}", f"--counted={way}"]
    finished = run_counted(command, stdout=subprocess.PIPE, check=True)
    numbers: dict[str, int] = json.loads(finished.stdout.splitlines()[-1])
    return numbers


def main() -> None:
    """Print the numbers; with `--counted`, only those of one way."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--longest", type=int, default=128)
    parser.add_argument("--counted", help=argparse.SUPPRESS)
    options = parser.parse_args()
    calls, longest = options.calls, options.longest
    inputs = inputs_of(lengths_of(calls, longest))
    if options.counted:
        print(json.dumps(measured(runner(options.counted, longest), inputs, longest)))
        return
    if (reason := why_not()) is not None:
        sys.exit(f"runtime_planner.py: {reason}")
    of = {way: counted(way, calls, longest) for way in ("planner", "pooled", "bounded")}
    runs = [runner(way, longest) for way in ("planner", "pooled", "bounded")]
    for data in inputs[:20]:
        np.testing.assert_array_equal(runs[0](data).numpy(), runs[1](data).numpy())
    per_call = timed([MemoryPlanner(compile_managed(encoder())), *runs[1:]], inputs)
    managed, static = of["planner"]["managed"], static_plan_bytes(longest)
    print(f"{calls} calls, lengths 1 to {longest}; {of['planner']['plans']} plans")
    print(f"managed buffer {managed} bytes, TVM's static plan of the longest {static} bytes")
    for way, text in (
        ("planner", "planner"),
        ("pooled", "TVM, pooled"),
        ("bounded", "TVM, bound known"),
    ):
        counts, time_of = of[way], per_call[list(of).index(way)]
        print(
            f"{text:16}  peak {counts['peak']:9} bytes, {counts['allocations']:4} allocations, "
            f"{counts['late']:3} of them after the longest, {time_of:.3f} ms a call"
        )
    print(f"managed buffer / static plan  {managed / static:.3f}")
    print(f"peak / peak of pooled         {of['planner']['peak'] / of['pooled']['peak']:.3f}")
    print(f"peak / peak with the bound    {of['planner']['peak'] / of['bounded']['peak']:.3f}")
    print(f"throughput / that of pooled   {per_call[1] / per_call[0]:.3f}")


if __name__ == "__main__":
    main()
