"""What compilers made of the same sources with the same flags, for all workers and later runs.

An entry is found by the contents of all files that a command reads, its flags and the compiler; not
by the folders where these files are. So what a program tells of its own sources, as a sanitizer
does, names files of the first test that compiled them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

COMPILER = re.compile(
    r"(?:[\w.]+-)*(?:cc|c\+\+|gcc|g\+\+|clang|clang\+\+|armclang)(?:-\d[\d.]*)?", re.ASCII
)
_INCLUDE = re.compile(
    rb"^[ \t]*#[ \t]*(?:include|include_next|import|embed)[ \t]*(.*)"
    rb"|__has_(?:include|embed)\w*[ \t]*\(([^)]*)",
    re.MULTILINE,
)
_NAMED = re.compile(rb'[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)')
_ABSOLUTE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"/', re.MULTILINE)
_DIRECTORY_FLAGS = ("-iquote", "-isystem", "-idirafter", "-I")
_VALUE_FLAGS = {"-x", "-D", "-U", "-l", "-target", "--param", "-Xlinker", "-Xassembler", "-e", "-u"}
_FILE_FLAGS = {"-include", "-imacros", "-T"}
_OTHER_OUTPUT = ("--coverage", "-fprofile", "-save-temps", "-M", "-fstack-usage", "-fcallgraph")
"""Flags with which a compiler reads or writes files that the command does not name."""
_ENVIRONMENT = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "LC_ALL", "LANG")
_MOST_BYTES = 4 << 30

_folder: Path | None = None
_is_started = ContextVar("usmp_tests_compiler_is_started", default=False)


class _NotCached(Exception):
    """The command may depend on more than this module finds."""


def use_folder(folder: Path) -> None:
    """Keep what is compiled from now on in `folder`."""
    global _folder
    _folder = folder


def remove_oldest() -> None:
    """Leave at most four gigabytes of what was not used for the longest time."""
    if _folder is None:
        return
    size = 0
    # Tests that are run at the same time may remove some, too.
    with suppress(FileNotFoundError):
        for entry in sorted(_folder.iterdir(), key=lambda e: e.stat().st_mtime_ns, reverse=True):
            size += sum(file.stat().st_size for file in entry.iterdir())
            if size > _MOST_BYTES:
                shutil.rmtree(entry, ignore_errors=True)


def is_compiler(program: str | os.PathLike[str]) -> bool:
    """Whether a program is a compiler, by its name."""
    return COMPILER.fullmatch(os.path.basename(program)) is not None


def is_started() -> bool:
    """Whether `cached` runs a compiler now."""
    return _is_started.get()


Start = Callable[[], "subprocess.CompletedProcess[str]"]


def cached(
    command: Sequence[str | os.PathLike[str]], directory: Path, text: str | None, start: Start
) -> subprocess.CompletedProcess[str]:
    """Return the result of a compiler's command or of `make`, and write the files that it writes.

    Parameters
    ----------
    command
        the compiler and its arguments, or `make` and its settings.
    directory
        where it runs.
    text
        what it reads from its standard input.
    start
        runs it where there is no entry. Only a command that succeeds in silence becomes one.
    """
    token = _is_started.set(True)
    try:
        return _cached(command, directory, text, start)
    finally:
        _is_started.reset(token)


def _cached(
    command: Sequence[str | os.PathLike[str]], directory: Path, text: str | None, start: Start
) -> subprocess.CompletedProcess[str]:
    arguments = [os.fspath(argument) for argument in command]
    try:
        if _folder is None:
            raise _NotCached
        if os.path.basename(arguments[0]) == "make":
            key, outputs = _project_key(arguments, directory), None
        else:
            key, outputs = _key(arguments, directory, text)
    except (_NotCached, OSError):
        return start()
    entry = _folder / key
    found = _restore(entry, directory, outputs)
    if found is not None:
        return subprocess.CompletedProcess(arguments, 0, found, "")
    before: dict[str, str] = {}
    parts = None
    if outputs is None:
        before, parts = _contents(directory), _project_parts(arguments, directory)
        if parts:
            _restore(_folder / parts[0], directory, None)
    done = start()
    if done.returncode == 0 and not done.stderr:
        if outputs is None:
            if parts and not (_folder / parts[0]).exists():
                _store(_folder / parts[0], parts[1], "")
            after = _contents(directory)
            names = [name for name, content in after.items() if before.get(name) != content]
            # As they were written, so that `make` finds none to be older than what it needs.
            names.sort(key=lambda name: (directory / name).stat().st_mtime_ns)
            outputs = {name: directory / name for name in names}
        _store(entry, outputs, done.stdout or "")
    return done


def _restore(entry: Path, directory: Path, outputs: Mapping[str, Path] | None) -> str | None:
    """Copy the files of an entry to where the command writes them; what it printed."""
    try:
        record = json.loads((entry / "record.json").read_text())
        for index, name in enumerate(record["files"]):
            target = directory / name if outputs is None else outputs[name]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(entry / str(index), target)
        os.utime(entry)
    except FileNotFoundError:
        return None
    return str(record["stdout"])


def _store(entry: Path, outputs: Mapping[str, Path], printed: str) -> None:
    """Make an entry, at once for all workers."""
    with TemporaryDirectory(dir=entry.parent, ignore_cleanup_errors=True) as made:
        folder = Path(made) / "entry"
        folder.mkdir()
        for index, path in enumerate(outputs.values()):
            if not path.is_file():
                return
            shutil.copy(path, folder / str(index))
        record = {"files": list(outputs), "stdout": printed}
        (folder / "record.json").write_text(json.dumps(record))
        try:
            folder.rename(entry)
        except OSError:
            # Another worker was as fast.
            return


def _contents(folder: Path) -> dict[str, str]:
    """Hashes of all files in a folder, by their paths in it."""
    return {
        path.relative_to(folder).as_posix(): _hash(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _project_key(command: Sequence[str], directory: Path) -> str:
    """A hash of `make` in a project of a board, and of the model beside it.

    The compiler that it calls is named by the command or a file.
    """
    includes = (_ABSOLUTE.search(path.read_bytes()) for path in directory.glob("*.c"))
    if any(includes) or any("/" in setting for setting in command[1:]):
        raise _NotCached
    contents = [_contents(directory), _contents(directory.parent / "codegen")]
    programs = {name: _identity(name) for name in _cross_compilers()}
    return _digest(["make", command[1:], contents, programs, _environment()])


def _project_parts(command: Sequence[str], directory: Path) -> tuple[str, dict[str, Path]] | None:
    """Object files that `make` will make of sources without a line of the model, and a hash of all
    that they depend on. None where there may be older ones.
    """
    sources = [path for path in sorted(directory.glob("*.c")) if path.name != "main.c"]
    if (directory / "build").exists() or any(b"tvmgen_" in p.read_bytes() for p in sources):
        return None
    read = [*sources, *sorted(directory.glob("*.h")), *directory.glob("Makefile")]
    contents = {path.name: _hash(path) for path in read}
    programs = {name: _identity(name) for name in _cross_compilers()}
    # The options first: objects are not older than these.
    made = ["build/options", *(f"build/{path.stem}.o" for path in sources)]
    key = _digest(["parts", command[1:], contents, programs, _environment()])
    return key, {name: directory / name for name in made}


@cache
def _cross_compilers() -> tuple[str, ...]:
    from usmp.boards.board import BOARDS

    names = {board.toolchain.compiler for board in BOARDS} | {"cc", "gcc", "clang", "make"}
    return tuple(sorted(name for name in names if shutil.which(name)))


def _key(arguments: list[str], directory: Path, text: str | None) -> tuple[str, dict[str, Path]]:
    """A hash of all that a compiler reads, and the files that it will write."""
    parts: list[object] = [_identity(arguments[0]), _environment(), text]
    directories: list[Path] = []
    inputs: list[Path] = []
    named: str | None = None
    rest = iter(arguments[1:])
    for argument in rest:
        flag = next((f for f in _DIRECTORY_FLAGS if argument.startswith(f)), None)
        if flag:
            directories.append(directory / (argument.removeprefix(flag) or next(rest)))
            parts.append(flag)
        elif argument == "-o":
            named = next(rest)
        elif argument in _VALUE_FLAGS:
            parts += [argument, next(rest)]
        elif argument in _FILE_FLAGS:
            path = directory / next(rest)
            parts += [argument, path.name]
            inputs.append(path)
        elif argument.startswith(("@", *_OTHER_OUTPUT)) or "-Map" in argument:
            raise _NotCached
        elif argument.startswith("-") and argument != "-":
            parts.append([_flag_part(part, directory) for part in re.split("([,=])", argument)])
        else:
            if argument != "-":
                inputs.append(directory / argument)
            parts.append(os.path.basename(argument))
    scanned: dict[Path, None] = {}
    if text is not None:
        parts.append(_includes(text.encode(), directory, directories, scanned))
    parts += [_file_part(path, directories, scanned) for path in inputs]
    return _digest(parts), _outputs(arguments, directory, inputs, named)


def _outputs(
    arguments: Sequence[str], directory: Path, inputs: Sequence[Path], named: str | None
) -> dict[str, Path]:
    if "-fsyntax-only" in arguments or named in ("-", "/dev/null"):
        return {}
    if named is not None:
        return {"": directory / named}
    if "-E" in arguments:
        return {}
    ending = next((e for f, e in (("-c", ".o"), ("-S", ".s")) if f in arguments), None)
    if ending:
        return {p.stem: directory / f"{p.stem}{ending}" for p in inputs if p.suffix != ".h"}
    return {"": directory / "a.out"}


def _flag_part(part: str, directory: Path) -> object:
    """A part of a flag; of a file, its content."""
    if "/" not in part:
        return part
    path = directory / part
    if path.is_file():
        return [path.name, _hash(path)]
    if path.is_dir() or part.startswith(("-L", "-B")):
        raise _NotCached
    return part


def _file_part(path: Path, directories: Sequence[Path], scanned: dict[Path, None]) -> object:
    """The content of a file, and of all that it includes."""
    if not path.is_file():
        raise _NotCached
    content = path.read_bytes()
    if path.suffix in (".o", ".a", ".so", ".obj"):
        return [path.name, sha256(content).hexdigest()]
    if b".incbin" in content or b"INCLUDE " in content:
        raise _NotCached
    return [
        path.name,
        sha256(content).hexdigest(),
        _includes(content, path.parent, directories, scanned),
    ]


def _includes(
    content: bytes, folder: Path, directories: Sequence[Path], scanned: dict[Path, None]
) -> list[object]:
    """What the directives of a text find; a header that is nowhere is one of the compiler."""
    parts: list[object] = []
    for match in _INCLUDE.finditer(content):
        named = _NAMED.match(match[1] if match[1] is not None else match[2])
        if named is None:
            # A macro has the name.
            raise _NotCached
        name = os.fsdecode(named[1] or named[2])
        places = [*([folder] if named[1] else []), *directories]
        path = next((place / name for place in places if (place / name).is_file()), None)
        if path is None:
            parts.append(name)
            continue
        path = path.resolve()
        if path in scanned:
            parts.append([name, _hash(path)])
        else:
            scanned[path] = None
            parts.append([name, _file_part(path, directories, scanned)])
    return parts


def _identity(program: str) -> object:
    found = shutil.which(program)
    if found is None:
        raise _NotCached
    real = Path(found).resolve()
    if real.is_relative_to(Path(os.environ.get("TMPDIR", "/tmp"))):
        # A test's own compiler.
        raise _NotCached
    status = real.stat()
    return [os.path.basename(program), str(real), status.st_size, status.st_mtime_ns]


def _environment() -> object:
    return [os.environ.get(name) for name in _ENVIRONMENT]


def _hash(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _digest(parts: object) -> str:
    return sha256(json.dumps(parts).encode()).hexdigest()


@contextmanager
def product_uses_cache() -> Iterator[None]:
    """Within, the compilers and `make` that the product starts in this process are cached."""
    from usmp.boards import emulator
    from usmp.runtime import c_compiler, code_size
    from usmp.runtime.programs import run_program

    def run(
        command: Sequence[str], directory: Path | None = None, **options: object
    ) -> subprocess.CompletedProcess[str]:
        def start() -> subprocess.CompletedProcess[str]:
            return run_program(command, directory, **options)  # type: ignore[arg-type]

        if is_compiler(command[0]) or os.path.basename(command[0]) == "make":
            return cached(command, directory or Path.cwd(), None, start)
        return start()

    with (
        mock.patch.object(emulator, "run_program", run),
        mock.patch.object(c_compiler, "run_program", run),
        mock.patch.object(code_size, "run_program", run),
    ):
        yield
