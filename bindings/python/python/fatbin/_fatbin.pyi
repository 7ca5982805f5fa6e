"""Interface of the module in Rust. Sizes and offsets are in bytes; an attribute that is None is unknown or does not apply."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, final, overload

from typing_extensions import Buffer

__all__ = [
    "Container",
    "Entry",
    "File",
    "Finding",
    "Frame",
    "Image",
    "Inspection",
    "Kernel",
    "NvFatbin",
    "Policy",
    "Problem",
    "Selection",
    "SourceIndex",
    "Verdict",
    "__version__",
    "bundle",
    "check",
    "drop_archs",
    "embed",
    "extract",
    "pack",
    "pack_cuda",
    "prune",
    "replace",
    "scan",
    "transcode",
    "unbundle",
    "wrap",
]

_Path: TypeAlias = str | os.PathLike[str]
_Source: TypeAlias = _Path | Buffer
_Form: TypeAlias = Literal["plain", "ccob2", "ccob3", "v1", "v2", "v3", "none", "lz4", "zstd", "zlib"]
_Kind: TypeAlias = Literal["openmp", "cuda", "hip", "sycl"]

__version__: str

def scan(*sources: _Source, fast: bool = False, hash: bool = False, map: bool = True) -> list[File]:
    """Finds the device images in files, directories and archives, and in bytes.

    Each member of an archive or package is a file of its own; files in directories and members without device code are left
    out. Bytes are one file, and not opened as an archive.

    fast: search only the sections and structures that tools write, as ``fatbin scan --fast`` does.
    hash: compute the hashes of all images now, in parallel.
    map: map files into memory; they must not change while their images are used. With False they are read.

    Raises Error if a file cannot be read. Damaged containers are among `File.errors`.
    """

def extract(
    *paths: _Path,
    output: _Path,
    arch: Sequence[str] = ...,
    kind: Sequence[str] = ...,
    triple: Sequence[str] = ...,
    kernel: Sequence[str] = ...,
    name: str | None = None,
    stored: bool = False,
    map: bool = True,
) -> list[Path]:
    """Writes the device images of files, directories and archives to files in the directory `output`; returns their paths.

    Values of one filter are alternatives, and all filters must hold. A filter that no image meets is an error.

    kernel: regular expressions for names of kernels.
    name: template of the names, as of ``fatbin extract --name``.
    stored: write compressed images as they are stored.
    """

def check(policy: Policy | _Path, *paths: _Path) -> Verdict:
    """Checks files, directories and archives against a policy. Files that cannot be read are findings."""

@overload
def wrap(
    images: Iterable[_Source | tuple[_Source, str | None, str | None]],
    *,
    kind: _Kind,
    host: str | None = None,
    output: None = None,
    abi: str | None = None,
    entries: Iterable[Entry] = ...,
    raw: bool = False,
    map: bool = True,
) -> bytes:
    """Returns a host object that registers images when its program or library is loaded, or writes it to `output`.

    images: paths or bytes, alone or with triple and arch where the header of the image does not state them.
    host: triple of machine and system; by default that of the interpreter.
    abi: release of LLVM whose runtime registers the images, such as "llvm22"; by default the newest.
    entries: offload entries for programs that no offload compiler has compiled.
    raw: embed the images without an offload binary around each.

    An output named *.bc or *.ll is LLVM IR.
    """

@overload
def wrap(
    images: Iterable[_Source | tuple[_Source, str | None, str | None]],
    *,
    kind: _Kind,
    host: str | None = None,
    output: _Path,
    abi: str | None = None,
    entries: Iterable[Entry] = ...,
    raw: bool = False,
    map: bool = True,
) -> None: ...

def pack(
    images: Sequence[_Source | tuple[_Source, str | None, str | None]],
    *,
    kind: _Kind,
    abi: str | None = None,
    compress: Literal["zstd", "zlib"] | None = None,
    level: int | None = None,
    map: bool = True,
) -> bytes:
    """Returns an offload binary. `images` and `abi` are those of `wrap`.

    level: of the codec; by default the level of LLVM's tools.
    """

def pack_cuda(
    images: Sequence[_Source | tuple[_Source, str | None, str, str]],
    *,
    compress: Literal["zstd", "lz4"] | None = None,
    level: int | None = None,
    concat: bool = False,
    map: bool = True,
) -> bytes:
    """Returns a CUDA fat binary of cubins, PTX, LTO-IR and Tile IR.

    images: paths or bytes, alone or with arch, identifier and options for the driver's compiler.
    level: of the codec; by default the level of fatbinary.
    concat: compress the images of a sort as one.
    """

def bundle(
    entries: Mapping[str, _Source],
    *,
    type: str = "bc",
    compress: Literal["zstd", "zlib"] | None = None,
    level: int | None = None,
    version: int = 3,
    alignment: int = 1,
    map: bool = True,
) -> bytes:
    """Returns a bundle of files of a type ("o", "bc", "s", ...), by their target IDs.

    version: of the compressed form; LLVM 19 to 21 and their HIP runtimes read 2.
    """

def unbundle(source: _Source, *, map: bool = True) -> dict[str, bytes]:
    """Returns the files of a bundle, by their target IDs."""

def embed(files: Mapping[str, _Source], *, host: str | None = None, map: bool = True) -> bytes:
    """Returns a host object with files as data. The file `name` has the symbols `name` and `name_end`."""

def prune(
    source: _Source,
    devices: Sequence[str],
    *,
    shrink: bool = False,
    break_signatures: bool = False,
    map: bool = True,
) -> bytes:
    """Returns a file without the images that no runtime selects on `devices`, such as "H100" or "gfx90a"."""

def drop_archs(
    source: _Source,
    archs: Sequence[str],
    *,
    shrink: bool = False,
    break_signatures: bool = False,
    map: bool = True,
) -> bytes:
    """Returns a file without the images for `archs`, such as "gfx90a", or "compute_80" for PTX alone."""

def transcode(
    source: _Source,
    *forms: _Form,
    level: int | None = None,
    best: bool = False,
    break_signatures: bool = False,
    map: bool = True,
) -> bytes:
    """Returns a file with its containers in other forms, at most one for each type of container.

    level: of compression; by default the level of the tools that write such containers.
    best: compress with the strongest levels, and take the smallest result. `level` precedes.
    """

def replace(
    source: _Source, images: Mapping[int, _Source], *, break_signatures: bool = False, map: bool = True
) -> bytes:
    """Returns a file with other images, by their index in `File.images`."""

@final
class NvFatbin:
    """A CUDA fat binary with the functions of NVIDIA's nvFatbin. The bytes are equal, except that LTO-IR is not compressed."""

    def __new__(cls, *options: str) -> NvFatbin: ...
    def add_ptx(self, code: _Source, arch: str, identifier: str = "", options: str = "") -> None: ...
    def add_cubin(self, code: _Source, arch: str, identifier: str = "") -> None: ...
    def add_lto_ir(self, code: _Source, arch: str, identifier: str = "", options: str = "") -> None: ...
    def add_tile_ir(self, code: _Source, identifier: str = "", options: str = "") -> None: ...
    def add_reloc(self, code: _Source) -> None:
        """Adds the PTX of a host object, of a static library or of a container."""
    def build(self) -> bytes: ...

