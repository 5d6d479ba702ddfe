"""A build of a model without optimizations, to compare the outputs of other builds with."""

from __future__ import annotations

import bz2
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tvm.ir import IRModule
from tvm.ir.transform import PassContext

from usmp.codegen.c.names import replace_forbidden
from usmp.codegen.interface.accelerator_functions import accelerator_functions, function_metadata
from usmp.codegen.model_library_format import tar_of
from usmp.current_context import changed_context
from usmp.executor_factory import AOTExecutorFactoryModule
from usmp.names import (
    FAST,
    NO_SHARING,
    OVERLAP_INPUTS_AND_OUTPUTS,
    PRUNE_CONSTANT_CHANNELS,
)
from usmp.objects.attributes.module_attributes import REFERENCE_ATTR
from usmp.passes import with_prim_funcs
from usmp.plain.model_library_format import METADATA_FILE, largest_reference, reference_file
from usmp.planning.search.stage import stage_classes
from usmp.support.errors import FaultError
from usmp.support.process.meanwhile import meanwhile
from usmp.tir.tensor_intrin import without_intrinsics
from usmp.tvm018.pass_options import CMSIS_NN_CONFIG

_PREFIX = "tir.usmp."
_OPTIONS = {"tir.usmp.algorithm": NO_SHARING, "tir.usmp.code": FAST}
_DISABLED_PASSES = (
    f"usmp.{OVERLAP_INPUTS_AND_OUTPUTS}",
    "usmp.SelectKernels",
    "usmp.MergeSimilarFunctions",
)
"""Passes that a reference build omits, besides stages of the search."""


@dataclass(frozen=True)
class ReferenceBuild:
    """A build without kernels, streaming or overlap, or the reason that there is none.

    Parameters
    ----------
    description
        value of the attribute `reference` of the module.
    archive
        its header, C and metadata: a tar file, compressed by bzip2, which gives the same bytes on
        all machines.
    functions
        functions of accelerators that it calls, see `function_metadata`.
    """

    description: dict[str, str]
    archive: bytes | None = None
    functions: list[dict[str, Any]] = field(default_factory=list)


@contextmanager
def reference_meanwhile(
    build: Callable[[], AOTExecutorFactoryModule] | None, *, prune: bool
) -> Iterator[Callable[[], ReferenceBuild | None]]:
    """Yield a function that returns the reference build, made beside the context by `meanwhile`.

    Parameters
    ----------
    build
        compiles the model for target "c"; None without a reference build.
    prune
        whether channels may be pruned; functions of accelerators depend on their number.
    """
    if build is None:
        yield lambda: None
        return
    with meanwhile(lambda: _reference_build(build, prune)) as reference:
        yield reference


def with_reference(
    factory: AOTExecutorFactoryModule, reference: ReferenceBuild
) -> AOTExecutorFactoryModule:
    """Return a compiled model with its reference build, or with the reason that it has none."""
    if reference.archive is not None and reference.functions != _functions(factory.ir_mod):
        reason = "it would call accelerators in another way"
        reference = ReferenceBuild({"unavailable": reason})
    mod = REFERENCE_ATTR.put(factory.ir_mod, reference.description)
    return replace(factory, ir_mod=mod, reference=reference.archive)


def _reference_build(build: Callable[[], AOTExecutorFactoryModule], prune: bool) -> ReferenceBuild:
    try:
        with _plain_context(prune):
            factory = build()
            # Expand intrinsics, because recurrent operators call the functions of kernels, too.
            plain = with_prim_funcs(factory.ir_mod, without_intrinsics)
            factory = replace(factory, ir_mod=plain)
            files = factory.files()
    except (ValueError, FaultError, MemoryError) as error:
        return ReferenceBuild({"unavailable": f"it cannot be built: {error}"})
    kept = {p: c for p, c in files.items() if p == METADATA_FILE or p.startswith("codegen/")}
    content = tar_of(kept)
    archive = bz2.compress(content)
    if len(content) > largest_reference(len(archive)):
        return ReferenceBuild({"unavailable": f"it would have {len(content)} bytes"})
    path = reference_file(replace_forbidden(factory.module_name))
    return ReferenceBuild({"file": path}, archive, _functions(factory.ir_mod))


def _functions(mod: IRModule) -> list[dict[str, Any]]:
    return [function_metadata(function) for function in accelerator_functions(mod)]


def _plain_context(prune: bool) -> PassContext:
    """Return the current PassContext without searches and optimizations."""
    current = PassContext.current()
    searched = {stage.pass_name for stage in stage_classes() if not stage.is_in_reference}
    config = {k: v for k, v in current.config.items() if k != CMSIS_NN_CONFIG}
    kept = {k: v for k, v in config.items() if not k.startswith(_PREFIX)}
    pruning = [] if prune else [f"usmp.{PRUNE_CONSTANT_CHANNELS}"]
    return changed_context(
        instruments=[],
        disabled_pass=[*current.disabled_pass, *_DISABLED_PASSES, *sorted(searched), *pruning],
        config={**kept, **_OPTIONS},
    )
