"""Flags of every command of `tvmc` in TVM 0.18, also allowed before the command."""

from __future__ import annotations

from usmp.tvm018.old_name import NO_VALUE, OldName, accepted, refused

MAIN_FLAGS: tuple[OldName, ...] = (
    *(
        accepted(
            name,
            "there is no log to show more of",
            arity=NO_VALUE,
        )
        for name in ("-v", "--verbose")
    ),
    accepted(
        "--config",
        "a build is for target c unless --target names another; TVM 0.18 took llvm",
        values=("default",),
    ),
    refused(
        "--config",
        "options are not read from a file: write its keys as flags, as in --target=c "
        "--executor=aot --runtime=crt --pass-config tir.disable_vectorize=1",
    ),
)