@final
class File:
    """A file with device images, or a member of an archive."""

    @property
    def path(self) -> str:
        """Path; ``ARCHIVE!MEMBER`` for a member of an archive."""
    @property
    def format(self) -> str | None:
        """"elf", "coff", "pe", "mach-o", "bitcode", "archive" or "raw"."""
    @property
    def size(self) -> int: ...
    @property
    def containers(self) -> tuple[Container, ...]:
        """Containers that no other container is around, by offset."""
    @property
    def images(self) -> tuple[Image, ...]:
        """Device images at any depth, by index."""
    @property
    def errors(self) -> tuple[Problem, ...]:
        """Errors in containers."""
    @property
    def not_opened(self) -> str | None:
        """Reason why files that are packed in it were not opened."""
    @property
    def unsearched(self) -> int:
        """Number of bytes that a fast scan has not searched."""
    def select(self, device: str) -> list[Selection]:
        """Returns the images that runtimes select on a device, such as "sm_90" or "gfx90a:sramecc+:xnack-".

        A name that leaves features open means several devices. Containers without code for such devices are left out.
        """

@final
class Container:
    """A container of images."""

    @property
    def type(self) -> str: ...
    @property
    def version(self) -> int | None: ...
    @property
    def section(self) -> str | None: ...
    @property
    def offset(self) -> int | None:
        """Offset in the file; None inside a compressed container."""
    @property
    def size(self) -> int: ...
    @property
    def codec(self) -> str | None:
        """Codec of the container as a whole."""
    @property
    def images(self) -> tuple[Image, ...]:
        """Images in the order of the container, host code of bundles included."""

