"""Which versions of the ONNX operators are taken, and how."""

from __future__ import annotations

from collections.abc import Iterable

import onnx
from onnx import version_converter

from usmp.frontend.onnx.graph.error_message import message_of
from usmp.frontend.onnx.graph.nodes import ONNX_DOMAINS
from usmp.support.errors import UnsupportedModelError

OLDEST_OPSET, NEWEST_OPSET = 7, 28
"""Of the versions of ONNX whose operators were compared; in others they may mean something else."""


def opset_version(model: onnx.ModelProto) -> int:
    """The version of the ONNX operators that the model uses."""
    return imported_version(model.opset_import)


def imported_version(opsets: Iterable[onnx.OperatorSetIdProto]) -> int:
    """Return the version of the ONNX operators among those of all domains."""
    return int(next((o.version for o in opsets if o.domain in ONNX_DOMAINS), 1))


def to_compared_opset(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model in an opset whose operators were compared: one that is older is converted by ONNX.

    Raises
    ------
    UnsupportedModelError
        the model is newer, or cannot be converted.
    """
    version = opset_version(model)
    if version > NEWEST_OPSET:
        raise UnsupportedModelError(
            f"the model uses version {version} of the ONNX operators; the newest that was compared "
            f"with onnxruntime is {NEWEST_OPSET}: export it with opset {NEWEST_OPSET} or older"
        )
    if version >= OLDEST_OPSET:
        return model
    try:
        return version_converter.convert_version(model, OLDEST_OPSET)
    except Exception as error:
        raise UnsupportedModelError(
            f"the model uses version {version} of the ONNX operators, which cannot be converted to "
            f"version {OLDEST_OPSET} ({message_of(error)}); export it with opset {OLDEST_OPSET} or "
            "newer"
        ) from error
