"""Model file formats of TVM 0.18: values of `--model-format`, and file name extensions."""

from __future__ import annotations

from usmp.tvm018.old_name import OldName, accepted, refused

FORMAT_ENDINGS = {"tflite": ".tflite", "onnx": ".onnx", "pytorch": ".pt2"}
"""TVM's name of a supported format -> its file name extension."""

_KERAS = (
    "convert the model to TFLite, as tf.lite.TFLiteConverter.from_keras_model(model).convert() does"
)
_TENSORFLOW = (
    "convert the model to TFLite, as "
    "tf.lite.TFLiteConverter.from_saved_model(folder).convert() does"
)
_PADDLE = "convert the model to ONNX with paddle2onnx"
_RELAY = "TVM 0.27 has no Relay: compile the model file that the Relay was imported from"
EXPORT_MODULE = (
    "export the module, as torch.export.save(torch.export.export(module.eval(), inputs), "
    '"model.pt2") does'
)
"""What to do with a file that PyTorch wrote in another way."""

_GONE_FORMATS = {
    "keras": ((".h5",), _KERAS),
    "pb": ((".pb",), _TENSORFLOW),
    "paddle": ((".pdmodel",), _PADDLE),
    "relay": ((".relay",), _RELAY),
}
"""Removed format -> its file name extensions, and advice."""

MODEL_FILES: tuple[OldName, ...] = (
    *(refused(ending, way) for endings, way in _GONE_FORMATS.values() for ending in endings),
    *(refused(ending, EXPORT_MODULE) for ending in (".pth", ".zip")),
)
"""File name extensions that TVM 0.18 accepted."""

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
    refused("--model-format", EXPORT_MODULE, values=("pytorch",)),
    *(refused("--model-format", way, values=(name,)) for name, (_, way) in _GONE_FORMATS.items()),
)
