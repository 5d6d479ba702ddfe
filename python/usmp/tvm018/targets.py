"""Removed targets of TVM 0.18, options of targets, and the flags that select or set them."""

from __future__ import annotations

from dataclasses import replace

from usmp.tvm018 import reasons
from usmp.tvm018.executor_runtime import LINK_PARAMS
from usmp.tvm018.old_name import FALSE, TRUE, OldName, accepted, mapped, refused

_LIBRARIES = {
    "bnns": "a library of macOS and iOS",
    "clml": "Qualcomm's library for Android",
    "compute-library": "Arm Compute Library, which is for Linux",
    "cutlass": "a library for GPUs of NVIDIA",
    "ethos-n": "a driver for Linux",
    "ethos-n77": "a driver for Linux",
    "ethos-n78": "a driver for Linux",
    "mrvl": "Marvell's compiler for hosts with Linux",
    "tensorrt": "a library for GPUs of NVIDIA",
    "vitis-ai": "AMD's runtime for Linux",
}
"""Code generator of TVM 0.18 for hosts -> the library that its code called."""

_KINDS = (
    "aocl",
    "aocl_sw_emu",
    "composite",
    "cuda",
    "ext_dev",
    "hexagon",
    "hybrid",
    "metal",
    "nvptx",
    "opencl",
    "rocm",
    "sdaccel",
    "stackvm",
    "vulkan",
    "webgpu",
)
"""Target kinds of TVM 0.18 that generated no code for CPUs."""

_OF_ETHOS_U = (
    f'write "c -mcpu=cortex-m55" to run all operators on the CPU; {reasons.ON_ACCELERATORS}'
)
_OF_OTHER_KINDS = 'code is made for CPUs only; write "c" or "llvm"'

CMSIS_NN = "cmsis-nn"

TARGET_NAMES: tuple[OldName, ...] = (
    mapped(
        CMSIS_NN,
        "c",
        f'{reasons.OWN_KERNELS}, so "c" takes its place, with the -mcpu of either',
    ),
    refused("ethos-u", _OF_ETHOS_U),
    *(
        refused(name, f'it called {library}; write "c" or "llvm" to run all operators on the CPU')
        for name, library in _LIBRARIES.items()
    ),
    *(refused(name, _OF_OTHER_KINDS) for name in _KINDS),
)
"""Names of targets. A refused name is allowed if an accelerator of this name has patterns."""

_MODELS = {
    "cortex-m0plus": ("rp2040",),
    "cortex-m3": ("sam3x8e",),
    "cortex-m4": ("atsamd51", "cxd5602gg", "stm32l4r5zi"),
    "cortex-m7": ("imxrt10xx", "stm32f746xx", "stm32h7xx"),
    "cortex-m33": ("mps2_an521", "nrf5340dk", "stm32u5xx"),
    "cortex-m55": ("mps3_an547",),
}
"""Core with kernels -> models of `tvm.target.target.micro`."""

_ARCHITECTURES = {
    "cortex-m0": ("armv6-m", "armv6s-m"),
    "cortex-m3": ("armv7-m",),
    "cortex-m4": ("armv7e-m", "armv7e-m+fp"),
    "cortex-m23": ("armv8-m.base",),
    "cortex-m33+nodsp": ("armv8-m.main", "armv8.1-m.main"),
    "cortex-m33": ("armv8-m.main+dsp", "armv8-m.main+dsp+fp", "armv8.1-m.main+dsp"),
    "cortex-m55+nomve.fp": ("armv8.1-m.main+mve",),
    "cortex-m55": ("armv8.1-m.main+mve.fp",),
}
"""Core -> architectures (-march) that it implements without further extensions."""

_UNLESS_GIVEN = "means {core}, unless -mcpu is given"

_UNLESS_NAMED = "means {core}, unless -mcpu or -model says more"

_OF_ALL_KINDS = (
    accepted("-keys", "keys chose schedules; kernels are chosen by -mcpu"),
    accepted("-device", "the device chose schedules; kernels are chosen by -mcpu"),
    accepted("-tag", "a tag is a label only"),
    accepted("-libs", "operators call no libraries"),
    accepted("-host", reasons.MAIN_ON_TARGET),
    accepted("-runtime", reasons.NO_RUNTIME, values=("c", "crt")),
    refused(
        "-runtime",
        "packed functions of TVM's runtime for C++ are a matter of the executor: leave it out, and "
        "set its interface-api=packed (--executor-aot-interface-api)",
        values=("c++", "cpp"),
    ),
    refused("-runtime", f"{reasons.NO_RUNTIME}: leave it out"),
    accepted("-system-lib", reasons.NO_TABLE, values=(*TRUE, *FALSE)),
    accepted("-executor", reasons.AOT_ONLY, values=("aot",)),
    refused("-executor", f"{reasons.AOT_ONLY}; leave it out"),
    replace(LINK_PARAMS, name="-link-params"),
    *(
        mapped(
            f"-{name}",
            f"--executor-aot-{option}={{value}}",
            f"it is the option {option} of the executor",
        )
        for name, option in (
            ("interface-api", "interface-api"),
            ("unpacked-api", "unpacked-api"),
            ("link-params", "link-params"),
            ("workspace-byte-alignment", "workspace-byte-alignment"),
            ("constants-byte-alignment", "constant-byte-alignment"),
        )
    ),
)
"""Options of targets "c" and "llvm"; values are `str` of the JSON value, in lower case."""

