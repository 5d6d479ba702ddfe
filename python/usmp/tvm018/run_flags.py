"""Removed flags of TVM 0.18's `tvmc run`."""

from __future__ import annotations

from usmp.tvm018 import reasons
from usmp.tvm018.old_name import NO_VALUE, VALUES, OldName, accepted, refused
from usmp.tvm018.tvmc_python import TIMES_INCLUDE_ALL, TVMC_RUN

_NO_RPC = (
    "leave it out: there is no RPC; name the board with --board (in the emulator), or the serial "
    "port of your device with --serial"
)

RUN_FLAGS: tuple[OldName, ...] = (
    accepted("--device", "the CPU of this host runs the model", values=("cpu",)),
    *(
        refused("--device", f"leave it out; {row.reason}", values=row.values)
        for row in TVMC_RUN
        if row.name == "device"
    ),
    accepted("--number", "the model is run once, with --print-time too", values=("0",)),
    accepted("--end-to-end", TIMES_INCLUDE_ALL, arity=NO_VALUE),
    refused("--rpc-tracker", _NO_RPC),
    refused("--rpc-key", _NO_RPC),
    refused("--project-option", reasons.NO_PROJECTS, arity=VALUES),
    refused("--list-options", reasons.NO_PROJECTS, arity=NO_VALUE),
)
