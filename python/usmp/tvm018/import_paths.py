"""Names in TVM 0.18's Python packages that TVM has removed.

Importing an old name fails with Python's own error, because the folders belong to TVM's wheel.
"""

from __future__ import annotations

from usmp.tvm018.old_name import OldName, mapped

_IMPORT = "TVM no longer has it; import {to}"

_POOLS = (
    "ConstantMemoryPools",
    "ConstantPoolInfo",
    "PoolInfo",
    "PoolInfoProperties",
    "WorkspaceMemoryPools",
    "WorkspacePoolInfo",
)

_PLACES = {
    **{f"tvm.{name}": "usmp" for name in _POOLS},
    "tvm.ir.memory_pools": "usmp",
    "tvm.tir.usmp": "usmp",
    "tvm.tir.usmp.utils": "usmp",
    "tvm.tir.usmp.analysis": "usmp.analysis",
    "tvm.tir.usmp.transform": "usmp.transform",
    "tvm.driver.tvmc": "usmp.driver.tvmc",
    "tvm.driver.tvmc.model": "usmp.driver.tvmc",
}

_FUNCTIONS = {
    "tvm.driver.tvmc.compiler.compile_model": "usmp.driver.tvmc.compile",
    "tvm.driver.tvmc.frontends.load_model": "usmp.driver.tvmc.load",
    "tvm.driver.tvmc.main.main": "usmp.driver.tvmc.main",
    "tvm.driver.tvmc.main._main": "usmp.driver.tvmc.main",
    "tvm.driver.tvmc.runner.run_module": "usmp.driver.tvmc.run",
}

IMPORT_PATHS: tuple[OldName, ...] = (
    *(mapped(name, to, _IMPORT.format(to=to)) for name, to in _PLACES.items()),
    *(mapped(name, to, f"it is the function {to}") for name, to in _FUNCTIONS.items()),
    mapped(
        "tvm.register_func",
        "tvm.register_global_func",
        "TVM renamed it; write tvm.register_global_func, also for algorithms tir.usmp.algo.<name>",
    ),
    mapped("tvm.contrib.utils", "tvm.support.utils", "TVM renamed it; import tvm.support.utils"),
    mapped("tvm.nd.array", "tvm.runtime.tensor", "TVM renamed it; write tvm.runtime.tensor"),
    mapped(
        "tvm.runtime.executor.aot_executor.AotModule",
        "usmp.load_archive",
        "usmp.load_archive(path).load().run(inputs) runs an archive on this host",
    ),
    mapped(
        "tvm.TVMError",
        "usmp.driver.tvmc.TVMCException",
        "errors of TVM are Python's own, as ValueError and RuntimeError; catch "
        "usmp.driver.tvmc.TVMCException for those of this package",
    ),
)
