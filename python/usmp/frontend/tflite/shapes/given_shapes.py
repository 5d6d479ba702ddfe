"""TFLite files whose inputs get other shapes than the file has.

Where an extent may differ from run to run, a tensor has -1 in its `shape_signature`, and the extent
of one run in its `shape`. If inputs have several dynamic sizes, the file does not say which of them
a -1 inside the model is. So all sizes must get the same value. Where another value follows from the
inputs, `open_shapes` finds it later.
"""

from __future__ import annotations

from collections.abc import Iterator

import tflite

from usmp.frontend.dynamic_sizes import AskedSizes
from usmp.frontend.input_shapes import Extents, sizes_of_shapes
from usmp.frontend.tflite.file.read import READER_ERRORS, vector
from usmp.frontend.tflite.file.signatures import inputs_of, signatures_of
from usmp.support.errors import UnsupportedModelError


def with_given_shapes(content: bytes, asked: AskedSizes) -> bytes:
    """Return the file with the requested size in the open extents of all its tensors, or unchanged
    if it is damaged, because `check_tflite` reports the damage.

    Raises
    ------
    ValueError
        `asked` names no input of the model, or a shape that the input cannot have, or gives the
        sizes several values.
    UnsupportedModelError
        two tensors share a stored shape, and one of them leaves fewer extents open.
    """
    try:
        model = tflite.Model.GetRootAsModel(content, 0)
        entries = list(_shapes(model))
    except (UnsupportedModelError, *READER_ERRORS):
        return content
    asked.known_inputs += [name for shapes in entries for name in shapes]
    asked.read_sizes([])
    values = {
        value
        for shapes in entries
        for value in sizes_of_shapes(shapes, asked.input_shapes).values()
    }
    if len(values) > 1:
        listed = ", ".join(map(str, sorted(values)))
        raise ValueError(
            "a .tflite file does not say which of the sizes that its inputs leave open a tensor "
            f"inside has, so that all must have one value, and not {listed}; convert the model "
            "with fixed input shapes"
        )
    return _with_size(content, values.pop()) if values else content


def _shapes(model: tflite.Model) -> Iterator[dict[str, Extents]]:
    """Yield each signature's input shapes; an open extent is named after its input and axis."""
    for signature in signatures_of(model):
        graph = model.Subgraphs(signature.graph)
        shapes: dict[str, Extents] = {}
        for name, index in inputs_of(model, signature):
            extents = zip(*_extents(graph.Tensors(index)), strict=False)
            shapes[name] = [
                f"{name}_{axis}" if is_open else extent
                for axis, (extent, is_open) in enumerate(extents)
            ]
        yield shapes


def _extents(tensor: tflite.Tensor) -> tuple[list[int], list[bool]]:
    """Return the extents in the file, and for each whether it is open."""
    shape, signature = vector(tensor, "Shape"), vector(tensor, "ShapeSignature")
    if len(shape) != len(signature):
        return shape, [False] * len(shape)
    return shape, [extent == -1 for extent in signature]


def _with_size(content: bytes, size: int) -> bytes:
    """Return the file with `size` in each open extent."""
    changed = bytearray(content)
    model = tflite.Model.GetRootAsModel(changed, 0)
    tensors = {
        (number, index): model.Subgraphs(number).Tensors(index)
        for number in range(model.SubgraphsLength())
        for index in range(model.Subgraphs(number).TensorsLength())
    }
    inputs = {
        (signature.graph, index)
        for signature in signatures_of(model)
        for _, index in inputs_of(model, signature)
    }
    extents = [_extents(tensor) for tensor in tensors.values()]
    for (place, tensor), (_, left_open) in zip(tensors.items(), extents, strict=True):
        for axis, is_open in enumerate(left_open):
            if is_open:
                # The arrays are views of `changed`, so that this writes the file.
                tensor.ShapeAsNumpy()[axis] = size
                if place in inputs:
                    tensor.ShapeSignatureAsNumpy()[axis] = size
    for tensor, (shape, left_open) in zip(tensors.values(), extents, strict=True):
        wanted = [
            size if is_open else extent for extent, is_open in zip(shape, left_open, strict=True)
        ]
        if vector(tensor, "Shape") != wanted:
            raise UnsupportedModelError(
                "two tensors of the file share a shape of which one leaves extents open; convert "
                "the model with fixed input shapes"
            )
    return bytes(changed)
