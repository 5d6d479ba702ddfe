"""The operators of TFLite's schema that are refused, with what to convert instead."""

from __future__ import annotations

import tflite

from usmp.frontend.refused_operators import (
    FOUND_IN_DATA,
    RANDOM,
    Refusal,
    by_operator,
    never_compared,
)

_STABLEHLO = Refusal(
    "it is an operator of StableHLO, which TFLite Micro does not have",
    "convert the model with TFLITE_BUILTINS, not with EXPERIMENTAL_STABLEHLO_OPS",
)
_OF_ITS_OWN = ("STABLEHLO_COMPOSITE", "STABLEHLO_RNG_BIT_GENERATOR", "STABLEHLO_WHILE")
_SUBGRAPHS = Refusal("it runs other subgraphs", "convert the model to TFLite's WHILE and IF")


REFUSED = by_operator(
    (
        "HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_LOOKUP HASHTABLE_SIZE",
        Refusal(
            "it looks keys, mostly text, up in a table at run time",
            "look them up in the application, and begin the model at the integers that it finds "
            "(GATHER and EMBEDDING_LOOKUP are supported)",
        ),
    ),
    (
        "LSH_PROJECTION SKIP_GRAM",
        Refusal(
            "it makes features of text, and programs without a runtime have no text",
            "compute them in the application, and begin the model at numbers",
        ),
    ),
    ("MULTINOMIAL RANDOM_STANDARD_NORMAL RANDOM_UNIFORM STABLEHLO_RNG_BIT_GENERATOR", RANDOM),
    (
        "UNIQUE WHERE",
        Refusal(
            FOUND_IN_DATA,
            "use SELECT_V2 (tf.where with three arguments), or end the model before it and find "
            "them in the application",
        ),
    ),
    ("CALL STABLEHLO_WHILE", _SUBGRAPHS),
    (
        "DENSIFY",
        Refusal("it unpacks sparse weights", "convert the model without sparsity"),
    ),
    (
        "EMBEDDING_LOOKUP_SPARSE",
        Refusal("it reads a sparse tensor", "use GATHER for the rows, then MUL and SUM"),
    ),
    (
        "SPARSE_TO_DENSE",
        Refusal(
            "it writes a tensor from a sparse one", "use SCATTER_ND, or SELECT_V2 with ONE_HOT"
        ),
    ),
    (
        "FAKE_QUANT",
        Refusal(
            "it is for training: floats that are rounded as if they were quantized",
            "convert the model with full integer quantization, or without it",
        ),
    ),
    (
        "LSTM",
        Refusal(
            "it is one step of a layer, and only layers over a sequence were compared",
            "convert a tf.keras.layers.LSTM, also for a sequence of one step: it becomes "
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
        ),
    ),
    (
        "CONCAT_EMBEDDINGS",
        Refusal("no runtime has a kernel of it", "use GATHER and CONCATENATION"),
    ),
    (
        "DELEGATE",
        Refusal(
            "it stands for code of an accelerator, which a runtime put in",
            "give the .tflite file that was given to the runtime",
        ),
    ),
    (
        "PLACEHOLDER_FOR_GREATER_OP_CODES",
        Refusal("the file does not say which operator it is", "convert the model again"),
    ),
    ("BUCKETIZE", never_compared("compare with each boundary by GREATER_EQUAL, and SUM")),
    ("CONV_3D_TRANSPOSE", never_compared("use TRANSPOSE_CONV over two axes, or PAD and CONV_3D")),
    ("DILATE", never_compared("RESHAPE to one more axis, PAD it with zeros, and RESHAPE again")),
    (
        "LOCAL_RESPONSE_NORMALIZATION",
        Refusal(
            "TFLite's kernel leaves out the last channel of each sum",
            "use batch normalization, or write it with SQUARE, CONV_2D, POW and DIV",
        ),
    ),
    ("MATRIX_DIAG", never_compared("MUL with a constant matrix of ones and zeros")),
    ("MATRIX_SET_DIAG", never_compared("use SELECT_V2 with a constant mask")),
    (
        "REDUCE_WINDOW",
        never_compared("use MAX_POOL_2D or AVERAGE_POOL_2D, or CUMSUM for sums"),
    ),
    (
        " ".join(
            sorted(
                name
                for name in vars(tflite.BuiltinOperator)
                if name.startswith("STABLEHLO_") and name not in _OF_ITS_OWN
            )
        ),
        _STABLEHLO,
    ),
)
"""Operator name -> its refusal. `unknown_operators.py` refuses custom and newer operators."""
