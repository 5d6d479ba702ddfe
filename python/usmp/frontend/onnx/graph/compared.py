"""The ONNX operators whose results were compared with those of onnxruntime, or where that has no
kernel with those of ONNX's own evaluator.

Others that TVM can import are refused: several that it imports it computes wrongly. How to add one
is in docs/onnx-operators.md.
"""

from __future__ import annotations

from usmp.frontend.onnx.graph.refused import refusal_of

OLDEST_OPSET, NEWEST_OPSET = 7, 28
"""In other versions of ONNX, operators may mean something else."""

_ONNX = frozenset(
    """
    Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool
    BatchNormalization BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike
    Ceil Celu Clip Compress Concat ConcatFromSequence Constant ConstantOfShape Conv ConvInteger
    ConvTranspose Cos Cosh CumProd CumSum DFT DepthToSpace DequantizeLinear Div Dropout
    DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather
    GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater
    GreaterOrEqual GridSample GroupNormalization HardSigmoid HardSwish Hardmax Identity If
    InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual Log
    LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool Mean
    MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Neg Not OneHot Optional
    OptionalGetElement OptionalHasElement Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear
    RMSNormalization RNN Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax
    ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize RoiAlign Round
    STFT Scan Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty
    SequenceErase SequenceInsert SequenceLength Shape Shrink Sigmoid Sign Sin Sinh Size Slice
    Softmax Softplus Softsign SpaceToDepth Split SplitToSequence Sqrt Squeeze Sub Sum Tan Tanh
    TensorScatter ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Upsample Where Xor
    """.split()
)
WRITTEN_OUT = frozenset(
    """
    Attention BlackmanWindow CausalConvWithState CenterCropPad HammingWindow HannWindow
    LinearAttention NegativeLogLikelihoodLoss RotaryEmbedding SoftmaxCrossEntropyLoss SwiGLU Swish
    """.split()
)
"""Those that ONNX defines by others, and that are imported as these."""

_MICROSOFT = frozenset(
    """
    Attention BiasGelu DequantizeLinear DynamicQuantizeMatMul EmbedLayerNormalization FastGelu Gelu
    MatMulInteger16 MatMulIntegerToFloat QGemm QLinearAdd QLinearAveragePool QLinearConcat
    QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearSoftmax QLinearWhere
    QuantizeLinear SkipLayerNormalization
    """.split()
)
COMPARED = _ONNX | WRITTEN_OUT | {f"com.microsoft.{name}" for name in _MICROSOFT}
"""By name, with the domain in front if it is not that of ONNX."""


def why_refused(operator: str) -> str | None:
    """The end of the sentence that an operator is not supported, by its name as in `COMPARED`; none
    if it is supported."""
    if operator in WRITTEN_OUT:
        return (
            ": by what other operators it is computed depends on the types of its inputs, which "
            "ONNX does not infer; save the model with the types of its tensors"
        )
    if operator in COMPARED:
        return None
    return f": {refusal_of(operator)}"
