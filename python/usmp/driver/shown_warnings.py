"""What is left out of a model file is said in a line, without the place in our code."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from usmp.support.model_warning import ModelWarning
from usmp.support.plain_text import printable


@contextmanager
def shown_warnings(options: argparse.Namespace, stderr: TextIO) -> Iterator[None]:
    """Write warnings about models to `stderr`, unless the options have `--quiet`."""
    show = warnings.showwarning

    def tell(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, ModelWarning):
            show(message, category, *place, **more)
        elif not getattr(options, "quiet", False):
            print(f"tvmc: warning: {printable(str(message))}", file=stderr, flush=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", ModelWarning)
        warnings.showwarning = tell
        yield
