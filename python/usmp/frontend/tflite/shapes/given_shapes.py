"""TFLite files whose inputs are given other shapes than the file has for them.

Where a shape may differ from run to run, a file has -1 in its `shape_signature`, in tensors inside
the model, too, and in `shape` the extents of one run. It does not say which of several sizes a -1
inside is, so that all of them are given one value. Where another one follows from the inputs, that
is found later (`open_shapes`).
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
    """The file with the shapes that are asked for, in all its tensors; as it is if it is damaged,
    of which others say how.

    Raises
    ------
    ValueError
        an input that is asked for is none of the model, or cannot have the shape, or the sizes
        would have several values.
    UnsupportedModelError
        two tensors share a shape and differ in what it leaves open.
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
    """The shapes of the inputs, of each signature; an extent that is left open is called as the
    input and the axis."""
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
    """The extents in the file, and which of them are left open."""
    shape, signature = vector(tensor, "Shape"), vector(tensor, "ShapeSignature")
    if len(shape) != len(signature):
        return shape, [False] * len(shape)
    return shape, [extent == -1 for extent in signature]


def _with_size(content: bytes, size: int) -> bytes:
    """The file with `size` in each extent that is left open."""
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
                # These are views of the content.
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
