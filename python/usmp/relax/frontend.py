"""Model files to Relax modules, one function a format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tvm.ir import IRModule

from usmp.objects.errors import UnsupportedModelError


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
    path = Path(path)
    importer = _IMPORTERS.get(path.suffix.lower())
    if importer is None:
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
        return importer(content)
    except UnsupportedModelError as error:
        raise UnsupportedModelError(f"{path}: {error}") from error


def _import_tflite(content: bytes) -> IRModule:
    from usmp.relax.import_tflite import import_tflite

    return import_tflite(content)


_IMPORTERS: dict[str, Callable[[bytes], IRModule]] = {".tflite": _import_tflite}
