"""Builds an imported TFLite file with sanitisers and compares it with tflite-micro."""

from __future__ import annotations

import functools
import math
import os
import pickle
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from tvm.ir import IRModule

import usmp
from support.c_program import SANITIZERS
from support.litert import Reference
from support.micro import CannotRunError, Micro
from support.tflite_tensors import extreme_inputs, graph_tensors, random_inputs

LARGEST_BYTES = 1 << 20
RUN_SECONDS = 20
LONGEST_MESSAGE = 1600
DIFFERS = "gives something else"
RANDOM_INPUTS = 4
_FLAGS = ["-std=c99", *SANITIZERS]

MAIN_C = """
#include <stdio.h>
#include <stdlib.h>
#include "tvmgen_default.h"
static const size_t input_sizes[] = {INPUTS};
static const size_t output_sizes[] = {OUTPUTS};
enum {{ N_INPUTS = sizeof(input_sizes) / sizeof(size_t),
       N_OUTPUTS = sizeof(output_sizes) / sizeof(size_t) }};
int main(void) {{
  void* inputs[N_INPUTS];
  void* outputs[N_OUTPUTS];
  for (int i = 0; i < N_INPUTS; ++i) inputs[i] = malloc(input_sizes[i]);
  for (int i = 0; i < N_OUTPUTS; ++i) outputs[i] = malloc(output_sizes[i]);
  for (;;) {{
    for (int i = 0; i < N_INPUTS; ++i)
      if (fread(inputs[i], 1, input_sizes[i], stdin) != input_sizes[i]) return 0;
    if (getc(stdin) == EOF) return 0;
    if (tvmgen_default_run((struct tvmgen_default_inputs*)inputs,
                           (struct tvmgen_default_outputs*)outputs) != 0) return 2;
    for (int i = 0; i < N_OUTPUTS; ++i) fwrite(outputs[i], 1, output_sizes[i], stdout);
  }}
}}
"""
"""Reads the inputs of a run and a byte after them, writes the outputs, until there is no more."""


def compare(content: bytes, mod: IRModule, seed: int) -> tuple[str, str]:
    """What becomes of an imported file when it is built and run; and more about a finding."""
    if _bytes_of(mod) > LARGEST_BYTES:
        return "built, too large to run", ""
    try:
        factory = usmp.build(mod)
        files = factory.files()
    except ValueError as error:
        message = str(error)
        is_clear = "\n" not in message and len(message) < LONGEST_MESSAGE
        return ("refused when built" if is_clear else "unclear message"), message
    except BaseException as error:  # whatever else it is, it is a finding
        return "exception when built", f"{type(error).__name__}: {error}"
    main = factory.metadata["modules"]["default"]["memory"]["functions"]["main"][0]
    try:
        inputs, _ = graph_tensors(content)
    except KeyError as error:
        return "runs, no reference", f"tensors of type {error}"
    runs = [random_inputs(inputs, seed + number) for number in range(RANDOM_INPUTS)]
    if all(t.limits[0] <= t.zero_point <= t.limits[1] for t in inputs):
        runs += extreme_inputs(inputs)
    fault, ours = _run_c(files, main, runs)
    if fault:
        return fault, ours
    reasons = []
    for name, reference in {"tflite-micro": Micro, "LiteRT": Reference}.items():
        reason, theirs = in_child(lambda reference=reference: _run(reference(content), runs))
        reason = reason or _difference(ours, theirs)
        if not reason:
            return f"runs like {name}", ""
        reasons.append(f"{name} {reason}")
    differs = [reason for reason in reasons if DIFFERS in reason]
    return ("differs" if differs else "runs, no reference"), "; ".join(differs or reasons)


def _bytes_of(mod: IRModule) -> int:
    """The bytes of all tensors of the function."""
    main, total = mod["main"], 0
    variables = [*main.params, *(b.var for block in main.body.blocks for b in block.bindings)]
    for variable in variables:
        fields = getattr(variable.ty, "fields", None) or [variable.ty]
        for ty in fields:
            total += math.prod(int(extent) for extent in ty.shape) * 8
    return total


