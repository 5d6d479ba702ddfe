"""Programs for an emulated ATmega2560, whose `int` has 16 bits: bytes in from flash, and out by a
serial port.

It has 8 KiB of memory, some of which is for constants, so a program has few models.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

import numpy as np

import usmp
from support.compilers import require, run_compiler

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
_COMPILER = ("avr-gcc", "-mmcu=atmega2560")
_EMULATOR = ("qemu-system-avr", "-machine", "mega2560", "-display", "none", "-monitor", "none")
_SECONDS = 60
_MEMORY_BYTES = 6656
"""Of a program's data; its stack has the others."""
_FLASH_BYTES = 56 << 10
"""Of models and inputs: QEMU 7.2 reads no constants beyond 64 KiB."""
_INPUT_BYTES = 32767
"""An array is no larger."""

_BOARD_H = """\
#include <stdint.h>

void begin(void);
void read_inputs(void* to, uint16_t bytes);
void write_outputs(const void* from, uint16_t bytes);
"""
_BOARD_C = """\
#include "board.h"

#include <avr/io.h>
#include <avr/pgmspace.h>

static const uint8_t inputs[] PROGMEM = {INPUTS 0};
static const uint8_t* next = inputs;

void begin(void) { UCSR0B = 1 << TXEN0; }

void read_inputs(void* to, uint16_t bytes) {
  memcpy_P(to, next, bytes);
  next += bytes;
}

void write_outputs(const void* from, uint16_t bytes) {
  for (const uint8_t* at = (const uint8_t*)from; bytes > 0; --bytes) {
    while (!(UCSR0A & 1 << UDRE0)) {
    }
    UDR0 = *at++;
  }
}

/* As in libgcc, but without a RET that is skipped: QEMU 7.2 stays there for good. */
__asm__(
    ".text\\n"
    ".global __usmulhisi3\\n"
    "__usmulhisi3: call __umulhisi3\\n"
    ".global __usmulhisi3_tail\\n"
    "__usmulhisi3_tail: sbrs r27, 7\\n"
    "rjmp 1f\\n"
    "sub r24, r18\\n"
    "sbc r25, r19\\n"
    "1: ret\\n");
"""

Tensors = Mapping[str, np.ndarray]
Model = tuple[usmp.AOTExecutorFactoryModule, Sequence[Tensors]]


@dataclass(frozen=True)
class _Compiled:
    """A model's object files, and what they take, in bytes."""

    model: Model
    objects: list[Path]
    flash: int
    memory: int


def compile_for_avr(source: Path, *flags: str) -> str:
    """Compile a C file to an object file beside it, as strictly as the project promises, and return
    what the compiler prints."""
    require(_COMPILER[0])
    command = [*_COMPILER, *STRICT, *flags, "-c", str(source), "-o", str(source.with_suffix(".o"))]
    return run_compiler(command, check=False).stderr


def run_on_avr(
    files: Mapping[str, str], inputs: bytes, count: int, folder: Path, *flags: str
) -> bytes:
    """Return the `count` bytes that a program writes by `write_outputs`.

    Parameters
    ----------
    files
        C files and headers by name; one has `main`, which calls `begin` and never ends.
    inputs
        bytes that it reads by `read_inputs`.
    flags
        of the compiler.
    """
    objects = _compile({**files, "board.h": _BOARD_H}, folder, *flags)
    return _run(objects, inputs, count, folder)


def _compile(files: Mapping[str, str], folder: Path, *flags: str) -> list[Path]:
    """The object files of C files."""
    sources = [folder / name for name in files if name.endswith(".c")]
    for name, text in files.items():
        (folder / name).write_text(text)
    for source in sources:
        printed = compile_for_avr(source, *flags)
        assert printed == "", printed
    return [source.with_suffix(".o") for source in sources]


