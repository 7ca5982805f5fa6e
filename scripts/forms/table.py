"""The forms of a release, as data."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class Failure(Exception):
    """A command that failed, a missing tool or a wrong result."""


@dataclass(frozen=True)
class Program:
    """A build of the program for one target, released as an archive."""
    target: str
    archive: str
    # Command that runs it on x86-64 Linux; None if nothing does.
    runner: tuple | None = ()
    suffix: str = ""
    # Flags of rustc.
    flags: tuple = ()
    # C compiler, which is also the linker. `zig` is the compiler of the Python package ziglang, for the target in
    # `zig`.
    cc: str = "zig"
    zig: str = ""
    # Names of the machine in Debian and in OCI images.
    debian: str = ""
    oci: str = ""


# glibc is linked statically, and the program is position-independent. With musl, whose memcpy is slow, `inspect --json`
# of torch's libtorch_cuda.so takes 1.7 times the processor time.
STATIC = ("-Ctarget-feature=+crt-static", "-Clink-arg=-Wl,-T,packaging/linux/no-unwinding.ld")
# Relocations that the program applies to itself when it starts, in a table of bits instead of 24 bytes each. The linker of
# Debian 12 writes the table for x86 only.
PACKED = ("-Clink-arg=-Wl,-z,pack-relative-relocs",)

PROGRAMS = {
    "x86_64-linux": Program("x86_64-unknown-linux-gnu", "tar.gz", flags=STATIC + PACKED, cc="gcc", debian="amd64", oci="amd64"),
    "aarch64-linux": Program("aarch64-unknown-linux-gnu", "tar.gz", ("qemu-aarch64",), flags=STATIC,
                             cc="aarch64-linux-gnu-gcc", debian="arm64", oci="arm64"),
    "x86_64-windows": Program("x86_64-pc-windows-gnu", "zip", ("wine",), ".exe", cc="x86_64-w64-mingw32-gcc"),
    "aarch64-macos": Program("aarch64-apple-darwin", "tar.gz", None, zig="aarch64-macos"),
}
# Forms that contain the programs for Linux.
PACKAGES = ["deb", "oci", "wheel", "c-library"]
FORMS = [*PROGRAMS, *PACKAGES]

# The program that prints the manual pages, the completions and the links of all forms.
NATIVE = "x86_64-linux"

# Releases of LLVM that have a directory in the package fatbin-links.
LINKED_RELEASES = range(14, 25)


def archive_directory(version, name):
    """Returns the directory in an archive, which is the archive's name without the extension."""
    return f"fatbin-{version}-{PROGRAMS[name].target}"


def archive_name(version, name):
    return f"{archive_directory(version, name)}.{PROGRAMS[name].archive}"
