"""The runtimes that model files are made for."""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

Run = Callable[[Sequence[np.ndarray]], list[np.ndarray]]
"""One run: inputs and outputs in the order of the model. State is kept to the next."""

EntryRun = Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
"""The same by names."""

_ARENA_BYTES = 256 << 20


def entry_reference(model: Path, entry: str) -> EntryRun:
    """LiteRT at one of the signatures of a file."""
    from support.litert import SignatureReference

    reference = SignatureReference(model.read_bytes())
    (key,) = (k for k in reference.keys if re.sub(r"[^A-Za-z0-9]", "_", k).lstrip("_") == entry)
    return functools.partial(reference.run, key)


def references(model: Path) -> Iterator[tuple[str, Callable[[], Run]]]:
    """The runtimes for a file, best first: their names, and what loads the file into them."""
    if model.suffix == ".tflite":
        yield "TFLite Micro", lambda: _tflite_micro(model)
        yield "LiteRT", lambda: _litert(model)
    elif model.suffix == ".onnx":
        yield "onnxruntime", lambda: _onnxruntime(model)
        yield "ONNX's evaluator", lambda: _evaluator(model)
    elif importlib.util.find_spec("torch") is not None:
        yield "PyTorch", lambda: _pytorch(model)


def _tflite_micro(model: Path) -> Run:
    from support.micro import Micro

    return Micro(model, _ARENA_BYTES).run_in_order


def _litert(model: Path) -> Run:
    from support.litert import Reference

    return Reference(model).run_in_order


def _onnxruntime(model: Path) -> Run:
    from support.onnx_sessions import optimized_session

    session = optimized_session(model)
    names = [tensor.name for tensor in session.get_inputs()]

    def run(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        return list(session.run(None, dict(zip(names, inputs, strict=True))))

    return run


def _evaluator(model: Path) -> Run:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(str(model))

    def run(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        feeds = dict(zip(evaluator.input_names, inputs, strict=True))
        return [np.asarray(output) for output in evaluator.run(None, feeds)]

    return run


def _pytorch(model: Path) -> Run:
    import torch
    from torch.utils import _pytree as pytree

    module = torch.export.load(model).module()

    def run(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        with torch.no_grad():
            outputs = module(*map(torch.from_numpy, inputs))
        return [tensor.numpy() for tensor in pytree.tree_leaves(outputs)]

    return run