@final
class Image:
    """A device image, an image that consists of containers, or the host code of a bundle."""

    @property
    def index(self) -> int | None:
        """Index among `File.images`; None for images that are not among them."""
    @property
    def kind(self) -> str | None:
        """"openmp", "cuda", "hip", "sycl" or "host"."""
    @property
    def image(self) -> str:
        """Format of the bytes: "elf", "ptx", "spirv" and so on."""
    @property
    def triple(self) -> str | None: ...
    @property
    def arch(self) -> str | None: ...
    @property
    def own_arch(self) -> str | None:
        """Processor in the header of the image, if it contradicts the container."""
    @property
    def id(self) -> str | None:
        """Bundle entry ID."""
    @property
    def symbol(self) -> str | None:
        """Symbol of the host file that covers an embedded image."""
    @property
    def offset(self) -> int | None:
        """Offset in the file; None inside a compressed container."""
    @property
    def size(self) -> int | None:
        """Stored size; None inside a compressed container."""
    @property
    def size_is_estimated(self) -> bool:
        """True where nothing states the end of the image."""
    @property
    def full_size(self) -> int | None:
        """Decompressed size of a compressed image."""
    @property
    def codec(self) -> str | None: ...
    @property
    def compressed(self) -> bool:
        """True if the bytes are not in the file as they are."""
    @property
    def address(self) -> str | None:
        """``file://`` address, as ROCm's tools write it."""
    @property
    def producer(self) -> str | None: ...
    @property
    def format_version(self) -> str | None: ...
    @property
    def extension(self) -> str:
        """Extension that tools use for such images in file names."""
    @property
    def strings(self) -> dict[str, str]:
        """Keys and values of the container, without triple and arch."""
    @property
    def entries(self) -> list[tuple[str, str]]:
        """Kernels, functions and variables that the container or the program states: kinds and names."""
    @property
    def containers(self) -> tuple[Container, ...]:
        """Containers that the image consists of."""
    @property
    def data(self) -> memoryview:
        """Bytes of a device image, read-only.

        Of an image that is stored uncompressed this is a view of the file, without a copy; the file stays open as long as a
        view of it exists. A compressed image is decompressed at each access.
        """
    @property
    def sha256(self) -> str:
        """SHA-256 of the decompressed bytes, in hexadecimal."""
    def inspect(self) -> Inspection:
        """Returns the kernels of a device image, with their resource usage."""
    def source_index(self) -> SourceIndex:
        """Reads the debug information of a code object or cubin, to find the source of its instructions."""

