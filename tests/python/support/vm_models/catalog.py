"""The models that `benchmarks/tvm_storage.py` plans and runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import tvm
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program

from support import encoder
from support.storage_runs import run_main
from support.vm_models import decoder, networks

Run = Callable[[relax.VirtualMachine], list[np.ndarray]]


@dataclass(frozen=True)
class VmModel:
    """A Relax module before any lowering, and what calls its functions for their results."""

    build: Callable[[], tvm.IRModule]
    run: Run


def torch_model(make: Callable[[], torch.nn.Module], *shape: int) -> VmModel:
    """A network in PyTorch with one input of float32, and with random weights as constants."""

    def build() -> tvm.IRModule:
        torch.manual_seed(0)
        with warnings.catch_warnings():
            # PyTorch's own, of Python's `copyreg`.
            warnings.simplefilter("ignore", FutureWarning)
            program = torch.export.export(make().eval(), (torch.zeros(shape),))
            return from_exported_program(program)

    return VmModel(build, lambda machine: run_main(machine, *shape))


def image_model(make: Callable[[], torch.nn.Module], side: int = 64) -> VmModel:
    """A network for square images of three channels."""
    return torch_model(make, 1, 3, side, side)


MODELS = {
    "resnet18": image_model(lambda: networks.resnet((2, 2, 2, 2), False)),
    "resnet50": image_model(lambda: networks.resnet((3, 4, 6, 3), True)),
    "mobilenet_v1": image_model(networks.mobilenet_v1, 96),
    "mobilenet_v2": image_model(networks.mobilenet_v2, 96),
    "inception": image_model(networks.inception),
    "densenet121": image_model(networks.densenet),
    "squeezenet": image_model(networks.squeezenet, 128),
    "unet": image_model(networks.UNet),
    "lstm": torch_model(networks.Lstm, 1, 32, 64),
    "decoder": VmModel(decoder.decoder, decoder.run),
    "encoder": VmModel(
        lambda: encoder.encoder(longest=128), lambda machine: run_main(machine, 100, encoder.WIDTH)
    ),
}
"""By name: public architectures, a decoder with TVM's key-value cache, an encoder of any length."""
