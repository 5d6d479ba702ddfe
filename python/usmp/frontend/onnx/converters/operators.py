"""The supported ONNX operators and their converters.

The results of each operator are tested against onnxruntime, or against ONNX's evaluator where
onnxruntime has no kernel. Untested operators are refused, because TVM computes several of them
wrongly. CONTRIBUTING.md describes how to add an operator.
"""

from __future__ import annotations

import operator
from functools import partial

from tvm import relax

from usmp.frontend.onnx.converters import (
    arrangement,
    blocked_quantization,
    element_wise,
    indexing,
    quantization,
    recurrent,
    refusals,
    regions,
    resize,
    spectra,
    top_k,
)
from usmp.frontend.onnx.converters.max_pool import max_pool
from usmp.frontend.onnx.converters.qlinear_softmax import qlinear_softmax
from usmp.frontend.onnx.converters.reductions import lp_normalization, reduction
from usmp.frontend.onnx.graph.node import Converted, Converter, OnnxNode
from usmp.frontend.onnx.graph.refused import refusal_of
from usmp.ops.real.order import extreme_of_two

_REDUCTIONS = """ReduceMax ReduceMin ReduceSum ReduceMean ReduceProd ReduceLogSumExp ReduceLogSum
ReduceSumSquare ReduceL1 ReduceL2""".split()

_CONVERTERS: dict[str, Converter] = {
    "BatchNormalization": refusals.batch_normalization,
    "BitCast": element_wise.bit_cast,
    "BitShift": element_wise.bit_shift,
    "Celu": element_wise.celu,
    "Clip": element_wise.clip,
    "Compress": arrangement.compress,
    "ConvInteger": quantization.convolution_of_integers,
    "CumProd": arrangement.cumulative(operator.mul, 1),
    "CumSum": arrangement.cumulative(operator.add, 0),
    "DFT": spectra.discrete_fourier_transform,
    "DequantizeLinear": blocked_quantization.dequantize_linear,
    "Div": element_wise.divide,
    "Dropout": element_wise.dropout,
    "DynamicQuantizeLinear": quantization.dynamic_quantize_linear,
    "EyeLike": arrangement.eye_like,
    "GRU": recurrent.gru,
    "Gather": indexing.gather,
    "GatherElements": indexing.gather_elements,
    "GatherND": indexing.gather_nd,
    "Gemm": element_wise.gemm,
    "IsInf": element_wise.is_infinite,
    "LRN": refusals.local_response_normalization,
    "LSTM": recurrent.lstm,
    "LayerNormalization": refusals.layer_normalization,
    "LpNormalization": lp_normalization,
    "MatMulInteger": quantization.product_of_integers,
    "Max": element_wise.of_each_input(partial(extreme_of_two, is_largest=True)),
    "MaxPool": max_pool,
    "Mean": element_wise.mean,
    "MelWeightMatrix": spectra.mel_weight_matrix,
    "Min": element_wise.of_each_input(partial(extreme_of_two, is_largest=False)),
    "Mod": element_wise.modulo,
    "OneHot": arrangement.one_hot_vectors,
    "Pad": arrangement.pad,
    "Pow": element_wise.power,
    "QuantizeLinear": blocked_quantization.quantize_linear,
    "RNN": recurrent.rnn,
    "Resize": resize.resize,
    "RoiAlign": regions.roi_align,
    "Scatter": indexing.scatter_elements,
    "ScatterElements": indexing.scatter_elements,
    "ScatterND": indexing.scatter_nd,
    "STFT": spectra.short_time_fourier_transform,
    "SequenceInsert": arrangement.sequence_insert,
    "Shrink": element_wise.shrink,
    "Slice": arrangement.slice_,
    "SpaceToDepth": arrangement.space_to_depth,
    "SplitToSequence": arrangement.split_to_sequence,
    "Squeeze": arrangement.with_list_of_axes,
    "Sum": element_wise.of_each_input(relax.op.add),
    "TensorScatter": arrangement.tensor_scatter,
    "ThresholdedRelu": element_wise.thresholded_relu,
    "TopK": top_k.top_k,
    "Trilu": arrangement.triangle,
    "Unsqueeze": arrangement.with_list_of_axes,
    "Upsample": resize.upsample,
    "com.microsoft.EmbedLayerNormalization": indexing.embed,
    "com.microsoft.QLinearSoftmax": qlinear_softmax,
    **{name: reduction(name) for name in _REDUCTIONS},
}


_BY_TVM = frozenset(
    """
    Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BitwiseAnd
    BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Concat ConcatFromSequence Constant
    ConstantOfShape Conv ConvTranspose Cos Cosh DepthToSpace Einsum Elu Equal Erf Exp Expand
    Flatten Floor Gelu GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual
    GridSample GroupNormalization HardSigmoid HardSwish Hardmax Identity If InstanceNormalization
    IsNaN LeakyRelu Less LessOrEqual Log LogSoftmax Loop LpPool MatMul MeanVarianceNormalization
    Mish Mul Neg Not Optional OptionalGetElement OptionalHasElement Or PRelu QLinearConv
    QLinearMatMul RMSNormalization Range Reciprocal Relu Reshape Round Scan Selu SequenceAt
    SequenceConstruct SequenceEmpty SequenceErase SequenceLength Shape Sigmoid Sign Sin Sinh Size
    Softmax Softplus Softsign Split Sqrt Sub Tan Tanh Tile Transpose Where Xor
    """.split()
)
"""ONNX operators that TVM's importer converts correctly."""

_MICROSOFT_BY_TVM = frozenset(
    """
    Attention BiasGelu DequantizeLinear DynamicQuantizeMatMul FastGelu Gelu MatMulInteger16
    MatMulIntegerToFloat QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearGlobalAveragePool
    QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearWhere QuantizeLinear SkipLayerNormalization
    """.split()
)
"""Operators of onnxruntime that TVM's importer or a rewrite of the graph converts."""

WRITTEN_OUT = frozenset(
    """
    Attention BlackmanWindow CausalConvWithState CenterCropPad HammingWindow HannWindow
    LinearAttention NegativeLogLikelihoodLoss RotaryEmbedding SoftmaxCrossEntropyLoss SwiGLU Swish
    """.split()
)
"""Operators that are expanded into the functions by which ONNX defines them."""

COMPARED = (
    _CONVERTERS.keys() | _BY_TVM | WRITTEN_OUT | {f"com.microsoft.{n}" for n in _MICROSOFT_BY_TVM}
)
"""All supported operators, named as `qualified_name` returns them."""


def why_refused(operator: str) -> str | None:
    """Return the reason why an operator is not supported once functions are expanded, or None.

    Parameters
    ----------
    operator
        the name as in `COMPARED`.
    """
    if operator in WRITTEN_OUT:
        return (
            ": by what other operators it is computed depends on the types of its inputs, which "
            "ONNX does not infer; save the model with the types of its tensors"
        )
    return None if operator in COMPARED else f": {refusal_of(operator)}"


def convert_operator(name: str, node: OnnxNode) -> Converted:
    """Convert an ONNX operator to a Relax expression, or to a node for TVM's converter; None means
    that TVM converts the node unchanged.

    Raises
    ------
    NotSupported
        the operator has an option that is not supported.
    """
    converter = _CONVERTERS.get(name)
    return converter(node) if converter else None
