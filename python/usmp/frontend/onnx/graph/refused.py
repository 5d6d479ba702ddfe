"""Operators of ONNX and onnxruntime that are refused, each with a replacement."""

from __future__ import annotations

from usmp.frontend.onnx.graph.nodes import ONNX_DOMAINS
from usmp.frontend.refused_operators import (
    FOUND_IN_DATA,
    RANDOM,
    Refusal,
    by_operator,
    never_compared,
)

REFUSED = by_operator(
    ("Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike", RANDOM),
    (
        "NonMaxSuppression NonZero Unique",
        Refusal(
            FOUND_IN_DATA,
            "use Where, or end the model before it and find them in the application",
        ),
    ),
    (
        "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer",
        Refusal(
            "it works on text, and only numbers can be planned",
            "do it in the application, and begin the model at numbers",
        ),
    ),
    (
        "ImageDecoder",
        Refusal(
            "it decodes an image file, whose size depends on its content",
            "decode it in the application, and begin the model at its pixels",
        ),
    ),
    (
        "SequenceMap",
        Refusal(
            "it runs another graph for each tensor of a sequence",
            "export the model without sequences, with Scan or Loop over the rows of a tensor",
        ),
    ),
    (
        "MaxUnpool",
        Refusal(
            "TVM computes it otherwise than onnxruntime",
            "use ConvTranspose or Resize, or ScatterND with the indices",
        ),
    ),
    (
        "MaxRoiPool",
        Refusal("TVM computes it otherwise than onnxruntime", "use RoiAlign with mode avg"),
    ),
    ("Col2Im", never_compared("use ConvTranspose with weights of ones and zeros")),
    ("DeformConv", never_compared("use Conv, or GridSample and Conv")),
    ("Det", never_compared("compute it in the application, with the model's outputs")),
    (
        "ReverseSequence",
        never_compared("use Slice with a step of -1, for sequences of one length"),
    ),
    (
        "ai.onnx.ml.ZipMap",
        Refusal(
            "its result is a dictionary, and only tensors can be planned",
            'export the model without it (scikit-learn: options={"zipmap": False})',
        ),
    ),
    (
        "ai.onnx.ml.CastMap ai.onnx.ml.CategoryMapper ai.onnx.ml.DictVectorizer "
        "ai.onnx.ml.LabelEncoder",
        Refusal(
            "it looks keys, mostly text, up in a dictionary",
            "look them up in the application, and begin the model at numbers",
        ),
    ),
    (
        "ai.onnx.ml.LinearClassifier ai.onnx.ml.LinearRegressor ai.onnx.ml.Normalizer "
        "ai.onnx.ml.Scaler",
        never_compared("write it with Gemm, Sub, Mul, LpNormalization and ArgMax"),
    ),
    (
        "ai.onnx.ml.SVMClassifier ai.onnx.ml.SVMRegressor ai.onnx.ml.TreeEnsemble "
        "ai.onnx.ml.TreeEnsembleClassifier ai.onnx.ml.TreeEnsembleRegressor",
        never_compared(
            "convert the trained model to operators on tensors, as Hummingbird does, or give it to "
            "a generator of C for trees"
        ),
    ),
    (
        "ai.onnx.ml.ArrayFeatureExtractor ai.onnx.ml.Binarizer ai.onnx.ml.FeatureVectorizer "
        "ai.onnx.ml.Imputer ai.onnx.ml.OneHotEncoder",
        never_compared("write it with Gather, Greater, Concat, Where and OneHot"),
    ),
    ("ai.onnx.preview.FlexAttention", never_compared("write it with MatMul, Add and Softmax")),
    (
        "ai.onnx.preview.training.Adagrad ai.onnx.preview.training.Adam "
        "ai.onnx.preview.training.Gradient ai.onnx.preview.training.Momentum",
        Refusal("it is for training", "export the model for inference"),
    ),
)
"""Name as `qualified_name` returns it -> refusal."""

_OF_DOMAIN = {
    "com.microsoft": never_compared(
        "onnxruntime writes it when it optimizes or quantizes a model: save the model before that "
        "(ORT_DISABLE_ALL), or as QDQ"
    ),
    "ai.onnx.ml": never_compared("write it with operators of ONNX itself"),
}
"""Domain -> refusal of its operators that are not in `REFUSED`."""

_UNKNOWN = Refusal(
    "no operator of ONNX is known by this name",
    "export the model with an older opset, or with the domain of the operator",
)
_CUSTOM = Refusal(
    "it is a custom operator, and the file does not say what it computes",
    "replace it by operators of ONNX, or end the model before it",
)


def refusal_of(operator: str) -> Refusal:
    """Return the reason and the replacement for an unsupported operator, named as in `REFUSED`."""
    domain, _, _ = operator.rpartition(".")
    if operator in REFUSED:
        return REFUSED[operator]
    if domain in ONNX_DOMAINS:
        return _UNKNOWN
    return _OF_DOMAIN.get(domain, _CUSTOM)
