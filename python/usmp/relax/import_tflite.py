"""TFLite flatbuffers to Relax, through TVM's importer."""

from __future__ import annotations

import struct

import tflite
from tvm.ir import IRModule
from tvm.relax.frontend.tflite import from_tflite

from usmp.objects.errors import UnsupportedModelError
from usmp.relax.frontend import OUTPUT_NAMES_ATTR

_IDENTIFIER = b"TFL3"
_OFFSET_BYTES = 4


def import_tflite(content: bytes) -> IRModule:
    """Import a `.tflite` file with one subgraph.

    Raises
    ------
    UnsupportedModelError: the content is damaged or not TFLite, an input has a dynamic shape, or
        an operator cannot be imported.
    """
    if content[4:8] != _IDENTIFIER:
        raise UnsupportedModelError(
            f"not a TFLite model: bytes 4 to 7 are {content[4:8]!r}, not {_IDENTIFIER!r}"
        )
    try:
        model = tflite.Model.GetRootAsModel(content, 0)
        graph = _subgraph(model, len(content))
        _check_input_shapes(graph)
        names = [_name(graph, int(graph.Outputs(i))) for i in range(graph.OutputsLength())]
    except UnsupportedModelError:
        raise
    except (struct.error, IndexError, ValueError, TypeError, AttributeError) as error:
        raise UnsupportedModelError(f"the file is damaged or truncated ({error})") from error
    try:
        mod = from_tflite(model)
    except (struct.error, IndexError) as error:
        raise UnsupportedModelError(f"the file is damaged or truncated ({error})") from error
    except Exception as error:
        # TVM's importer raises many kinds of exceptions; each means that it cannot import this.
        raise UnsupportedModelError(f"TVM's TFLite importer failed: {_one_line(error)}") from error
    mod.update_func(mod.get_global_var("main"), mod["main"].with_attr(OUTPUT_NAMES_ATTR, names))
    return mod


def _subgraph(model: tflite.Model, size: int) -> tflite.SubGraph:
    """The only subgraph, if the counts in the file are possible in a file of `size` bytes."""
    if model.SubgraphsLength() != 1:
        raise UnsupportedModelError(
            f"the model has {model.SubgraphsLength()} subgraphs; exactly one is supported"
        )
    graph = model.Subgraphs(0)
    counts = {
        "tensors": graph.TensorsLength(),
        "operators": graph.OperatorsLength(),
        "inputs": graph.InputsLength(),
        "outputs": graph.OutputsLength(),
        "buffers": model.BuffersLength(),
        "operator codes": model.OperatorCodesLength(),
    }
    for what, count in counts.items():
        if count * _OFFSET_BYTES > size:
            raise UnsupportedModelError(f"the file is damaged: {count} {what} in {size} bytes")
    for what in ("operators", "inputs", "outputs"):
        if counts[what] == 0:
            raise UnsupportedModelError(f"the model has no {what}")
    return graph


def _check_input_shapes(graph: tflite.SubGraph) -> None:
    """A dynamic batch is taken as the batch that the file gives; nothing else may be dynamic."""
    for i in range(graph.InputsLength()):
        index = int(graph.Inputs(i))
        tensor = graph.Tensors(index)
        shape = [tensor.Shape(d) for d in range(tensor.ShapeLength())]
        signature = [tensor.ShapeSignature(d) for d in range(tensor.ShapeSignatureLength())]
        if any(extent < 0 for extent in signature[1:]) or any(extent <= 0 for extent in shape):
            raise UnsupportedModelError(
                f'input "{_name(graph, index)}" has a dynamic shape, {signature or shape}; memory '
                "is planned at compile time: convert the model with fixed input shapes"
            )


def _name(graph: tflite.SubGraph, index: int) -> str:
    name = graph.Tensors(index).Name()
    return name.decode("utf-8", errors="replace") if name else f"tensor_{index}"


def _one_line(error: Exception) -> str:
    """The part of an error that a user can do something with."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines[:3]) or type(error).__name__
    return text[:400]
