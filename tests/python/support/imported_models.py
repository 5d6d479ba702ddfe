"""Models of the catalog, each imported once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tvm.ir import IRModule

import usmp
from support.quantized_models import CATALOG, QuantizedModel


@cache
def imported(model: QuantizedModel) -> IRModule:
    """The Relax module of a model file, which passes leave as it is."""
    with TemporaryDirectory() as directory:
        path = Path(directory) / "model.tflite"
        path.write_bytes(model.make())
        return usmp.import_model(path)


def imported_model(name: str) -> IRModule:
    """The same, of the model of that name."""
    return imported(next(model for model in CATALOG if model.name == name))
