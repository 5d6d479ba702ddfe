"""Values that an ONNX model keeps in other files, which may only lie in the model's folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from google.protobuf.message import Message
from onnx import ModelProto, TensorProto

from usmp.relax.limits import Limits
from usmp.support.errors import UnsupportedModelError


def load_external_data(model: ModelProto, folder: Path, limits: Limits) -> None:
    """Read the values of all tensors that are in other files, wherever in the model they stand.

    Raises
    ------
    UnsupportedModelError
        a file is not there, not in `folder` as the file system resolves its
        path, or shorter than the tensor says, or all values take more than they may.
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
    """Initializers, attributes, and those of functions, graphs in graphs, and sparse tensors."""
    if isinstance(message, TensorProto):
        yield message
        return
    for descriptor, value in message.ListFields():
        if descriptor.type == descriptor.TYPE_MESSAGE:
            for inner in [value] if isinstance(value, Message) else value:
                yield from _tensors(inner)


def _location(tensor: TensorProto, folder: Path) -> tuple[Path, int, int]:
    """The file, the first byte, and the number of bytes of the values."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    what = f'the values of initializer "{tensor.name}" are in the file "{location}"'
    try:
        path = (folder / location).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise UnsupportedModelError(
                f"{what}, which is outside of the model's folder, {folder}; put it there, and "
                "export the model with that place"
            )
        if not path.is_file():
            raise UnsupportedModelError(
                f"{what}, which is not in {folder}; put it beside the model"
            )
        size = path.stat().st_size
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", size - offset))
    except UnsupportedModelError:
        raise
    except (OSError, ValueError, RuntimeError) as error:
        # Such as a name that no file can have, or links in a circle.
        raise UnsupportedModelError(f"{what}, which cannot be read: {error}") from error
    if not 0 <= offset <= offset + length <= size:
        raise UnsupportedModelError(
            f"{what}, {length} bytes from byte {offset}; it has {size} bytes"
        )
    return path, offset, length


def _content(path: Path, offset: int, length: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(length)
    except OSError as error:
        raise UnsupportedModelError(f"{path} cannot be read: {error.strerror}") from error
