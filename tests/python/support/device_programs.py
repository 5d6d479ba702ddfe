"""Programs for this host with what `tvmc export-test` writes, and a line between two ends."""

from __future__ import annotations

import os
import pty
import subprocess
import threading
import tty
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from select import select

from usmp.runtime import load_archive
from usmp.runtime.c_compiler import compile_c
from usmp.runtime.write_files import write_files

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-O0")

SELF_TEST = """#include <stdio.h>
#include "{prefix}_device.h"
int main(void) {{
  printf("%d", (int){prefix}_self_test());
  return 0;
}}
"""

# The counter goes up by 100 whenever it is read.
SERVE = """#include <unistd.h>
#include "{prefix}_device.h"
static int32_t take(void* context, uint8_t* bytes, uint32_t count) {{
  (void)context;
  while (count > 0) {{
    const ssize_t got = read(0, bytes, count);
    if (got <= 0) return -1;
    bytes += got;
    count -= (uint32_t)got;
  }}
  return 0;
}}
static int32_t give(void* context, const uint8_t* bytes, uint32_t count) {{
  (void)context;
  return write(1, bytes, count) == (ssize_t)count ? 0 : -1;
}}
static uint32_t cycles(void* context) {{
  static uint32_t count = 0xfffffff0u;
  (void)context;
  return count += 100;
}}
int main(void) {{
  const struct usmp_serial_port port = {{take, give, {cycles}, 0}};
  (void)cycles;
  return {prefix}_serve(&port) == -1 ? 0 : 1;
}}
"""

Filter = Callable[[bytes], bytes]


def build_program(
    archive: Path, test: Path, main: str, folder: Path, flags: Sequence[str] = STRICT, **values: str
) -> Path:
    """A program of an archive, a folder of `tvmc export-test` and a `main`.

    All C that was written for the test compiles without warnings.
    """
    (module,) = load_archive(archive).modules.values()
    files = write_files(load_archive(archive).code(), folder)
    include = [f"-I{folder / 'codegen/host/include'}", f"-I{test}"]
    model = [str(path) for path in files if path.suffix == ".c"]
    (folder / "main.c").write_text(main.format(prefix=module.c_prefix, **values))
    objects = []
    posix = "-D_POSIX_C_SOURCE=200809L"
    for path in [*sorted(test.glob("*.c")), folder / "main.c"]:
        objects.append(folder / f"{path.stem}.o")
        compile_c([*flags, posix, *include, "-c", str(path)], objects[-1])
    sanitize = [flag for flag in flags if "sanitize" in flag]
    arguments = ["-O0", *sanitize, *include, *model, *map(str, objects), "-lm"]
    compile_c(arguments, folder / "program")
    return folder / "program"


def self_test(archive: Path, test: Path, folder: Path, flags: Sequence[str] = STRICT) -> int:
    """What the self test returns on this host."""
    program = build_program(archive, test, SELF_TEST, folder, flags)
    return int(subprocess.run([program], check=True, capture_output=True, text=True).stdout)


@contextmanager
def line_to(program: Path, to_host: Filter = bytes, to_device: Filter = bytes) -> Iterator[str]:
    """The path of a pseudo-terminal at whose other end a program runs, as a device at a line.

    Parameters
    ----------
    program
        reads and writes frames.
    to_host, to_device
        what becomes of the bytes on the line.
    """
    master, slave = pty.openpty()
    tty.setraw(slave)
    stop, wake = os.pipe()
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as device:
        assert device.stdin is not None and device.stdout is not None
        ways = {
            device.stdout.fileno(): (master, to_host),
            master: (device.stdin.fileno(), to_device),
        }
        pump = threading.Thread(target=_pump, args=(ways, stop))
        pump.start()
        try:
            yield os.ttyname(slave)
        finally:
            os.write(wake, b"x")
            pump.join()
            device.kill()
    for number in (master, slave, stop, wake):
        os.close(number)


def _pump(ways: dict[int, tuple[int, Filter]], stop: int) -> None:
    """Move bytes both ways until there is something to read at `stop`."""
    sources = [*ways, stop]
    while stop not in (ready := select(sources, [], [])[0]):
        for source in ready:
            target, change = ways[source]
            content = os.read(source, 4096)
            if not content:
                sources.remove(source)
            elif changed := change(content):
                os.write(target, changed)
