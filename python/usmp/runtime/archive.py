"""Read a Model Library Format archive."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usmp.names import DEFAULT_ARENA_BYTES
from usmp.plain.model_library_format import ARENA_PATHS, FORMAT_VERSION, METADATA_FILE
from usmp.runtime.archived.module import ArchivedModule, read_module
from usmp.runtime.archived.read_metadata import DamagedMetadata, parse_metadata
from usmp.runtime.archived.read_tar import ArchiveError, read_tar
from usmp.runtime.write_files import replace_files
from usmp.support.text.known_names import unknown_name
from usmp.support.text.plain_text import printable, shown

if TYPE_CHECKING:
    from usmp.runtime.host import HostModule
    from usmp.runtime.profile_host import HostProfiler


@dataclass(frozen=True)
class Archive:
    """The content of an archive.

    Parameters
    ----------
    files
        contents of the files by path.
    metadata
        the parsed metadata.json.
    modules
        descriptions of the models by name: entries, pools, plan.
    """

    files: dict[str, bytes] = field(repr=False)
    metadata: dict[str, Any] = field(repr=False)
    modules: dict[str, ArchivedModule]

    def module(self, name: str | None = None) -> ArchivedModule:
        """Return a module by name, or the only one by default.

        Raises
        ------
        ValueError
            there is no module of this name, or there are several and no name is given.
        """
        if name is None and len(self.modules) == 1:
            return next(iter(self.modules.values()))
        if name is not None and name in self.modules:
            return self.modules[name]
        if name is None:
            names = ", ".join(f'"{known}"' for known in self.modules)
            raise ValueError(
                f"the archive holds {len(self.modules)} modules; choose one by its name: {names}"
            )
        problem = f'the archive holds no module "{name}"'
        raise ValueError(unknown_name(problem, name, list(self.modules), "Its modules"))

    def code(self, name: str | None = None) -> dict[str, bytes]:
        """Return the header, sources and object files of a model by path.

        Raises
        ------
        ValueError
            there is no module of this name, or there are several and no name is given.
        """
        return _files_of(self.module(name), self.files)

    def load(
        self,
        name: str | None = None,
        sources: Sequence[str | Path] = (),
        arena_bytes: int = DEFAULT_ARENA_BYTES,
    ) -> HostModule:
        """Build a model for this host and load it.

        `sources` are C files of the user with functions of accelerators. `arena_bytes` is the size
        of the arena for a model that allocates at run time.

        Raises
        ------
        ValueError
            there is no module of this name, or there are several and no name is given.
        BuildError
            there is no C compiler, it reports an error or a warning, or the code is for another
            machine.
        """
        from usmp.runtime.host import HostModule

        module = self.module(name)
        files = _files_of(module, self.files)
        return HostModule(files, module.metadata, sources=sources, arena_bytes=arena_bytes)

    def profiler(
        self,
        name: str | None = None,
        sources: Sequence[str | Path] = (),
        arena_bytes: int = DEFAULT_ARENA_BYTES,
    ) -> HostProfiler:
        """Build a model for this host with a clock around each of its operators.

        The parameters are those of `load`.

        Raises
        ------
        NotProfiled
            the model was compiled without `--profile`.
        ValueError, BuildError
            as in `load`.
        """
        from usmp.runtime.profile_host import HostProfiler

        module = self.module(name)
        files = _files_of(module, self.files)
        return HostProfiler(files, module.metadata, sources=sources, arena_bytes=arena_bytes)

    def extract(self, directory: str | Path) -> None:
        """Write all files below `directory`, which is created if it does not exist.

        Raises
        ------
        ArchiveError
            a link in the directory leads a file out of it.
        OSError
            a file cannot be written; all files are unchanged, unless a final renaming failed.
        """
        root = Path(directory)
        root.mkdir(parents=True, exist_ok=True)
        for target in (root / name for name in self.files):
            if not target.resolve().is_relative_to(root.resolve()):
                raise ArchiveError(f"{target}: a link leads out of {root}; remove it")
        replace_files(self.files, root)


def load_archive(path: str | Path) -> Archive:
    """Read the archive at `path`.

    Raises
    ------
    ArchiveError
        the file is missing, damaged, or no Model Library Format archive of usmp.
    """
    try:
        return archive_of(read_tar(path))
    except ArchiveError as error:
        raise type(error)(f"{path}: {printable(str(error))}") from error
    except DamagedMetadata as error:
        raise ArchiveError(
            f"{path}: {METADATA_FILE} is damaged: {printable(str(error))}"
        ) from error


def archive_of(files: dict[str, bytes]) -> Archive:
    """Construct an archive from files by path.

    Raises
    ------
    ArchiveError
        metadata or code is missing, or this is no Model Library Format archive of usmp.
    DamagedMetadata
        the metadata is malformed.
    """
    if METADATA_FILE not in files:
        raise ArchiveError(f"not a Model Library Format archive: no {METADATA_FILE}")
    metadata = parse_metadata(files[METADATA_FILE])
    modules = read_modules(metadata)
    for module in modules.values():
        _check_sources(module, files)
    return Archive(files, metadata, modules)


def read_modules(metadata: Any) -> dict[str, ArchivedModule]:
    """Read the modules of metadata.json, by name.

    Raises
    ------
    ArchiveError
        TVM wrote the archive, or it has another version of the format.
    DamagedMetadata
        the metadata is malformed.
    """
    _check_is_ours(metadata)
    return {name: read_module(name, module) for name, module in metadata["modules"].items()}


def _check_is_ours(metadata: Any) -> None:
    """Check that usmp wrote the archive, in the current version of the format.

    Raises
    ------
    ArchiveError
        TVM wrote it, or it has another version of the format.
    DamagedMetadata
        the metadata has no modules.
    """
    if not isinstance(metadata, dict):
        raise DamagedMetadata('it has no "modules"')
    modules = metadata.get("modules")
    if "modules" not in metadata and "model_name" in metadata:
        raise ArchiveError(_written_by_tvm("it has no modules"))
    if not isinstance(modules, dict) or not modules:
        raise DamagedMetadata('it has no "modules"')
    for name, module in modules.items():
        if _is_of_tvm(module):
            raise ArchiveError(_written_by_tvm(f'module "{shown(name)}" has no memory plan'))
    version = metadata.get("version")
    if version != FORMAT_VERSION:
        raise ArchiveError(
            f"Model Library Format of version {shown(version)}; "
            f"this usmp reads version {FORMAT_VERSION}"
        )


def _is_of_tvm(module: Any) -> bool:
    """Return whether TVM wrote a module, which then has neither pools nor a C prefix."""
    memory = module.get("memory") if isinstance(module, dict) else None
    return isinstance(memory, dict) and "pools" not in memory and "c_prefix" not in module


def _written_by_tvm(why: str) -> str:
    return (
        f"TVM itself wrote this archive ({why}), and usmp reads only its own; "
        "compile the model again with this tvmc"
    )


def _files_of(module: ArchivedModule, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the header, sources and object files of a module, with the arena if it uses one."""
    name = re.escape(module.c_prefix.removeprefix("tvmgen_"))
    pattern = re.compile(
        rf"codegen/host/(include/tvmgen_{name}\.h|src/{name}_lib\d+\.c|lib/{name}_lib\d+\.o)"
    )
    module_files = {path: content for path, content in files.items() if pattern.fullmatch(path)}
    if any(entry.takes_arena for entry in module.entries.values()):
        module_files |= {path: files[path] for path in ARENA_PATHS if path in files}
    return module_files


