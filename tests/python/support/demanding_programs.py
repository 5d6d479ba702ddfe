"""Small `.pt2` files that ask for gigabytes, or for hours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from support.demanding_sizes import LONG, MUCH
from support.pt2_exploits import changed
from support.pytorch_models import Function, exported, nn, torch

_GRAPH = "models/model.json"
_WEIGHTS = "data/weights/model_weights_config.json"


def _long(module: nn.Module, steps: int) -> bytes:
    return exported(module.eval(), torch.ones(1, steps, 1))


def _repeated_weight() -> bytes:
    """A stored number that is read 400 million times, with a stride of 0."""

    def change(members):
        meta = members[_WEIGHTS]["config"]["0.bias"]["tensor_meta"]
        meta["sizes"], meta["strides"] = [{"as_int": MUCH}], [{"as_int": 0}]

    return changed(change)


def _with(new: int, content: bytes, old: int = 777) -> bytes:
    """Another number in the place of this one."""

    def change(members):
        text = json.dumps(members[_GRAPH])
        members[_GRAPH] = json.loads(re.sub(rf"\b{old}\b", str(new), text))

    return changed(change, content)


def _one_input(function: Callable, *shape: int) -> bytes:
    return exported(Function(function), torch.ones(shape))


PROGRAMS: dict[str, Callable[[], bytes]] = {
    "repeated weight": _repeated_weight,
    "activation": lambda: _with(MUCH, _one_input(torch.relu, 777)),
    "ones": lambda: _with(MUCH, _one_input(lambda x: x + torch.ones(777).sum(), 1)),
    "range": lambda: _with(MUCH, _one_input(lambda x: x + torch.arange(777).sum(), 1)),
    "expand": lambda: _with(MUCH, _one_input(lambda x: x + x.expand(777).sum(), 1)),
    "recurrent": lambda: _with(10**6, _long(nn.LSTM(1, 1, batch_first=True), 113), 113),
    "unbind": lambda: _with(10**7, _one_input(lambda x: x.unbind()[0] + 1, 113), 113),
    "power": lambda: _with(
        LONG, exported(Function(lambda x: x**777), torch.ones(2, dtype=torch.int32))
    ),
}