def _run_c(
    files: Mapping[str, bytes], main: Mapping[str, Any], runs: list[dict[str, np.ndarray]]
) -> tuple[str, Any]:
    """A finding and what it says; or nothing, and the outputs of each run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
        sizes = {
            key: ", ".join(str(_size(info)) for info in main[key].values())
            for key in ("inputs", "outputs")
        }
        text = MAIN_C.replace("{INPUTS}", "{{{inputs}}}").replace("{OUTPUTS}", "{{{outputs}}}")
        (folder / "main.c").write_text(text.format(**sizes))
        sources = [*folder.glob("codegen/host/src/*.c"), folder / "main.c"]
        command = ["gcc", *_FLAGS, f"-I{folder}/codegen/host/include", *sources, "-lm"]
        built = _command([*command, "-o", folder / "program"])
        if built.returncode:
            return "C compiler refuses", built.stderr.decode(errors="replace")[:2000]
        fed = b"".join(b"".join(a.tobytes() for a in run.values()) + b"." for run in runs)
        try:
            done = _command([folder / "program"], fed)
        except subprocess.TimeoutExpired:
            return "C program hangs", ""
        if done.returncode:
            return "C program fails", done.stderr.decode(errors="replace")[:2000]
        return "", _split(done.stdout, main["outputs"], len(runs))


def _command(command: list[Any], fed: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [str(part) for part in command],
        input=fed,
        capture_output=True,
        timeout=3 * RUN_SECONDS,
        preexec_fn=_unlimited,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
        check=False,
    )


def _unlimited() -> None:
    """Sanitisers reserve address space without end."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _size(info: Mapping[str, Any]) -> int:
    return math.prod(info["shape"]) * np.dtype(info["dtype"]).itemsize


def _split(data: bytes, outputs: Mapping[str, Any], count: int) -> list[list[np.ndarray]]:
    """The outputs of each run, in order."""
    results: list[list[np.ndarray]] = [[] for _ in range(count)]
    at = 0
    for result in results:
        for info in outputs.values():
            array = np.frombuffer(data[at : at + _size(info)], info["dtype"])
            result.append(array.reshape(info["shape"]))
            at += _size(info)
    return results


def _run(reference: Micro | Reference, runs: list[dict[str, np.ndarray]]) -> list[list[np.ndarray]]:
    return [[value.copy() for value in reference.run(inputs).values()] for inputs in runs]


@functools.cache
def _load_runtimes() -> None:
    """Load them here: else each child does, which takes longer than what it runs."""
    import_module("ai_edge_litert.interpreter")
    import_module("tflite_micro.python.tflite_micro.runtime")


def in_child(task: Callable[[], Any]) -> tuple[str, Any]:
    """What a task gives, or how its process ended."""
    _load_runtimes()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result"
        child = os.fork()
        if child == 0:
            signal.alarm(RUN_SECONDS)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            try:
                result: tuple[str, Any] = ("", task())
            except CannotRunError as error:
                result = (f"refuses: {error}", None)
            except BaseException as error:
                result = (f"{type(error).__name__}: {error}", None)
            path.write_bytes(pickle.dumps(result))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status or not path.exists():
            return f"crashes ({os.waitstatus_to_exitcode(status)})", None
        return pickle.loads(path.read_bytes())


def _difference(ours: list[list[np.ndarray]], theirs: list[list[np.ndarray]]) -> str:
    """What the reference gives that we do not, if anything."""
    for run, (actual, expected) in enumerate(zip(ours, theirs, strict=True)):
        for output, (mine, value) in enumerate(zip(actual, expected, strict=True)):
            if mine.shape != value.shape or mine.dtype != value.dtype:
                return f"{DIFFERS}: output {output} is {value.dtype}{value.shape}"
            if value.dtype.kind == "f":
                # What is no number has no one answer: a maximum of it and 0 may be either.
                known = np.isfinite(value)
                same = np.allclose(mine[known], value[known], rtol=1e-4, atol=1e-5)
            else:
                same = mine.tobytes() == value.tobytes()
            if not same:
                at = np.flatnonzero(mine.ravel() != value.ravel())[:6]
                return (
                    f"{DIFFERS}: run {run}, output {output}: {value.ravel()[at].tolist()} for "
                    f"{mine.ravel()[at].tolist()} at {at.tolist()}"
                )
    return ""
