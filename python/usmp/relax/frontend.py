"""Model files to Relax modules, one function a format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from tvm.ir import IRModule

from usmp.distribution import EXTRAS, install_command
from usmp.objects.errors import UnsupportedModelError
from usmp.relax.torch_cache import without_torch_cache

Model = TypeVar("Model")
"""What a reader makes of a model."""


def import_model(path: str | Path) -> IRModule:
    """Read a model file; the ending of its name tells the format.

    Returns
    -------
    A module with a Relax `main`, its weights as constants, its outputs named by the attribute
    `output_names`.

    Raises
    ------
    UnsupportedModelError: the file is missing, empty, damaged or of an unknown format, or the
        model has an operator that cannot be imported.
    """
    return read_model_file(path, _IMPORTERS)


def read_model_file(
    path: str | Path, readers: Mapping[str, Callable[[bytes, Path], Model]]
) -> Model:
    """What the reader for the ending of a file makes of its content and its folder.

    Raises
    ------
    UnsupportedModelError: the file is missing, empty, damaged or of an unknown format, or the
        reader raised one; or a package that it needs is missing.
    """
    path = Path(path)
    reader = readers.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(_IMPORTERS)
        raise UnsupportedModelError(
            f'{path}: unknown model format "{path.suffix}"; supported: {known}'
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UnsupportedModelError(f"{path}: {error.strerror}") from error
    if not content:
        raise UnsupportedModelError(f"{path}: the file is empty")
    try:
        return reader(content, path.parent)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        raise UnsupportedModelError(
            f"{path}: the package {error.name} is needed to read {path.suffix.lower()} files; "
            f"install it with: {install_command(error.name)}"
        ) from error
    except UnsupportedModelError as error:
        raise UnsupportedModelError(f"{path}: {error}") from error


def _import_tflite(content: bytes, folder: Path) -> IRModule:
    from usmp.relax.import_tflite import import_tflite

    return import_tflite(content)


def _import_onnx(content: bytes, folder: Path) -> IRModule:
    from usmp.relax.import_onnx import import_onnx

    return import_onnx(content, folder)


def _import_pytorch(content: bytes, folder: Path) -> IRModule:
    with without_torch_cache():
        from usmp.relax.import_pytorch import import_pytorch

        return import_pytorch(content)


_IMPORTERS: dict[str, Callable[[bytes, Path], IRModule]] = {
    ".tflite": _import_tflite,
    ".onnx": _import_onnx,
    ".pt2": _import_pytorch,
}
"""By the ending of the file's name. Each takes the content and the folder of the file, and loads
what only it needs."""