def _run(objects: Sequence[Path], inputs: bytes, count: int, folder: Path) -> bytes:
    require(_EMULATOR[0])
    board, program = folder / "board.c", folder / "program.elf"
    board.write_text(_BOARD_C.replace("INPUTS", "".join(f"{byte}, " for byte in inputs)))
    link = [*_COMPILER, "-Os", str(board), *map(str, objects), "-lm", "-o", str(program)]
    done = run_compiler(link, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    command = [*_EMULATOR, "-bios", str(program), "-serial", "stdio"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as emulator:
        assert emulator.stdout is not None
        stop = Timer(_SECONDS, emulator.kill)
        stop.start()
        try:
            # The program never ends.
            return emulator.stdout.read(count)
        finally:
            stop.cancel()
            emulator.kill()


def run_models_on_avr(
    models: Sequence[Model], folder: Path, *flags: str
) -> list[list[dict[str, np.ndarray]]]:
    """Return the outputs of models for each of their inputs; as few programs as the memory permits
    run them."""
    (folder / "board.h").write_text(_BOARD_H)
    compiled = [_compiled(model, folder, *flags) for model in models]
    return [outputs for some in _programs(compiled) for outputs in _run_models(some, folder)]


def _compiled(model: Model, folder: Path, *flags: str) -> _Compiled:
    files = {
        name.rpartition("/")[2]: text.decode()
        for name, text in model[0].files().items()
        if name.startswith("codegen/") and name.endswith((".c", ".h"))
    }
    objects = _compile(files, folder, *flags)
    sizes = subprocess.run(
        ["avr-size", *map(str, objects)], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in sizes.stdout.splitlines()[1:]]
    text, data, bss = (sum(int(row[column]) for row in rows) for column in range(3))
    return _Compiled(model, objects, text + data, data + bss)


def _programs(models: Sequence[_Compiled]) -> Iterator[list[_Compiled]]:
    program: list[_Compiled] = []
    for model in models:
        more = [*program, model]
        inputs = sum(len(m.model[1]) * sum(_sizes(m, "inputs")) for m in more)
        memory = sum(m.memory for m in more) + _most_tensor_bytes(more)
        flash = sum(m.flash for m in more) + inputs
        if memory > _MEMORY_BYTES or flash > _FLASH_BYTES or inputs > _INPUT_BYTES:
            yield program
            program = []
        program.append(model)
    yield program


def _most_tensor_bytes(models: Sequence[_Compiled]) -> int:
    return max(sum(_sizes(model, "inputs") + _sizes(model, "outputs")) for model in models)


def _sizes(compiled: _Compiled, role: str) -> list[int]:
    tensors = getattr(compiled.model[0].interface, role)
    return [int(tensor.info.size_bytes) for tensor in tensors]


def _run_models(models: Sequence[_Compiled], folder: Path) -> Iterator[list[dict[str, np.ndarray]]]:
    """Run several models in one program."""
    headers = "".join(f'#include "{m.model[0].interface.prefix}.h"\n' for m in models)
    main = (
        f'#include "board.h"\n{headers}\nstatic uint8_t tensors[{_most_tensor_bytes(models)}];\n\n'
        f"int main(void) {{\n  begin();\n{''.join(map(_runs, models))}  for (;;) {{\n  }}\n}}\n"
    )
    objects = _compile({"main.c": main}, folder, "-Os")
    inputs = b"".join(
        run[str(tensor.info.name)].tobytes()
        for factory, runs in (m.model for m in models)
        for run in runs
        for tensor in factory.interface.inputs
    )
    count = sum(len(m.model[1]) * sum(_sizes(m, "outputs")) for m in models)
    objects += [path for m in models for path in m.objects]
    received = _run(objects, inputs, count, folder)
    assert len(received) == count, f"{len(received)} of {count} bytes"
    arrays = iter(_arrays(models, received))
    for m in models:
        yield [next(arrays) for _ in m.model[1]]


def _runs(compiled: _Compiled) -> str:
    """C that runs a model several times."""
    prefix = compiled.model[0].interface.prefix
    inputs, outputs = _sizes(compiled, "inputs"), _sizes(compiled, "outputs")
    places = [f"tensors + {place}" for place in np.cumsum([0, *inputs, *outputs])]
    return (
        f"  for (uint8_t run = 0; run < {len(compiled.model[1])}; ++run) {{\n"
        f"    struct {prefix}_inputs inputs = {{{', '.join(places[: len(inputs)])}}};\n"
        f"    struct {prefix}_outputs outputs = {{{', '.join(places[len(inputs) : -1])}}};\n"
        f"    read_inputs(tensors, {sum(inputs)});\n"
        f"    if ({prefix}_run(&inputs, &outputs) != 0) return 1;\n"
        f"    write_outputs(tensors + {sum(inputs)}, {sum(outputs)});\n"
        "  }\n"
    )


def _arrays(models: Sequence[_Compiled], received: bytes) -> Iterator[dict[str, np.ndarray]]:
    """The outputs of all runs."""
    start = 0
    for factory, runs in (m.model for m in models):
        for _ in runs:
            arrays = {}
            for tensor in factory.interface.outputs:
                shape = [int(extent) for extent in tensor.info.shape]
                array = np.frombuffer(received, str(tensor.info.dtype), int(np.prod(shape)), start)
                arrays[str(tensor.info.name)] = array.reshape(shape)
                start += array.nbytes
            yield arrays
