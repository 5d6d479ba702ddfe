"""Print the Makefile of a board's project."""

from __future__ import annotations

from usmp.boards.board import STACK_BYTES, Board


def print_makefile(board: Board) -> str:
    """Return rules that build `model.elf`, run it in the emulator, and print section sizes."""
    toolchain, emulator = board.toolchain, board.emulator
    library = " ".join(toolchain.options)
    return f"""# Builds model.elf for board {board.name}: {board.description}.
#
#   make          build it
#   make run      run it in {emulator.program}: inputs.bin in, outputs.bin and report.txt out
#   make size     print the sizes of its sections
PREFIX = {toolchain.prefix}
OPTIMIZATION ?= -O2
STACK_SIZE ?= {STACK_BYTES}

CC := $(PREFIX)gcc
CPU := {" ".join(board.cpu_flags)}
LIBRARY := {library}
CFLAGS := $(CPU) $(LIBRARY) -std=c99 $(OPTIMIZATION) -g -Wall -Wextra -ffunction-sections \\
    -fdata-sections -I. -I../codegen/host/include
LDFLAGS := $(CPU) $(LIBRARY) -nostartfiles -T board.ld -Wl,--gc-sections \\
    -Wl,--defsym=STACK_SIZE=$(STACK_SIZE) -Wl,--no-warn-rwx-segments

# The model, this project, and sources of your own.
MODEL := $(wildcard ../codegen/host/src/*.c)
SOURCES := $(wildcard *.c) $(EXTRA_SOURCES)
OBJECTS := $(patsubst %.c,build/%.o,$(notdir $(MODEL) $(SOURCES))) \\
    $(wildcard ../codegen/host/lib/*.o)

vpath %.c $(sort $(dir $(MODEL) $(SOURCES)))

.PHONY: all run size clean

all: model.elf

model.elf: $(OBJECTS) board.ld build/options
\t$(CC) $(LDFLAGS) $(OBJECTS) -lm -o $@

build/%.o: %.c $(wildcard *.h) $(wildcard ../codegen/host/include/*.h) build/options | build
\t$(CC) $(CFLAGS) -c $< -o $@

# Changes if the options do, so that everything is built anew.
build/options: always | build
\t@echo '$(CC) $(CFLAGS) $(LDFLAGS)' | cmp -s - $@ || echo '$(CC) $(CFLAGS) $(LDFLAGS)' > $@

.PHONY: always
always:

build: | compiler
\tmkdir -p $@

.PHONY: compiler
compiler:
\t@command -v $(CC) > /dev/null || {{ \\
\t  echo "$(CC) is not installed; apt-get install {toolchain.packages}" >&2; exit 1; }}

run: model.elf
\t@command -v {emulator.program} > /dev/null || {{ \\
\t  echo "{emulator.program} is not installed; apt-get install {emulator.package}" >&2; exit 1; }}
\t{" ".join(emulator.command("model.elf"))}

size: model.elf
\t$(PREFIX)size -A -x $<

clean:
\trm -rf build model.elf outputs.bin report.txt
"""
