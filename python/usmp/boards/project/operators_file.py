"""Print the files of a board's project that count the instructions of each operator."""

from __future__ import annotations

from usmp.codegen.interface.module_interface import Interface


def operator_files(interface: Interface) -> dict[str, str]:
    """Return the files by name if the C calls hooks around operators, else no files."""
    if not interface.operator_hooks:
        return {}
    begin, end = interface.operator_hooks
    return {
        "operators.h": _HEADER,
        "operators.c": f"""/* Instructions of each operator; an application needs no such file. */
#include "operators.h"

#include <string.h>

#include "measure.h"
#include "report.h"
#include "{interface.prefix}.h"

enum {{ OPERATORS = {interface.macro_prefix}_OPERATOR_COUNT }};

static struct moment begin;
static uint64_t ticks[OPERATORS + 1];
/* Ticks between two hooks with nothing in between. */
static uint64_t overhead;

__attribute__((noinline)) void {begin}(int32_t operator_index) {{
  (void)operator_index;
  moment_now(&begin);
}}

__attribute__((noinline)) void {end}(int32_t operator_index) {{
  ticks[operator_index] += ticks_since(&begin) - overhead;
}}

void operators_begin(void) {{
  overhead = 0;
  memset(ticks, 0, sizeof(ticks));
  {begin}(OPERATORS);
  {end}(OPERATORS);
  overhead = ticks[OPERATORS];
}}

void operators_report(int32_t file) {{
  for (uint32_t index = 0; index < OPERATORS; ++index) {{
    report(file, "operator", instructions_of(ticks[index]));
  }}
}}
""",
    }


def operators_include(interface: Interface) -> str:
    """Return the include of `operators.h`; empty without hooks."""
    return '#include "operators.h"\n' if interface.operator_hooks else ""


def operators_begin(interface: Interface, indent: str = "  ") -> str:
    """Return the statement before a run that resets the counts; empty without hooks."""
    return f"{indent}operators_begin();\n" if interface.operator_hooks else ""


def operators_report(interface: Interface, file: str, indent: str = "  ") -> str:
    """Return the statement after a run that reports the counts; empty without hooks."""
    return f"{indent}operators_report({file});\n" if interface.operator_hooks else ""


_HEADER = """/* Instructions of each operator of the model. */
#ifndef OPERATORS_H_
#define OPERATORS_H_

#include <stdint.h>

/* Forget all counts, before a run. */
void operators_begin(void);

/* Report one number for each operator, after a run. */
void operators_report(int32_t file);

#endif
"""
