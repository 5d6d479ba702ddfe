"""tflite-micro with its reference kernels: what quantized outputs must equal."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np

import usmp
from support.tflite_tensors import graph_tensors, random_inputs
from usmp.runtime import HostModule

ARENA_BYTES = 4 << 20


class CannotRunError(RuntimeError):
    """tflite-micro does not run the model, for the reason it printed."""


class Micro:
    """A model in tflite-micro; state is kept from one run to the next.

    Raises
    ------
    CannotRunError
        tflite-micro lacks an operator or refuses an option.
    """

    def __init__(self, model: Path | bytes, arena_bytes: int = ARENA_BYTES) -> None:
        content = model if isinstance(model, bytes) else model.read_bytes()
        from tflite_micro.python.tflite_micro.runtime import Interpreter

        self.inputs, self.outputs = graph_tensors(content)
        with _reason_from_stderr("prepare"):
            self._interpreter = Interpreter.from_bytes(content, arena_size=arena_bytes)

    def random_inputs(self, seed: int) -> dict[str, np.ndarray]:
        """Normal floats; integers from the whole range of their type."""
        return random_inputs(self.inputs, seed)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs by name."""
        outputs = self.run_in_order([inputs[tensor.name] for tensor in self.inputs])
        return {t.name: output for t, output in zip(self.outputs, outputs, strict=True)}

    def run_in_order(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The outputs in the order of the model."""
        for index, value in enumerate(inputs):
            self._interpreter.set_input(value, index)
        with _reason_from_stderr("run"):
            self._interpreter.invoke()
        return [self._interpreter.get_output(index) for index in range(len(self.outputs))]

    def head_bytes(self) -> int:
        """The part of the arena in which tensors and scratch memory share bytes; after a run."""
        with _stderr() as read:
            self._interpreter.print_allocations()
            (head,) = re.findall(r"Arena allocation head (\d+) bytes", read())
        return int(head)


def assert_equals_micro(
    model: usmp.AOTExecutorFactoryModule | HostModule, content: bytes, runs: int, entry: str = ""
) -> None:
    """Byte for byte on random inputs, from the first run on: state is what it is at first."""
    reference = Micro(content)
    run = functools.partial(model.run, entry=entry) if entry else model.run
    for seed in range(runs):
        inputs = reference.random_inputs(seed)
        actual, expected = run(inputs), reference.run(inputs)
        assert {k: v.tobytes() for k, v in actual.items()} == {
            k: v.tobytes() for k, v in expected.items()
        }


@contextlib.contextmanager
def _reason_from_stderr(task: str) -> Iterator[None]:
    """Turn what the library writes to the C stderr into the text of an error."""
    with _stderr() as read:
        try:
            yield
        except RuntimeError as error:
            reason = " ".join(read().split())
            raise CannotRunError(f"tflite-micro cannot {task} the model: {reason}") from error


@contextlib.contextmanager
def _stderr() -> Iterator[Callable[[], str]]:
    """Keep what is written to the C stderr; what is yielded reads it."""
    text, kept = _text(), os.dup(2)
    text.seek(0)
    text.truncate()
    os.dup2(text.fileno(), 2)

    def read() -> str:
        text.seek(0)
        return text.read().decode(errors="replace")

    try:
        yield read
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@functools.cache
def _text() -> IO[bytes]:
    return tempfile.TemporaryFile()