C_OPTIONS: tuple[OldName, ...] = (
    mapped(
        "-mcpu",
        "-mcpu=cortex-m3",
        "the core cannot lack DSP instructions; -mcpu=cortex-m3 has kernels without them",
        values=("cortex-m4+nodsp", "cortex-m7+nodsp"),
    ),
    mapped("-mcpu", "-mcpu=cortex-m33", "it has the same instructions", values=("cortex-m35p",)),
    accepted("-mcpu", "no kernels are for this CPU, so the C is portable, as without -mcpu"),
    *(
        mapped("-model", f"-mcpu={core}", _UNLESS_GIVEN.format(core=f"-mcpu={core}"), values=models)
        for core, models in _MODELS.items()
    ),
    mapped(
        "-model",
        "-mcpu=cortex-m3",
        "means -mcpu=cortex-m3, unless -mcpu is given, since TVM 0.18 used no DSP instructions of "
        "it; -mcpu=cortex-m4 has kernels with them",
        values=("nrf52840",),
    ),
    accepted(
        "-model",
        "no kernels are for its CPU, so the C is portable, unless -mcpu is given",
        values=("esp32", "host", "zynq_mp_r5"),
    ),
    accepted("-model", "its core is not known, so only -mcpu says it (tvmc list cores)"),
    *(
        mapped("-march", f"-mcpu={core}", _UNLESS_NAMED.format(core=f"-mcpu={core}"), values=names)
        for core, names in _ARCHITECTURES.items()
    ),
    accepted("-march", "no kernels are for it alone; say the core by -mcpu (tvmc list cores)"),
    *_OF_ALL_KINDS,
)
"""Options of target "c"; -mcpu only has rows for cores without kernels."""

_FAST_MATH = ("", "-nnan", "-ninf", "-nsz", "-arcp", "-contract", "-reassoc")

LLVM_OPTIONS: tuple[OldName, ...] = (
    accepted("-model", "the CPU is that of -mcpu"),
    accepted("-num-cores", "the code runs in one thread", values=("1",)),
    refused("-num-cores", "the code runs in one thread; leave it out"),
    *(
        row
        for flag in _FAST_MATH
        for row in (
            accepted(f"-fast-math{flag}", "floats are computed as written", values=FALSE),
            refused(
                f"-fast-math{flag}",
                'floats are computed as written; for others use target "c" with your compiler\'s '
                "own option, as -ffast-math",
            ),
        )
    ),
    accepted("-opt-level", "LLVM always optimizes at its level 3"),
    accepted("-jit", "nothing runs inside of the compiler"),
    accepted("-vector-width", "LLVM knows it from -mcpu and -mattr"),
    refused("-cl-opt", "options of LLVM itself are not passed on; leave it out"),
    *_OF_ALL_KINDS,
)
"""Options of target "llvm"."""

CMSIS_NN_OPTIONS: tuple[OldName, ...] = (
    mapped("-mcpu", "-mcpu={value}", 'it is the core of "c"'),
    mapped(
        "-mattr",
        "-mcpu=CORE{value}",
        'what the core of "c" lacks follows its name, as -mcpu=cortex-m55+nomve',
    ),
    accepted("-debug_last_error", "no functions of CMSIS-NN are called that could fail"),
)
"""Options of target "cmsis-nn"."""

TARGET_OPTION_ROWS: dict[str, tuple[OldName, ...]] = {
    "c": C_OPTIONS,
    "llvm": LLVM_OPTIONS,
    CMSIS_NN: CMSIS_NN_OPTIONS,
}
"""Target -> rows of its options, as "-keys=cpu"."""

TARGET_FLAGS: tuple[OldName, ...] = (
    refused("--target-host", f"{reasons.MAIN_ON_TARGET}; leave it out"),
    *(
        refused(f"--target-{row.name}-*", f"leave it out; in --target, {row.reason}")
        for row in TARGET_NAMES
        if row.name != CMSIS_NN
    ),
)
"""Flags of `tvmc compile` for refused targets."""

TARGET_OPTION_FLAGS: tuple[OldName, ...] = tuple(
    replace(row, name=f"--target-{kind}{row.name}")
    for kind, rows in TARGET_OPTION_ROWS.items()
    for row in rows
)
"""Flags of `tvmc compile` that set options of targets."""
