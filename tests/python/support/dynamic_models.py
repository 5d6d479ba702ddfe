"""Models with one size that only the run knows: PyTorch modules, exported for PyTorch and ONNX."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from support.lazy import TorchModule, lazy
from support.pytorch_models import exported

onnx = lazy("onnx")
torch = lazy("torch")
nn = lazy("torch.nn")

LARGEST = 128
"""Of every size here."""
SIZES = (1, 2, 17, 127, 128)
"""At which results are compared."""

_WIDTH, _HEADS, _TOKENS, _CHANNELS = 32, 4, 50, 4


class Layer(TorchModule):
    """A layer of a transformer encoder, as `nn.TransformerEncoderLayer` computes it.

    Of that one PyTorch's exporter for ONNX writes the length of the example into the file.
    """

    def __init__(self) -> None:
        super().__init__()
        self.projections = nn.Linear(_WIDTH, 3 * _WIDTH)
        self.output = nn.Linear(_WIDTH, _WIDTH)
        self.norms = nn.ModuleList([nn.LayerNorm(_WIDTH), nn.LayerNorm(_WIDTH)])
        self.feed_forward = nn.Sequential(
            nn.Linear(_WIDTH, 2 * _WIDTH), nn.ReLU(), nn.Linear(2 * _WIDTH, _WIDTH)
        )

    def forward(self, x):
        batch, length, width = x.shape
        heads = (
            each.view(batch, length, _HEADS, width // _HEADS).transpose(1, 2)
            for each in self.projections(x).chunk(3, -1)
        )
        attended = nn.functional.scaled_dot_product_attention(*heads)
        attended = attended.transpose(1, 2).reshape(batch, length, width)
        x = self.norms[0](x + self.output(attended))
        return self.norms[1](x + self.feed_forward(x))


class Encoder(TorchModule):
    """A transformer encoder of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(Layer(), Layer())

    def forward(self, x):
        return self.layers(x)


class LibraryEncoder(TorchModule):
    """A transformer encoder with a layer of PyTorch's own; only its `.pt2` file is dynamic."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            _WIDTH, _HEADS, 2 * _WIDTH, dropout=0.0, batch_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)

    def forward(self, x):
        return self.layers(x)


class Tokens(TorchModule):
    """A classifier of text: embeddings and those of positions, an encoder, the mean, a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_TOKENS, _WIDTH)
        self.positions = nn.Parameter(torch.randn(1, LARGEST, _WIDTH))
        self.layers = nn.Sequential(Layer(), Layer())
        self.classifier = nn.Linear(_WIDTH, 5)

    def forward(self, ids):
        embedded = self.embedding(ids) + self.positions[:, : ids.shape[1]]
        return self.classifier(self.layers(embedded).mean(1))


class Convolutions(TorchModule):
    """Two convolutions over time, each of which gives half of the steps that it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(_CHANNELS, 8, 3, stride=2, padding=1)
        self.second = nn.Conv1d(8, 8, 3, stride=2, padding=1)

    def forward(self, x):
        return torch.relu(self.second(torch.relu(self.first(x))))


class Perceptron(TorchModule):
    """Two layers, whose batch is dynamic."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 4), nn.Softmax(-1))

    def forward(self, x):
        return self.layers(x)


class Recurrent(TorchModule):
    """A GRU over the steps of its input, which cannot be unrolled if their number is dynamic."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(_CHANNELS, 8, batch_first=True)

    def forward(self, x):
        return self.gru(x)[0]


@dataclass(frozen=True)
class DynamicModel:
    """A model with one input, of which one extent is dynamic.

    Parameters
    ----------
    make
        the module.
    input
        the name of the input.
    shape
        of the input; None for the dynamic extent.
    size
        what the size is called; in a `.pt2` file, which has no names of sizes, as the input and
        the axis.
    smallest
        the smallest size that the program of PyTorch is exported for.
    is_integer
        whether the input is of tokens.
    """

    make: Callable[[], nn.Module]
    input: str
    shape: tuple[int | None, ...]
    size: str
    smallest: int = 1
    is_integer: bool = False

    @property
    def axis(self) -> int:
        """That is dynamic."""
        return self.shape.index(None)

    @property
    def pytorch_size(self) -> str:
        """What the size is called in the program of PyTorch."""
        return f"{self.input}_{self.axis}"

    @cached_property
    def module(self) -> nn.Module:
        """With the same weights in every process."""
        torch.manual_seed(0)
        return self.make().eval()

    def inputs(self, size: int, seed: int = 0) -> np.ndarray:
        """Random values, the same in every process."""
        generator = np.random.default_rng(seed)
        shape = [size if extent is None else extent for extent in self.shape]
        if self.is_integer:
            return generator.integers(0, _TOKENS, shape)
        return generator.normal(size=shape).astype(np.float32)

    def expected(self, x: np.ndarray) -> np.ndarray:
        """What PyTorch computes."""
        with torch.no_grad():
            return self.module(torch.from_numpy(x)).numpy()

    def pt2(self, largest: int | None = LARGEST, smallest: int | None = None) -> bytes:
        """The file of the program that `torch.export` makes, for sizes in this range."""
        least = self.smallest if smallest is None else smallest
        dim = torch.export.Dim(self.size, min=least, max=largest)
        example = torch.from_numpy(self.inputs(33))
        return exported(self.module, example, dynamic_shapes=({self.axis: dim},))

    def onnx(self, name: str | None = None) -> onnx.ModelProto:
        """As PyTorch's exporter of TorchScript writes it, the size called `name`.

        (The newer exporter needs onnxscript, which is no dependency of the tests.)
        """
        file = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                self.module,
                (torch.from_numpy(self.inputs(33)),),
                file,
                input_names=[self.input],
                output_names=["y"],
                dynamic_axes={self.input: {self.axis: name or self.size}},
                opset_version=17,
                dynamo=False,
            )
        return onnx.load_from_string(file.getvalue())

    def written(self, path: Path) -> Path:
        """The file that is written to this path, whose ending says the format."""
        is_onnx = path.suffix == ".onnx"
        path.write_bytes(self.onnx().SerializeToString() if is_onnx else self.pt2())
        return path


MODELS = {
    "encoder": DynamicModel(Encoder, "x", (1, None, _WIDTH), "seq"),
    "tokens": DynamicModel(Tokens, "ids", (1, None), "seq", is_integer=True),
    # At 1 or 2 steps PyTorch would compute otherwise, and so exports no program for them.
    "convolutions": DynamicModel(Convolutions, "x", (1, _CHANNELS, None), "time", smallest=5),
    "perceptron": DynamicModel(Perceptron, "x", (None, 8), "batch"),
}
"""That can be imported."""

LIBRARY_ENCODER = DynamicModel(LibraryEncoder, "x", (1, None, _WIDTH), "seq")
RECURRENT = DynamicModel(Recurrent, "x", (1, None, _CHANNELS), "seq")
