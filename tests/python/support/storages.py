"""Runs Relax modules whose storage is planned, and sees what they allocate."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import relax
from tvm.relax.backend.cpu_generic import pipeline as cpu

from support.relax_vm import TARGET


def lowered(mod):
    """The module as planners of storage get it."""
    passes = [
        *cpu.library_dispatch_passes(TARGET),
        relax.transform.LegalizeOps(),
        *cpu.dataflow_lower_passes(TARGET),
    ]
    with TARGET:
        return tvm.transform.Sequential(passes)(mod)


def machine_of(planned):
    """The virtual machine of a module whose storage is planned."""
    rest = tvm.transform.Sequential(cpu.finalize_passes(TARGET)[1:])
    return relax.VirtualMachine(tvm.compile(planned, TARGET, relax_pipeline=rest), tvm.cpu())


def run(planned, *inputs):
    """What `main` returns for these arrays."""
    return machine_of(planned)["main"](*map(tvm.runtime.tensor, inputs)).numpy()


def allocations_of_runs(mod, planner, inputs):
    """The bytes of each storage that a run of `main` allocates, and what it returns."""
    machine = machine_of(planner(mod))
    sizes: list[int] = []

    def instrument(_, name, before_run, __, *args):
        if before_run and name == "vm.builtin.alloc_storage":
            sizes.append(int(np.prod(list(args[1]))))
        return relax.VMInstrumentReturnKind.NO_OP

    machine.set_instrument(instrument)
    result = machine["main"](*map(tvm.runtime.tensor, inputs))
    return sizes, result.numpy()
