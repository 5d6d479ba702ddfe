"""The builds of `tvmc check`: one per core, and one per emulated board."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from usmp.boards.board import Board, board_named
from usmp.boards.board_run import program_memory
from usmp.boards.core_compilers import core_compiler, module_compiler, module_core
from usmp.driver.build.plan_archive import is_archive, planned_module
from usmp.driver.inspect.check_places import Place
from usmp.driver.options.build_options import build_model
from usmp.driver.options.target_options import full_target
from usmp.driver.terminal.progress import ProgressCallback
from usmp.driver.without_torch import without_torch
from usmp.names import CORES
from usmp.report.unfinished_search import unfinished_search
from usmp.report.verdicts import Need, Verdict
from usmp.runtime import Archive, BuildError, load_archive
from usmp.runtime.archived.module import ArchivedModule
from usmp.runtime.code_size import CompiledCode, CrossCompiler, compiled_code
from usmp.support.process.temporary_folder import temporary_folder
from usmp.support.text.plain_text import shown

_ANY_CORE = "cortex-m0"
"""Default core for which portable C is measured, because its code is the largest."""

_OWN_STACK = (
    "The stack is that of the model's functions: that of the C library, of interrupts and of the "
    "application comes on top."
)
_NO_STACK = "The stack is not counted: its size is not known."


class Builds:
    """The builds of a model, one per core, and their verdicts for boards, parts and limits.

    Parameters
    ----------
    options
        options of the command line, whose files are models or a single archive.
    stage
        shows the progress.

    Raises
    ------
    UsageError, ValueError
        the model or the archive cannot be read.
    """

    def __init__(self, options: argparse.Namespace, stage: ProgressCallback) -> None:
        self._options = options
        self._stage = stage
        self._built: dict[tuple[str, str | None], tuple[Archive, ArchivedModule]] = {}
        self._compiled: dict[tuple[int, CrossCompiler], CompiledCode | str] = {}
        self._given: tuple[Archive, ArchivedModule] | None = None
        if is_archive(options):
            module = planned_module(options)
            self._given = load_archive(options.FILE[0]), module
        self.remaining = 1
        """Upper bound of the number of remaining builds, which share the time budget."""
        self._chooses_core = self._given is None and _is_any_core(options)

    @property
    def files(self) -> list[str]:
        """The files of the command line."""
        return list(self._options.FILE)

    @property
    def is_archive(self) -> bool:
        """Whether the build is an archive, which no option changes."""
        return self._given is not None

    def options_of(self, place: Place) -> argparse.Namespace:
        """Return the options of the build for a place: with its core or its board."""
        board = place.name if place.is_board else None
        target = self._options.target if place.is_board else self._target_of(place.core)
        return argparse.Namespace(**{**vars(self._options), "target": target, "board": board})

    def module_of(self, place: Place) -> ArchivedModule:
        """Return the module that is built for a place; for a board, without its memories."""
        if place.is_board:
            return self._for_core(board_named(place.name).core, None)[1]
        return self._for_core(place.core, self._options.io_pool)[1]

    def verdict(self, place: Place) -> Verdict:
        """Return the verdict on whether the model fits a place (a board, a part or limits)."""
        if place.is_board:
            return self._board_verdict(board_named(place.name))
        archive, module = self._for_core(place.core, self._options.io_pool)
        return self._by_sizes(place, archive, module)

    def _for_core(self, core: str, io_pool: str | None) -> tuple[Archive, ArchivedModule]:
        """Return the build for a core. Archives, and models with a target, ignore the core."""
        if self._given is not None:
            return self._given
        target = self._target_of(core)
        if (target, io_pool) not in self._built:
            self._stage(f"building for {target.removeprefix('c -mcpu=')}")
            self._built[target, io_pool] = self._build(target, None, io_pool)
        return self._built[target, io_pool]

    def _target_of(self, core: str) -> str:
        """Return the target of the build for a core."""
        is_chosen = self._chooses_core and core.split("+")[0] in CORES
        return f"c -mcpu={core}" if is_chosen else str(self._options.target)

    def _build(
        self, target: str, board: str | None, io_pool: str | None
    ) -> tuple[Archive, ArchivedModule]:
        overrides = {
            "target": target,
            "board": board,
            "io_pool": io_pool,
            "remaining_builds": self.remaining,
        }
        options = argparse.Namespace(**{**vars(self._options), **overrides})
        from usmp.planning.session import planning_session

        with planning_session() as session, session.own_record():
            factory = build_model(options, self._stage, compare_workspace_io=False)
        # Run extensions once, because a second run would register their operators again.
        self._options.extension = []
        # Read models once, so that all builds in a session share what is lowered.
        self._options.imported_models = options.imported_models
        with temporary_folder() as folder:
            path = folder / "model.tar"
            factory.export_model_library_format(path)
            archive = load_archive(path)
        return archive, archive.module(factory.module_name)

    def _by_sizes(self, place: Place, archive: Archive, module: ArchivedModule) -> Verdict:
        """Return the verdict from the plan and the compiled code, without linking a program."""
        ram, flash, notes = ram_parts(module), _constants(module), []
        code = self._code(place, archive, module)
        if isinstance(code, str):
            notes += [code, _NO_STACK]
        else:
            flash["code"] = code.size_bytes
            if code.variables_size_bytes:
                ram["variables"] = code.variables_size_bytes
            if code.stack_size_bytes is not None:
                ram["stack"] = code.stack_size_bytes
            notes += [f"Code as {code.compiler} makes it, with what it calls of the C library."]
            notes.append(_NO_STACK if code.stack_size_bytes is None else _OWN_STACK)
        verdict = Verdict(
            place.name,
            place.core or module_core(module.metadata),
            Need(ram, place.ram_bytes, "stack" in ram),
            Need(flash, place.flash_bytes, "code" in flash),
            source=place.source,
        )
        unfinished = unfinished_search(module.metadata["memory"])
        advice = _advice(verdict, module) if self.is_archive else []
        notes = [*advice, *unfinished, *_dynamic(module), *notes]
        return replace(verdict, notes=notes)

    def _code(self, place: Place, archive: Archive, module: ArchivedModule) -> CompiledCode | str:
        """Return the compiled code, or the reason why it is not counted."""
        own_cross = module_compiler(module.metadata)
        cross = core_compiler(place.core) if place.core else own_cross or core_compiler(_ANY_CORE)
        if cross is None:
            return f"Code not counted: no compiler for {shown(place.core)} is known."
        if shutil.which(cross.program) is None:
            return f"Code not counted (no {cross.program})."
        key = (id(module), cross)
        if key not in self._compiled:
            self._stage(f"compiling for {place.core or module.name}")
            try:
                files = archive.code(module.name)
                with without_torch():
                    code = compiled_code(files, module.metadata, cross)
                # Code that was compiled for another machine cannot be measured here.
                why = code.not_linked
                self._compiled[key] = code if why is None else f"Code not counted: {shown(why)}."
            except BuildError as error:
                self._compiled[key] = f"Code not counted: {shown(error, 300)}."
        return self._compiled[key]

    def _board_verdict(self, board: Board) -> Verdict:
        """Return the verdict for an emulated board, for which a program is planned and linked."""
        board_place = partial(_sized_place, board)
        if self._given is not None and self._given[1].metadata.get("board") != board.name:
            return self._by_sizes(board_place(), *self._given)
        try:
            target, io_pool = self._options.target, self._options.io_pool
            archive, module = self._given or self._build(target, board.name, io_pool)
        except ValueError as error:
            # Build without the board's memories: this raises if the model itself is at fault.
            without_board = self._by_sizes(board_place(), *self._for_core(board.core, None))
            from usmp.algorithms import DoesNotFitError

            is_memory_short = isinstance(error, DoesNotFitError)
            return replace(
                without_board, why_not=shown(error, 500), is_memory_short=is_memory_short
            )
        self._stage(f"linking for {board.name}")
        with without_torch():
            from usmp.boards.emulator import EmulatedModule

        try:
            sections = EmulatedModule(archive.files, module.metadata, board).sections()
        except BuildError as error:
            verdict = self._by_sizes(board_place(), archive, module)
            if "overflowed" in str(error):
                return replace(verdict, why_not=shown(error, 500))
            note = f"The program was not linked: {shown(error, 300)}."
            return replace(verdict, notes=[*verdict.notes, note])
        memory = program_memory(sections, board)
        place = board_place()
        return Verdict(
            board.name,
            board.core,
            Need(
                {"pools": memory.pools, "stack": memory.stack, "variables": memory.variables},
                place.ram_bytes,
            ),
            Need({"constants": memory.constants, "code": memory.code}, place.flash_bytes),
            notes=[
                *unfinished_search(module.metadata["memory"]),
                "A whole program was linked, with start-up code and the stack of its project.",
            ],
            source=place.source,
        )


def _is_any_core(options: argparse.Namespace) -> bool:
    """Return whether the target is plain "c", so that each build may select the place's core."""
    from usmp.objects.target.targets import parse_targets, target_text

    targets = parse_targets(full_target(options), takes_executor_options=True)
    says_more = targets.accelerators or targets.executor_options
    return not says_more and target_text(targets.cpu) == "c"


