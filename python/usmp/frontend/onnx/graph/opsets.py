"""The supported opsets of ONNX, and the conversion of older models."""

from __future__ import annotations

from collections.abc import Iterable

import onnx
from onnx import version_converter

from usmp.frontend.onnx.graph.error_message import message_of
from usmp.frontend.onnx.graph.nodes import ONNX_DOMAINS
from usmp.support.errors import UnsupportedModelError

OLDEST_OPSET, NEWEST_OPSET = 7, 28
"""The opsets with tested operators; in other opsets operators may have other semantics."""


def opset_version(model: onnx.ModelProto) -> int:
    """Return the model's version of the ONNX operators."""
    return imported_version(model.opset_import)


def imported_version(opsets: Iterable[onnx.OperatorSetIdProto]) -> int:
    """Return the version of ONNX's own operators among the opsets of all domains."""
    return int(next((o.version for o in opsets if o.domain in ONNX_DOMAINS), 1))


def to_compared_opset(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model in a tested opset: ONNX converts models of an older opset.

    Raises
    ------
    UnsupportedModelError
        the model's opset is newer, or ONNX cannot convert the model.
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
