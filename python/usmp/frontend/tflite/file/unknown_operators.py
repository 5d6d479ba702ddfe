"""Reasons to refuse operators that have no converter, and what to do instead."""

from __future__ import annotations

from usmp.frontend.tflite.file.refused import REFUSED

CUSTOM = "CUSTOM "
"""The beginning of custom operators' names; their code follows in quotes."""

_COMPILED = {
    '"ethos-u"': "Vela compiled the file for an Arm Ethos-U, and this operator is code of that "
    "NPU; give the .tflite file that was given to Vela",
    '"edgetpu-custom-op"': "edgetpu_compiler compiled the file for a Coral Edge TPU, and this "
    "operator is code of that TPU; give the .tflite file that was given to edgetpu_compiler",
}
_NEVER_COMPARED = (
    "not supported, as it was never compared with TFLite's kernels; replace it, or end the model "
    "before it"
)
_FLEX = '"Flex'
"""The beginning of the codes of TensorFlow's own operators."""


def reason_against(name: str) -> str:
    """Return why no operator of this name is converted, and what to do instead.

    Parameters
    ----------
    name
        a name as `operator_name` returns it.
    """
    if name.isdigit():
        return (
            "it is a builtin operator of a newer schema than is known; convert the model with an "
            "older converter, or without the operator"
        )
    if not name.startswith(CUSTOM):
        return f"not supported: {REFUSED[name]}" if name in REFUSED else _NEVER_COMPARED
    code = name.removeprefix(CUSTOM)
    if code in _COMPILED:
        return _COMPILED[code]
    if code.startswith(_FLEX):
        return (
            "it is an operator of TensorFlow (SELECT_TF_OPS), which only TensorFlow itself "
            "computes; convert the model with TFLITE_BUILTINS alone, or end it before the operator"
        )
    return (
        "it is a custom operator, and the file does not say what it computes; replace it by "
        "builtin operators, or end the model before it"
    )
