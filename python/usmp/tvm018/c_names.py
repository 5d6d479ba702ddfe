"""Names of TVM 0.18's headers, archives and C runtime in applications."""

from __future__ import annotations

from usmp.tvm018 import reasons
from usmp.tvm018.old_name import OldName, accepted, mapped, refused

_OWN_NAMES = (
    "write --c-names=0.18 (c_names= in Python) for outputs that are called so; by default members "
    "have the names in the model"
)
_NO_HEADER = f"{reasons.NO_RUNTIME}: delete the #include and what it declares"
_NOT_CALLED = "the C never calls it, so that a definition may stay or go"
_ONLY_WITH_OPTION = (
    "the C calls it only with tir.usmp.dynamic=TVMBackendAllocWorkspace, so that else a "
    "definition may stay or go"
)
_NO_STACK = "delete it: memory is planned, and nothing takes it from a stack"
_ALL_SOURCES = "compile every file of codegen/host/src, of which there may be one"

_HEADERS = (
    "tvm/runtime/c_runtime_api.h",
    "tvm/runtime/c_backend_api.h",
    "tvm/runtime/crt/crt.h",
    "tvm/runtime/crt/error_codes.h",
    "tvm/runtime/crt/logging.h",
    "tvm/runtime/crt/packed_func.h",
    "tvm/runtime/crt/page_allocator.h",
    "tvm/runtime/crt/platform.h",
    "tvm/runtime/crt/stack_allocator.h",
    "dlpack/dlpack.h",
)
_OF_PLATFORMS = (
    "TVMPlatformAbort",
    "TVMPlatformFormatMessage",
    "TVMPlatformGenerateRandom",
    "TVMPlatformInitialize",
    "TVMPlatformMemoryAllocate",
    "TVMPlatformMemoryFree",
    "TVMPlatformTimerStart",
    "TVMPlatformTimerStop",
    "TVMLogf",
    "TVMFuncRegisterGlobal",
)
_OF_THE_RUNTIME = ("TVMBackendParallelLaunch", "TVMAPISetLastError")
_ALLOCATORS = ("TVMBackendAllocWorkspace", "TVMBackendFreeWorkspace")

C_INTERFACE: tuple[OldName, ...] = (
    *(mapped(name, "--c-names=0.18", _OWN_NAMES) for name in ("output", "output<N>")),
    refused("tvmgen_<module>___tvm_main__", "it is static now; call tvmgen_<module>_run"),
    *(accepted(name, _NOT_CALLED) for name in (*_OF_PLATFORMS, *_OF_THE_RUNTIME)),
    *(accepted(name, _ONLY_WITH_OPTION) for name in _ALLOCATORS),
    *(refused(name, _NO_HEADER) for name in _HEADERS),
    *(refused(f"StackMemoryManager_{name}", _NO_STACK) for name in ("Init", "Allocate", "Free")),
    refused("crt_config.h", "delete it from the build: there is no C runtime to configure"),
    refused("runtime/", "the archive has no C runtime: delete its sources from the build"),
    refused("templates/crt_config.h.template", "there is no C runtime to configure"),
    *(refused(f"codegen/host/src/<module>_lib{number}.c", _ALL_SOURCES) for number in (1, 2)),
    refused("parameters/<module>.params", "constants are in the C, planned into constant pools"),
    refused("src/<module>.relay", "there is no Relay: src/<module>.tir is the planned module"),
    refused("executor-config/graph/<module>.graph", reasons.AOT_ONLY),
    refused(
        "metadata.json: memory.sids",
        "storage of the graph executor; memory.pools has the place of every buffer",
    ),
    accepted(
        "metadata.json: export_datetime",
        "it is 1970-01-01, or that of SOURCE_DATE_EPOCH, so that equal builds are equal files",
        changes_meaning=True,
    ),
)
