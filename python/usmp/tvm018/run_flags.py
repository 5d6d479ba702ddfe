"""Flags of `tvmc run` in TVM 0.18 that the command no longer has."""

from __future__ import annotations

from usmp.tvm018.old_name import OldName, accepted, refused

RUN_FLAGS: tuple[OldName, ...] = (
    accepted("--device", "the host's CPU runs the model", values=("cpu",)),
    refused("--device", 'a model runs on this host ("cpu"), with --board or with --serial'),
)
