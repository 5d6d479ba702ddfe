"""Measure the time of each operator on this host, by the hooks that a profiled model calls."""

from __future__ import annotations

import copy
import ctypes
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from usmp.names import DEFAULT_ARENA_BYTES
from usmp.runtime.c_compiler import DEFAULT_FLAGS
from usmp.runtime.extra_sources import check_sources
from usmp.runtime.host import HostModule
from usmp.runtime.operator_profile import Profile, check_has_hooks, profile_of
from usmp.support.not_copied import NotCopied
from usmp.support.process.temporary_folder import temporary_folder

_LEAST_RUNS, _MOST_RUNS = 5, 1000
_SECONDS = 1.0
"""Duration of the measurement if the number of runs is not given."""

_HOOKS = """#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <time.h>
#include "{prefix}.h"

enum {{ OPERATORS = {macros}_OPERATOR_COUNT, TRIALS = 1000 }};

/* One element more is for the hooks' own time. */
uint64_t usmp_operator_ns[OPERATORS + 1];
const uint64_t usmp_operator_count = OPERATORS;
static uint64_t begun;

static uint64_t now(void) {{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}}

void {begin}(int32_t operator_index) {{
  (void)operator_index;
  begun = now();
}}

void {end}(int32_t operator_index) {{
  usmp_operator_ns[operator_index] += now() - begun;
}}

/* The least time between two hooks with nothing in between. */
uint64_t usmp_hook_ns(void);
uint64_t usmp_hook_ns(void) {{
  uint64_t least = UINT64_MAX;
  for (int trial = 0; trial < TRIALS; ++trial) {{
    usmp_operator_ns[OPERATORS] = 0;
    {begin}(OPERATORS);
    {end}(OPERATORS);
    if (usmp_operator_ns[OPERATORS] < least) least = usmp_operator_ns[OPERATORS];
  }}
  return least;
}}
"""


class HostProfiler(NotCopied):
    """A model with hooks that read the clock of this host before and after each operator.

    Parameters
    ----------
    files
        files of an archive, or `AOTExecutorFactoryModule.files`, by path.
    metadata
        parsed metadata of one of its modules, built with `tir.usmp.debug=profile`.
    flags, sources, arena_bytes
        as in `HostModule`.

    Raises
    ------
    NotProfiled
        the model was built without `tir.usmp.debug=profile`.
    DamagedMetadata
        the operators in the metadata are malformed.
    BuildError
        as in `HostModule`.
    """

    _owns = "a loaded library and its counters"
    _instead = "make another one of the same files"

    def __init__(
        self,
        files: Mapping[str, bytes],
        metadata: Mapping[str, Any],
        flags: Sequence[str] = DEFAULT_FLAGS,
        sources: Sequence[str | Path] = (),
        arena_bytes: int = DEFAULT_ARENA_BYTES,
    ) -> None:
        check_has_hooks(metadata)
        check_sources(metadata, sources)
        self._metadata = metadata
        with temporary_folder() as directory:
            hooks = directory / "profile_hooks.c"
            hooks.write_text(_hooks(metadata))
            self.module = HostModule(files, metadata, flags, [hooks, *sources], arena_bytes)
        library = self.module.library
        count = ctypes.c_uint64.in_dll(library, "usmp_operator_count").value
        self._counts = (ctypes.c_uint64 * (count + 1)).in_dll(library, "usmp_operator_ns")
        self._hook_ns = library["usmp_hook_ns"]
        self._hook_ns.restype = ctypes.c_uint64

    def measure(
        self,
        inputs: Mapping[str, np.ndarray],
        entry: str | None = None,
        runs: int | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> Profile:
        """Run the model several times, and return the time of each operator.

        Parameters
        ----------
        inputs
            an array for each input of the entry.
        entry
            name of the entry; optional if there is only one.
        runs
            number of measured runs, after one that warms up caches. By default, runs are repeated
            for a second, at least 5 and at most 1000 times.
        sizes
            symbolic sizes that do not follow from the shapes of the inputs.

        Returns
        -------
        Profile
            Medians over the runs in nanoseconds, less the time of the hooks.

        Raises
        ------
        ValueError, RuntimeError
            as in `HostModule.run`, or `runs` is less than 1.
        """
        if runs is not None and runs < 1:
            raise ValueError(f"a profile needs at least one run, not {runs}")
        with self.module.lock:
            return self._measured(inputs, entry, runs, sizes)

    def _measured(
        self,
        inputs: Mapping[str, np.ndarray],
        entry: str | None,
        runs: int | None,
        sizes: Mapping[str, int] | None,
    ) -> Profile:
        hook_ns = int(self._hook_ns())
        # Copy the inputs, because runs may update them.
        inputs = copy.deepcopy(dict(inputs))
        self.module.run(inputs, entry, sizes)
        measured: list[list[int]] = []
        until = time.perf_counter() + _SECONDS
        while len(measured) < (runs or _LEAST_RUNS) or (
            runs is None and len(measured) < _MOST_RUNS and time.perf_counter() < until
        ):
            ctypes.memset(self._counts, 0, ctypes.sizeof(self._counts))
            self.module.run(inputs, entry, sizes)
            measured.append(self._counts[:-1])
        medians = np.maximum(np.median(np.array(measured), axis=0) - hook_ns, 0.0)
        return profile_of(self._metadata, entry, "ns", medians.tolist(), len(measured))


def profile_on_host(
    files: Mapping[str, bytes],
    metadata: Mapping[str, Any],
    inputs: Mapping[str, np.ndarray],
    entry: str | None = None,
    *,
    runs: int | None = None,
    sizes: Mapping[str, int] | None = None,
    flags: Sequence[str] = DEFAULT_FLAGS,
    sources: Sequence[str | Path] = (),
) -> Profile:
    """Build a model with a `HostProfiler`, and return the time of each operator on this host.

    Parameters
    ----------
    files, metadata, flags, sources
        as in `HostProfiler`.
    inputs, entry, runs, sizes
        as in `HostProfiler.measure`.

    Raises
    ------
    NotProfiled, BuildError, ValueError, RuntimeError
        as in `HostProfiler` and its `measure`.
    """
    return HostProfiler(files, metadata, flags, sources).measure(inputs, entry, runs, sizes)


def _hooks(metadata: Mapping[str, Any]) -> str:
    begin, end = metadata["operator_hooks"]
    prefix = metadata["c_prefix"]
    return _HOOKS.format(prefix=prefix, macros=prefix.upper(), begin=begin, end=end)
