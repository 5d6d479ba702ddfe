"""Compare the speed of the C of quantized models on this host with TFLite Micro and LiteRT.

    python benchmarks/speed.py [--flags="-O3 -march=native"] MODEL.tflite ...

All run in turn on the same inputs, in one process on one thread; numbers are the least CPU time of
a run. TFLite Micro is the package `tflite-micro`, with its reference kernels. LiteRT is the package
`ai-edge-litert`, once with its reference kernels and once with XNNPACK, its default. Our outputs
are compared byte for byte with TFLite Micro's; XNNPACK's may differ in the last bit.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from random_inputs import random_inputs
from rich.console import Console
from rich.table import Table
from tflite_micro.python.tflite_micro import runtime
from tvm.ir.transform import PassContext

import usmp
from usmp.runtime.host import build_shared_library

ROUNDS = 41
ARENA_BYTES = 16 << 20
OURS, MICRO = "C", "TFLM"
LITERT = {"LiteRT reference": OpResolverType.BUILTIN_REF, "XNNPACK": OpResolverType.AUTO}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--flags", default="-O2", help="for the C compiler (-O2)")
    options = parser.parse_args()
    names = (MICRO, *LITERT)
    headings = ["outputs", f"{OURS} us", *(f"{n} us" for n in names), *(f"{n} / C" for n in names)]
    table = Table(title=f"CPU time of one run, C built with {options.flags}", title_justify="left")
    for heading in ("model", *headings):
        table.add_column(heading, justify="left" if heading == "model" else "right", no_wrap=True)
    ratios: list[list[float]] = []
    for path in options.models:
        same, microseconds = measured(path, options.flags.split())
        ratios.append([microseconds[name] / microseconds[OURS] for name in names])
        times = [f"{microseconds[name]:.0f}" for name in (OURS, *names)]
        verdict = "identical" if same else "DIFFERENT"
        table.add_row(path.stem, verdict, *times, *(f"{ratio:.2f}" for ratio in ratios[-1]))
    means = np.exp(np.log(ratios).mean(axis=0))
    table.add_row("geometric mean", *[""] * (2 + len(names)), *(f"{mean:.2f}" for mean in means))
    Console(width=150).print(table)


def measured(path: Path, flags: list[str]) -> tuple[bool, dict[str, float]]:
    """Return whether our outputs equal TFLite Micro's, and the microseconds of a run by name."""
    with PassContext(disabled_pass=["StreamOperators"]):
        factory = usmp.build(usmp.import_model(path))
    inputs = random_inputs(factory)
    micro = runtime.Interpreter.from_bytes(path.read_bytes(), arena_size=ARENA_BYTES)
    litert = {name: _litert(path, resolver, inputs) for name, resolver in LITERT.items()}
    times: dict[str, list[float]] = {name: [] for name in (OURS, MICRO, *LITERT)}
    same = True
    with TemporaryDirectory() as directory:
        library = build_shared_library(factory.files(), [], Path(directory), flags)
        arrays = [value.copy() for value in inputs.values()]
        described = [tensor.info for tensor in factory.interface.outputs]
        outputs = [np.zeros(list(info.shape), str(info.dtype)) for info in described]
        run = _call(library, arrays, outputs)
        for _ in range(ROUNDS):
            for index, value in enumerate(inputs.values()):
                micro.set_input(value, index)
            times[MICRO].append(_seconds(micro.invoke))
            for name, invoke in litert.items():
                times[name].append(_seconds(invoke))
            times[OURS].append(_seconds(run))
            same &= all(np.array_equal(o, micro.get_output(i)) for i, o in enumerate(outputs))
    return same, {name: 1e6 * min(seconds) for name, seconds in times.items()}


def _call(
    library: Path, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]
) -> Callable[[], object]:
    """Return a function that calls `tvmgen_default_run` on the arrays."""
    function = ctypes.CDLL(str(library))["tvmgen_default_run"]
    structs = [
        ctypes.byref((ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays)))
        for arrays in (inputs, outputs)
    ]
    return partial(function, *structs)


def _litert(
    path: Path, resolver: OpResolverType, inputs: dict[str, np.ndarray]
) -> Callable[[], object]:
    """Return a function that runs the model in LiteRT on the inputs."""
    interpreter = Interpreter(str(path), experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), inputs.values(), strict=True):
        interpreter.set_tensor(detail["index"], value)
    return interpreter.invoke


def _seconds(run: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


if __name__ == "__main__":
    main()
