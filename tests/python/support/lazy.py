"""Libraries that take seconds to load, and of which few tests need one.

Test modules name them here, so that nobody who only collects tests loads them.
"""

from __future__ import annotations

import sys
from functools import cached_property
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

import pytest

from support import quick_decompositions

_LIBRARIES = ("torch", "onnx", "onnxruntime", "ai_edge_litert", "executorch", "model_explorer")

LOADED = pytest.StashKey[list[str]]()
"""Those of these libraries that were loaded when the tests were collected."""


def loaded_libraries() -> list[str]:
    """Those that were loaded so far."""
    return [name for name in _LIBRARIES if name in sys.modules]


def lazy(name: str) -> Any:
    """Return a stand-in for a module (`package.module`), or for a class or a function in one
    (`package.module:Name`), that loads the module when it is used.

    A test that uses it is skipped where PyTorch is not installed.
    """
    return _Lazy(name)


class _Lazy:
    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    @cached_property
    def _object(self) -> Any:
        if self._name.startswith("torch"):
            pytest.importorskip("torch", reason="make test installs it")
        loaded = resolve_name(self._name)
        quick_decompositions.use()
        return loaded

    def __getattr__(self, name: str) -> Any:
        # Pytest asks all that a test module has for these.
        if (name.startswith("__") and name != "__file__") or name == "_mock_name":
            raise AttributeError(name)
        return getattr(self._object, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._object, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._object, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._object(*args, **kwargs)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, self._object)

    def __repr__(self) -> str:
        return f"lazy({self._name!r})"


class _Plain:
    """Python refuses other bases than `object` to classes that have only that."""


class TorchModule(_Plain):
    """A `torch.nn.Module`, which loads PyTorch when the first object is made."""

    def __new__(cls, *args: Any, **kwargs: Any) -> TorchModule:
        if TorchModule.__bases__ == (_Plain,):
            TorchModule.__bases__ = (import_module("torch.nn").Module,)
        return super().__new__(cls)
