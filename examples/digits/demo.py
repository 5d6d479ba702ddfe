"""Compile the digits model, run the emitted C on real test images, compare with LiteRT.

`make demo` runs this from a fresh clone.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from usmp import load_archive

HERE = Path(os.path.relpath(Path(__file__).parent))
MODEL = HERE / "digits_int8.tflite"
ARCHIVE = Path("build/demo/digits.tar")
INPUTS = Path("build/demo/in.npz")


def main() -> None:
    """Compile, build, run, compare."""
    ARCHIVE.parent.mkdir(parents=True, exist_ok=True)
    options = ["--target=c", "--executor=aot", "--output-format=mlf"]
    options += ["--pass-config", "tir.usmp.enable=1"]
    options += ["--pass-config", "tir.usmp.algorithm=auto"]
    command = ["tvmc", "compile", str(MODEL), *options, "-o", str(ARCHIVE)]
    print(f"$ {' '.join(command)}\n", flush=True)
    tvmc = Path(sys.executable).with_name("tvmc")
    subprocess.run([str(tvmc), *command[1:]], check=True)

    with np.load(HERE / "test_images.npz") as data:
        images, labels = data["images"], data["labels"]
    write_inputs(images[:1])
    print(f"\nBuilding the C of {ARCHIVE} and running it on {len(images)} test images ...")
    ours = classes_of_emitted_c(images)
    reference = classes_of_litert(images)
    print(f"accuracy of the emitted C     {percent(ours == labels)}")
    print(f"accuracy of LiteRT            {percent(reference == labels)}")
    print(f"same class as LiteRT          {percent(ours == reference)}")


def write_inputs(image: np.ndarray) -> None:
    """A file for `tvmc run --inputs`: an array for each input of the model, by its name."""
    INPUTS.parent.mkdir(parents=True, exist_ok=True)
    np.savez(INPUTS, image=image)


def classes_of_emitted_c(images: np.ndarray) -> np.ndarray:
    """The most probable class of each image, computed by the emitted C."""
    module = load_archive(ARCHIVE).load()
    (name,) = module.inputs
    (output,) = module.outputs
    return np.array([module.run({name: image[None]})[output].argmax() for image in images])


def classes_of_litert(images: np.ndarray) -> np.ndarray:
    """The most probable class of each image, computed by TFLite's reference kernels."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_path=str(MODEL), experimental_op_resolver_type=OpResolverType.BUILTIN_REF
    )
    interpreter.allocate_tensors()
    input_index = interpreter.get_input_details()[0]["index"]
    output_index = interpreter.get_output_details()[0]["index"]
    classes = []
    for image in images:
        interpreter.set_tensor(input_index, image[None])
        interpreter.invoke()
        classes.append(interpreter.get_tensor(output_index).argmax())
    return np.array(classes)


def percent(hits: np.ndarray) -> str:
    """A share of images."""
    return f"{100 * hits.mean():6.2f} % ({hits.sum()} of {len(hits)})"


if __name__ == "__main__":
    main()
