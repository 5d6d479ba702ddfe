"""External data of an ONNX model: tensor values in other files of the model's folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from google.protobuf.message import Message
from onnx import ModelProto, TensorProto

from usmp.relax.limits import Limits
from usmp.support.errors import UnsupportedModelError


def load_external_data(model: ModelProto, folder: Path, limits: Limits) -> None:
    """Read the external data of all tensors into `model`.

    Raises
    ------
    UnsupportedModelError
        a file does not exist, its resolved path is outside of `folder`, it is too short, or the
        constants exceed `limits`.
    """
    read_bytes = 0
    for tensor in _tensors(model):
        if tensor.data_location == TensorProto.EXTERNAL:
            file, offset, length = _location(tensor, folder)
            read_bytes += length
            limits.check_constants(read_bytes, f'"{tensor.name}"')
            tensor.raw_data = _content(file, offset, length)
            tensor.ClearField("external_data")
            tensor.ClearField("data_location")


def _tensors(message: Message) -> Iterator[TensorProto]:
    """Yield all tensors in a message, also those of nested graphs and functions."""
    if isinstance(message, TensorProto):
        yield message
        return
    for descriptor, value in message.ListFields():
        if descriptor.type == descriptor.TYPE_MESSAGE:
            for inner in [value] if isinstance(value, Message) else value:
                yield from _tensors(inner)


def _location(tensor: TensorProto, folder: Path) -> tuple[Path, int, int]:
    """Return the file of a tensor's values, their first byte, and their number of bytes."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    values = f'the values of initializer "{tensor.name}" are in the file "{location}"'
    try:
        path = (folder / location).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise UnsupportedModelError(
                f"{values}, which is outside of the model's folder, {folder}; put it there, and "
                "export the model with that place"
            )
        if not path.is_file():
            raise UnsupportedModelError(
                f"{values}, which is not in {folder}; put it beside the model"
            )
        size = path.stat().st_size
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", size - offset))
    except UnsupportedModelError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        # The name may be invalid, or links may form a cycle.
        raise UnsupportedModelError(f"{values}, which cannot be read: {error}") from error
    if not 0 <= offset <= offset + length <= size:
        raise UnsupportedModelError(
            f"{values}, {length} bytes from byte {offset}; it has {size} bytes"
        )
    return path, offset, length


def _content(path: Path, offset: int, length: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(length)
    except OSError as error:
        raise UnsupportedModelError(f"{path} cannot be read: {error.strerror}") from error