def _sized_place(board: Board) -> Place:
    """Return a board as a place, with the total size of the memories that its programs use."""
    memories = {memory.name: memory.size_bytes for memory in board.memories}
    written = {*board.workspace_memories, board.data_memory}
    read = {*board.constant_memories, board.code_memory}
    return Place(
        board.name,
        board.core,
        sum(memories[name] for name in written),
        sum(memories[name] for name in read),
        "tvmc list boards",
    )


def ram_parts(module: ArchivedModule) -> dict[str, int]:
    """Return the bytes of RAM in the plan, by use."""
    memory = module.metadata["memory"]
    if "ram" in memory:
        ram = memory["ram"]
        return {
            "workspace": ram["workspace_size_bytes"],
            "inputs and outputs": ram["io_size_bytes"],
        }
    return {"workspace": sum(p.size_bytes for p in module.pools if not p.is_constant)}


def _constants(module: ArchivedModule) -> dict[str, int]:
    return {"constants": sum(pool.size_bytes for pool in module.pools if pool.is_constant)}


def _advice(verdict: Verdict, module: ArchivedModule) -> list[str]:
    """Return sentences about how to reduce RAM, if RAM is missing."""
    if not verdict.ram.missing:
        return []
    ram: Mapping[str, Any] = module.metadata["memory"].get("ram", {})
    planned = sum(ram_parts(module).values())
    with_io = ram.get("size_bytes_with_workspace_io", planned)
    rest = verdict.ram.needed - planned
    advice = []
    if with_io < planned:
        outcome = (
            "fits" if with_io + rest <= (verdict.ram.available or 0) else "does not fit either"
        )
        advice.append(f"With --workspace-io it takes {with_io + rest} bytes of RAM, and {outcome}.")
    return advice


def _dynamic(module: ArchivedModule) -> list[str]:
    if "dynamic_allocations" not in module.metadata["memory"]:
        return []
    return ["Buffers whose size has no bound are not counted: runs allocate them."]