def _check_sources(module: ArchivedModule, files: Mapping[str, bytes]) -> None:
    """Check that the code of a module exists, and that its header agrees with the metadata.

    Raises
    ------
    ArchiveError
        code is missing.
    DamagedMetadata
        the header has other sizes or members, so that a caller would provide too little memory.
    """
    module_files = _files_of(module, files)
    if any(entry.takes_arena for entry in module.entries.values()):
        for path in ARENA_PATHS:
            if path not in module_files:
                raise ArchiveError(f'module "{shown(module.name)}" lacks {path}')
    for ending, noun in ((".h", "header"), (".c", "source")):
        if not any(path.endswith(ending) for path in module_files if path not in ARENA_PATHS):
            raise ArchiveError(
                f'not an archive of C code: no {noun} of module "{shown(module.name)}" in codegen/'
            )
    header = module_files[f"codegen/host/include/{module.c_prefix}.h"]
    text = header.decode(errors="replace")
    _check_sizes(module, text)
    if module.metadata.get("interface_api") != "packed":
        _check_structs(module, text)


def _check_sizes(module: ArchivedModule, header: str) -> None:
    """Check the macros of tensors, symbolic sizes and pools in the header."""
    prefix = re.escape(module.c_prefix.upper())
    defined = dict(re.findall(rf"^#define {prefix}_(\w+) (\d+)$", header, re.MULTILINE))
    sizes = {}
    for entry in module.entries.values():
        entry_prefix = entry.c_prefix.removeprefix(f"{module.c_prefix}_").upper()
        begin = "" if entry.c_prefix == module.c_prefix else f"{entry_prefix}_"
        for tensor in (*entry.inputs.values(), *entry.outputs.values()):
            macro = f"{begin}{tensor.c_name.upper()}"
            if not tensor.is_unbounded:
                sizes[f"{macro}_SIZE"] = tensor.info.size_bytes
            if tensor.is_by_rows:
                sizes[f"{macro}_ROWS"] = tensor.info.rows
                sizes[f"{macro}_ROW_SIZE"] = tensor.info.row_size_bytes
        for symbolic in entry.sizes.values():
            macro = f"{begin}{symbolic.c_name.upper()}"
            sizes[f"{macro}_MIN"] = symbolic.lower_bound
            if symbolic.upper_bound is not None:
                sizes[f"{macro}_MAX"] = symbolic.upper_bound
    for pool in module.pools:
        kind = "CONSTANT" if pool.is_constant else "WORKSPACE"
        sizes[f"{pool.c_name.upper()}_{kind}_POOL_SIZE"] = pool.declared_bytes
    for name, size in sizes.items():
        if defined.get(name) != str(size):
            raise DamagedMetadata(
                f"{name} is {size} there and {defined.get(name, 'missing')} in the header of "
                f'module "{shown(module.name)}"'
            )


