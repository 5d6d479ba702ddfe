"""Flags of `tvmc compile` in TVM 0.18 that the command no longer has."""

from __future__ import annotations

from usmp.tvm018.old_name import (
    FALSE,
    NO_VALUE,
    OPTIONAL_TRUTH,
    TRUE,
    OldName,
    accepted,
    refused,
)

COMPILE_FLAGS: tuple[OldName, ...] = (
    accepted(
        "--runtime-crt-system-lib",
        "C calls functions by their names, and there is no table of them",
        values=("", *TRUE, *FALSE),
        arity=OPTIONAL_TRUTH,
    ),
    refused(
        "--print-pass-times",
        "passes are timed from Python: usmp.build in a PassContext with the instrument "
        "tvm.ir.instrument.PassTimingInstrument()",
        arity=NO_VALUE,
    ),
)
