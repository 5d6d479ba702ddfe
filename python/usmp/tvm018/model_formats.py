"""Formats of model files that TVM 0.18 read: `--model-format`, and the endings of files."""

from __future__ import annotations

from usmp.tvm018.old_name import OldName, accepted, refused

FORMAT_ENDINGS = {"tflite": ".tflite", "onnx": ".onnx", "pytorch": ".pt2"}
"""What TVM called formats that are read, and the endings of their files."""

_KERAS = (
    "convert the model to TFLite, as tf.lite.TFLiteConverter.from_keras_model(model).convert() does"
)
_TENSORFLOW = (
    "convert the model to TFLite, as "
    "tf.lite.TFLiteConverter.from_saved_model(folder).convert() does"
)
_PADDLE = "convert the model to ONNX with paddle2onnx"
_RELAY = "TVM 0.27 has no Relay: compile the model file that the Relay was imported from"
_TORCHSCRIPT = (
    "export the module, as torch.export.save(torch.export.export(module.eval(), inputs), "
    '"model.pt2") does'
)

_GONE_FORMATS = {
    "keras": ((".h5",), _KERAS),
    "pb": ((".pb",), _TENSORFLOW),
    "paddle": ((".pdmodel",), _PADDLE),
    "relay": ((".relay",), _RELAY),
}
"""Formats that are not read, with their endings and the way."""

MODEL_FILES: tuple[OldName, ...] = (
    *(refused(ending, way) for endings, way in _GONE_FORMATS.values() for ending in endings),
    *(refused(ending, _TORCHSCRIPT) for ending in (".pth", ".zip")),
)
"""Endings of files that TVM 0.18 took."""

MODEL_FORMAT: tuple[OldName, ...] = (
    *(
        accepted(
            "--model-format",
            "the ending of FILE says so",
            values=(name,),
            beside=f"*{ending}",
        )
        for name, ending in FORMAT_ENDINGS.items()
    ),
    *(
        refused(
            "--model-format",
            f"FILE is no {FORMAT_ENDINGS[name]} file by its name: rename it if it is one, and "
            "leave it out",
            values=(name,),
        )
        for name in ("tflite", "onnx")
    ),
    refused("--model-format", _TORCHSCRIPT, values=("pytorch",)),
    *(refused("--model-format", way, values=(name,)) for name, (_, way) in _GONE_FORMATS.items()),
)