def _check_structs(module: ArchivedModule, header: str) -> None:
    """Check the structs of inputs, outputs, external pools and devices in the header."""
    pools = [pool.c_name for pool in module.pools if not pool.is_internal]
    described = {}
    for entry in module.entries.values():
        tensors = {"inputs": entry.inputs.values(), "outputs": entry.outputs.values()}
        for side, tensors_of_side in tensors.items():
            members = [member for tensor in tensors_of_side for member in tensor.members(side)]
            if side == "inputs":
                members += [f"int32_t {size.c_name}" for size in entry.sizes.values()]
            described[f"{entry.c_prefix}_{side}"] = members
    described[f"{module.c_prefix}_workspace_pools"] = pools
    described[f"{module.c_prefix}_devices"] = module.metadata.get("devices", [])
    structs = _structs(header)
    for name, members in described.items():
        declared = structs.get(name, [])
        if declared != members:
            raise DamagedMetadata(
                f"struct {name} has the members {', '.join(members) or 'none'} "
                f"there and {', '.join(declared) or 'none'} in the header"
            )


def _structs(header: str) -> dict[str, list[str]]:
    """Return the pointers, callbacks and sizes in each struct of a header, by its name."""
    structs: dict[str, list[str]] = {}
    members: list[str] = []
    for line in header.split("\n"):
        if begin := re.fullmatch(r"struct (\w+) \{", line):
            members = structs.setdefault(begin[1], [])
        elif line == "};":
            members = []
        elif member := re.match(
            r"  (?:(?:const )?void\* |int32_t \(\*|(int32_t ))(\w+)(?:;|\)\()", line
        ):
            members.append(f"{member[1] or ''}{member[2]}")
    return structs
