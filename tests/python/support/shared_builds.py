"""Builds that share what they have in common, as those of `tvmc explore` do in one session.

What a test says of a command or of a board does not depend on whether the model was lowered and
planned by an earlier build with the same options. The first one in each file of tests does it all.
Warnings of lowering come with the first build only, so tests of these have no place in a session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import cache, wraps
from pathlib import Path
from typing import ParamSpec
from unittest import mock

from tvm.ir import IRModule

from usmp import AOTExecutorFactoryModule
from usmp.analysis.memory.facts import _SHARED, FactStore
from usmp.frontend import model_file
from usmp.frontend.dynamic_sizes import AskedSizes
from usmp.planning.session import _SESSION, PlanningSession

_Arguments = ParamSpec("_Arguments")


def built_once(
    build: Callable[_Arguments, AOTExecutorFactoryModule],
) -> Callable[_Arguments, AOTExecutorFactoryModule]:
    """Wrap a function that builds, so that all tests get one object for the same arguments.

    Arguments are the same if their texts are, and models if they are one object.
    """
    known: dict[str, tuple[object, AOTExecutorFactoryModule]] = {}

    @wraps(build)
    def found(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> AOTExecutorFactoryModule:
        named = sorted(kwargs.items())
        key = repr((args, [(n, id(v) if isinstance(v, IRModule) else v) for n, v in named]))
        if key not in known:
            # With the models, so that no other one gets the address of one of them.
            known[key] = named, build(*args, **kwargs)
        return known[key][1]

    return found


class SharedBuilds:
    """What builds have in common: the modules of files, and a planning session."""

    def __init__(self) -> None:
        self._session, self._facts = PlanningSession(), FactStore()
        self._importers = {".tflite": _imported_once(model_file._import_tflite)}
        self._with_spans = _once(model_file.with_all_spans)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Within, one `.tflite` file is one module of Relax, and all builds are in the session."""
        session, facts = _SESSION.set(self._session), _SHARED.set(self._facts)
        spans = mock.patch.object(model_file, "with_all_spans", self._with_spans)
        try:
            with spans, mock.patch.dict(model_file._IMPORTERS, self._importers):
                yield
        finally:
            _SHARED.reset(facts)
            _SESSION.reset(session)


shared_by_process = cache(SharedBuilds)
"""Returns the one that lasts as long as the process, for few and small models."""


def _imported_once(importer: model_file.Importer) -> model_file.Importer:
    known: dict[object, tuple[IRModule, AskedSizes]] = {}

    def read(
        content: bytes, folder: Path, trust: bool, limits: model_file.Limits, asked: AskedSizes
    ) -> IRModule:
        if asked.max_sizes or asked.input_shapes or asked.known_inputs:
            return importer(content, folder, trust, limits, asked)
        key = content, limits, asked.is_for_one_model, asked.requires_bounds
        if key not in known:
            mod = importer(content, folder, trust, limits, asked)
            known[key] = (
                mod,
                AskedSizes(
                    known=copy(asked.known),
                    known_inputs=copy(asked.known_inputs),
                    resolved=copy(asked.resolved),
                ),
            )
        mod, noted = known[key]
        for name in ("known", "known_inputs", "resolved"):
            getattr(asked, name)[:] = getattr(noted, name)
        return mod

    return read


def _once(change: Callable[[IRModule], IRModule]) -> Callable[[IRModule], IRModule]:
    known: dict[int, tuple[IRModule, IRModule]] = {}

    def changed(mod: IRModule) -> IRModule:
        key = id(mod)
        if key not in known:
            # With the module, so that no other one gets its address.
            known[key] = mod, change(mod)
        made = known[key][1]
        # Whoever gets it may change it.
        return IRModule(made.functions, attrs=made.attrs)

    return changed
