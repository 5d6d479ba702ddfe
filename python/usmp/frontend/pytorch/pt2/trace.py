"""Limits for PyTorch's decomposition, which unrolls and splits as often as a program demands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from usmp.relax.limits import LimitError, Limits

_CALLS_AN_OPERATOR = 20
"""The largest number of times that PyTorch computes the shape of one operator."""

_CUTS = frozenset("unbind split chunk tensor_split split_copy unbind_copy unsafe_chunk".split())


@dataclass
class Trace:
    """A limit of the operators and tensors that PyTorch traces.

    Parameters
    ----------
    limits
        the limits of the program.
    calls
        the number of shape computations so far.
    refused
        the message of the exceeded limit; PyTorch may wrap the error in its own.
    """

    limits: Limits
    calls: int = 0
    refused: str = ""

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Check the limits while PyTorch traces in the `with` block.

        PyTorch computes every shape by fake tensors, whose dispatch function is patched.

        Raises
        ------
        LimitError
            a tensor is too large, or there are too many operators.
        """
        original = FakeTensorMode.__torch_dispatch__

        def dispatch(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self._check(lambda: self._check_call(func, args))
            results = original(mode, func, types, args, kwargs)
            self._check(lambda: self._check_results(func, results))
            return results

        FakeTensorMode.__torch_dispatch__ = dispatch
        try:
            yield
        finally:
            FakeTensorMode.__torch_dispatch__ = original

    def _check(self, check: Callable[[], None]) -> None:
        try:
            check()
        except LimitError as error:
            self.refused = str(error)
            raise

    def _check_call(self, func: Any, args: Any) -> None:
        self.calls += 1
        operators = self.calls // _CALLS_AN_OPERATOR
        self.limits.check_operators("decomposed, the program has at least", operators)
        self.limits.check_operators(f"{func} cuts its input into", _parts(func, args), "parts")

    def _check_results(self, func: Any, results: Any) -> None:
        for result in pytree.tree_leaves(results):
            if isinstance(result, torch.Tensor) and all(type(n) is int for n in result.shape):
                described = f"the result of {func}"
                self.limits.check_tensor(described, result.shape, result.element_size())


def _parts(func: Any, args: Any) -> int:
    """Return an estimate of the number of parts that an operator splits its input into."""
    name = getattr(getattr(func, "overloadpacket", None), "__name__", "")
    if name.removesuffix("_copy") not in _CUTS or not args[0].ndim:
        return 1
    extent = max(n for n in args[0].shape if type(n) is int)
    count = args[1] if len(args) > 1 and type(args[1]) is int else 1
    if name.startswith("split"):
        return extent // max(count, 1)
    return extent if name.startswith("unbind") else count
