"""Buffers, conflicts and live ranges of a module, by name, for exact comparison."""

from __future__ import annotations

import numpy as np
import tvm
from tvm import tirx

from usmp.analysis import extract_buffer_info
from usmp.objects import ConstantPoolInfo, Executor, WorkspacePoolInfo
from usmp.objects.attributes.module_attributes import EXECUTOR_ATTR
from usmp.transform import AssignPoolInfo

TARGET = tvm.target.Target("c")
DATA = tvm.runtime.tensor(np.arange(4, dtype="int8"))
SRAM = WorkspacePoolInfo("sram", [TARGET])
DRAM = WorkspacePoolInfo("dram", [TARGET])
FLASH = ConstantPoolInfo("flash", [TARGET])


def analyze(mod, options=None):
    if options:
        mod = mod.with_attr(EXECUTOR_ATTR.name, Executor("aot", options))
    mod = AssignPoolInfo()(tirx.transform.BindTarget(TARGET)(mod))
    return extract_buffer_info(mod["__tvm_main__"], mod)


def buffers(mod, options=None):
    infos = list(analyze(mod, options).buffer_info_stmts)
    found = {info.name_hint: info for info in infos}
    assert len(found) == len(infos)
    return found


def conflicts(mod):
    return {
        name: {other.name_hint for other in info.conflicts} for name, info in buffers(mod).items()
    }


def live(mod):
    return {
        name: [(span.start, span.stop) for span in info.live_ranges]
        for name, info in buffers(mod).items()
    }
