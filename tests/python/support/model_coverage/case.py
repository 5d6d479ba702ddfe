"""Model files, and the inputs and outputs that lie beside some of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from support.lazy import lazy

onnx = lazy("onnx")
numpy_helper = lazy("onnx.numpy_helper")

ENDINGS = (".tflite", ".onnx", ".pt2")


@dataclass(frozen=True)
class DataSet:
    """Arrays in the order of the model's inputs and outputs."""

    inputs: tuple[np.ndarray, ...]
    outputs: tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Case:
    """A model file.

    Parameters
    ----------
    name
        for the table.
    path
        of the file.
    data
        what its outputs must be; without any, a runtime says it for random inputs.
    """

    name: str
    path: Path
    data: tuple[DataSet, ...] = ()


def cases_of(paths: Iterable[Path]) -> Iterator[Case]:
    """The models among the files and in the folders, and in the folders in these.

    Beside an ONNX model may lie folders `test_data_set_*`, as in the model zoo of ONNX.
    """
    for path in paths:
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        for file in found:
            if file.suffix in ENDINGS and file.is_file():
                name = file.name if file == path else str(file.relative_to(path))
                yield Case(name, file, tuple(_data_sets(file)))


def _data_sets(model: Path) -> Iterator[DataSet]:
    if model.suffix != ".onnx":
        return
    for folder in sorted(model.parent.glob("test_data_set_*")):
        inputs, outputs = (tuple(_tensors(folder, kind)) for kind in ("input", "output"))
        if outputs:
            yield DataSet(inputs, outputs)


def _tensors(folder: Path, kind: str) -> Iterator[np.ndarray]:
    for number in range(len(list(folder.glob(f"{kind}_*.pb")))):
        tensor = onnx.TensorProto()
        tensor.ParseFromString((folder / f"{kind}_{number}.pb").read_bytes())
        yield numpy_helper.to_array(tensor)
