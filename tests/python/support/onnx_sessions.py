"""Sessions of onnxruntime whose results are the same on every processor.

x86 without VNNI adds two products of uint8 and int8 in 16 bits with saturation, and onnxruntime
uses that (its document on quantization, "U8S8"). It multiplies uint8 and uint8 exactly.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from support.lazy import lazy

onnx = lazy("onnx")
onnxruntime = lazy("onnxruntime")
helper = lazy("onnx.helper")
numpy_helper = lazy("onnx.numpy_helper")

OPERANDS = {
    "ConvInteger": (0, 1, 3),
    "DynamicQuantizeMatMul": (None, 1, 3),
    "MatMulInteger": (0, 1, 3),
    "MatMulIntegerToFloat": (0, 1, 5),
    "QGemm": (0, 3, 5),
    "QLinearConv": (0, 3, 5),
    "QLinearMatMul": (0, 3, 5),
}
"""Where the activations (None: uint8, as the operator quantizes them), the weights and the zero
point of these are among the inputs of an operator."""


def session_of(content: bytes) -> onnxruntime.InferenceSession:
    """Make a session of a model's content, without optimizations."""
    options = _options()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return _session(unsigned_weights(content), options)


def optimized_session(model: Path) -> onnxruntime.InferenceSession:
    """Make a session of a model's file, with all optimizations."""
    options = _options()
    # What `unsigned_weights` does, by onnxruntime's optimizer.
    options.add_session_config_entry("session.x64quantprecision", "1")
    return _session(model, options)


def _options() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return options


def _session(
    model: bytes | Path, options: onnxruntime.SessionOptions
) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def unsigned_weights(content: bytes) -> bytes:
    """Shift constant int8 weights of uint8 activations to uint8, with their zero points."""
    model = onnx.ModelProto.FromString(content)
    graph = model.graph
    constants = {tensor.name: tensor for tensor in graph.initializer}
    types = _element_types(model)
    for index, node in enumerate(graph.node):
        activations, weights, zero_point = OPERANDS.get(node.op_type, (None, None, None))
        if weights is None or len(node.input) <= weights:
            continue
        signed = constants.get(node.input[weights])
        if signed is None or signed.data_type != onnx.TensorProto.INT8:
            continue
        if activations is not None and types.get(node.input[activations]) != "uint8":
            continue
        node.input.extend([""] * (zero_point + 1 - len(node.input)))
        zero = constants.get(node.input[zero_point])
        if zero is None and node.input[zero_point]:
            continue
        shifts = {
            weights: numpy_helper.to_array(signed),
            zero_point: np.array(0, np.int8) if zero is None else numpy_helper.to_array(zero),
        }
        for position, values in shifts.items():
            name = f"unsigned_{index}_{position}"
            shifted = (values.astype(np.int16) + 128).astype(np.uint8)
            graph.initializer.append(numpy_helper.from_array(shifted, name))
            node.input[position] = name
    return model.SerializeToString()


def _element_types(model: onnx.ModelProto) -> dict[str, str]:
    graph = onnx.shape_inference.infer_shapes(model).graph
    values = [*graph.input, *graph.value_info, *graph.output]
    found = {value.name: value.type.tensor_type.elem_type for value in values}
    found |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    return {
        name: str(helper.tensor_dtype_to_np_dtype(kind)) for name, kind in found.items() if kind
    }
