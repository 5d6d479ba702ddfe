"""Which ONNX operators are converted here."""

from __future__ import annotations

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
    "CumProd": arrangement.cumulative_product,
    "CumSum": arrangement.cumulative_sum,
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
    "IsInf": element_wise.is_infinite,
    "LRN": refusals.local_response_normalization,
    "LSTM": recurrent.lstm,
    "LayerNormalization": refusals.layer_normalization,
    "LpNormalization": lp_normalization,
    "MatMulInteger": quantization.product_of_integers,
    "Max": element_wise.of_each_input(relax.op.maximum),
    "MaxPool": max_pool,
    "Mean": element_wise.mean,
    "MelWeightMatrix": spectra.mel_weight_matrix,
    "Min": element_wise.of_each_input(relax.op.minimum),
    "Mod": element_wise.modulo,
    "OneHot": arrangement.one_hot,
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


def convert_operator(name: str, node: OnnxNode) -> Converted:
    """The Relax expression of an ONNX operator; or the node that TVM's own conversion shall take;
    none if it shall take it as it is.

    Raises
    ------
    NotSupported
        the operator has an option that is not supported.
    """
    converter = _CONVERTERS.get(name)
    return converter(node) if converter else None
