"""The CPU of this machine, for "llvm -mcpu=native"."""

from __future__ import annotations

from collections.abc import Iterable

import tvm

NATIVE = "native"


def native_cpu(features: Iterable[object]) -> dict[str, object]:
    """Return the options `mcpu` and `mattr` of a target for this machine.

    A virtual machine may lack features of its CPU, which `mattr` then disables.

    Parameters
    ----------
    features
        features of the user such as "+avx2" or "-avx512f", which take precedence.
    """
    cpu = str(tvm.get_global_func("target.llvm_get_system_cpu")())
    of_cpu = tvm.get_global_func("target.llvm_get_cpu_features")(
        tvm.target.Target({"kind": "llvm", "mcpu": cpu})
    )
    here = tvm.get_global_func("tvm.codegen.llvm.GetHostCPUFeatures")()
    lacking = {str(name) for name, is_there in here.items() if not is_there} & set(map(str, of_cpu))
    attributes = [*(f"-{name}" for name in sorted(lacking)), *map(str, features)]
    return {"mcpu": cpu, **({"mattr": attributes} if attributes else {})}


def check_native_triple(triple: object) -> None:
    """Check that the triple of a target with -mcpu=native has the architecture of this machine.

    Raises
    ------
    ValueError
        the triple has another architecture.
    """
    here = str(tvm.get_global_func("target.llvm_get_system_triple")())
    if triple and str(triple).partition("-")[0] != here.partition("-")[0]:
        raise ValueError(
            f"target llvm: -mcpu={NATIVE} is the CPU of this machine, {here}, and "
            f"-mtriple={triple} is another one; name the CPU, as -mcpu=cortex-m3"
        )
