"""One test of many cases, which lists all that fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest


def check_all(cases: Mapping[str, Iterable[Any]], check: Callable[..., object]) -> None:
    """Fail with the names of all cases for which `check` fails, and what is wrong with each.

    Parameters
    ----------
    cases
        the arguments of `check`, by a name of the case.
    check
        asserts or raises where something is wrong.
    """
    assert cases
    failures = []
    for name, arguments in cases.items():
        try:
            check(*arguments)
        except (Exception, pytest.fail.Exception) as error:
            failures.append(f"{name}: {type(error).__name__}: {error}")
    if failures:
        pytest.fail(f"{len(failures)} of {len(cases)} cases:\n" + "\n".join(failures))