@final
class SourceIndex:
    """Sources of the instructions of an image."""

    @property
    def functions(self) -> tuple[str, ...]:
        """Mangled names of the functions in the symbol table, in the order of their addresses."""
    def address(self, function: str, offset: int) -> int | None:
        """Returns the address of a byte of a function, for ``frames``; ``None`` if the function is unknown or shorter."""
    def frames(self, address: int) -> tuple[Frame, ...]:
        """Returns the functions that an instruction belongs to, the innermost inlined function first."""

@final
class Frame:
    """A function that an instruction belongs to, with the position in its source."""

    @property
    def function(self) -> str | None:
        """Mangled name."""
    @property
    def file(self) -> str | None: ...
    @property
    def line(self) -> int | None: ...
    @property
    def column(self) -> int | None: ...

@final
class Inspection:
    """Contents of an image."""

    @property
    def kernels(self) -> tuple[Kernel, ...]: ...
    @property
    def not_inspected(self) -> str | None:
        """Reason why the image was not inspected for kernels."""
    @property
    def problems(self) -> tuple[Problem, ...]:
        """Errors in parts of the image; all other parts were read."""

@final
class Kernel:
    """A kernel."""

    @property
    def name(self) -> str:
        """Name by which a runtime looks it up."""
    @property
    def demangled(self) -> str: ...
    @property
    def figures(self) -> dict[str, int]:
        """Figures that the image states, by their keys in ``fatbin inspect --json``: registers, shared, code_size and so on."""
    @property
    def source(self) -> tuple[str, int] | None:
        """File and line of its source, by the debug information."""

@final
class Selection:
    """The selection of a runtime among the images of a container, or of several that are registered together."""

    @property
    def device(self) -> str: ...
    @property
    def runtime(self) -> str: ...
    @property
    def image(self) -> Image | None:
        """The selected image."""
    @property
    def is_undecided(self) -> bool:
        """True if the runtime may select another image."""
    @property
    def verdicts(self) -> tuple[tuple[Image, Literal["selected", "rejected", "undecided"], str], ...]:
        """For each image the verdict and the reason."""

@final
class Policy:
    """A policy in TOML, see the guide of ``fatbin check``."""

    def __new__(cls, text: str) -> Policy: ...
    @staticmethod
    def read(path: _Path) -> Policy:
        """Reads a policy from a file."""

@final
class Verdict:
    """Result of a check."""

    @property
    def ok(self) -> bool:
        """True if all requirements are met; warnings are allowed."""
    @property
    def outcome(self) -> Literal["passed", "warned", "violated", "undecided"]:
        """The worst outcome."""
    @property
    def findings(self) -> tuple[Finding, ...]: ...

@final
class Finding:
    """A violated requirement, a warning, or a requirement that cannot be decided."""

    @property
    def rule(self) -> str: ...
    @property
    def outcome(self) -> Literal["warned", "violated", "undecided"]: ...
    @property
    def path(self) -> str: ...
    @property
    def index(self) -> int | None:
        """Index of the image in the file."""
    @property
    def offset(self) -> int | None:
        """Offset of the image in the file."""
    @property
    def arch(self) -> str | None: ...
    @property
    def kernel(self) -> str | None: ...
    @property
    def message(self) -> str: ...
    @property
    def detail(self) -> str | None: ...

@final
class Problem:
    """An error in a file; its text is ``FIELD at 0xOFFSET: CAUSE``."""

    @property
    def offset(self) -> int: ...
    @property
    def field(self) -> str: ...
    @property
    def cause(self) -> str: ...
    @property
    def message(self) -> str: ...

@final
class Entry:
    """An offload entry for a kernel, or for a variable if it has a size."""

    def __new__(
        cls,
        name: str,
        host_symbol: str | None = None,
        *,
        size: int = 0,
        flags: int = 0,
        data: int = 0,
        aux_symbol: str | None = None,
    ) -> Entry: ...
    @property
    def name(self) -> str: ...
    @property
    def host_symbol(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def flags(self) -> int: ...
    @property
    def data(self) -> int: ...
    @property
    def aux_symbol(self) -> str | None: ...
