"""The C library for Linux: what scripts/install-c installs, with the licenses, as an archive."""

import os
import re
import shlex
import tempfile
from pathlib import Path

from forms import builds
from forms.builds import output, required, run
from forms.dependencies import notices
from forms.packing import File, archive, read_tree, unpacked, write_tree
from forms.table import NATIVE, PROGRAMS, ROOT, Failure, Program
from forms.wheel import newest_glibc, without_paths

PACKAGE = ROOT / "bindings/c"

# Glibc of the oldest systems that the shared library is for. Zig links with its symbols.
GLIBC = (2, 17)
LIBRARY = Program("x86_64-unknown-linux-gnu", "tar.gz", zig="x86_64-linux-gnu.2.17")

# Libraries that every Linux with glibc has.
SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libutil|libgcc_s|ld-linux-x86-64)\.so\.\d+")


def directory_name(version):
    return f"libfatbin-{version}-{LIBRARY.target}"


def file_name(version):
    return f"{directory_name(version)}.tar.gz"


def build(source, program, profile, target_directory, level):
    # A quick build shares what the tests compile.
    options = ["--profile", "dev"] if profile == "dev" else ["--target", LIBRARY.target]
    variables = os.environ if profile == "dev" else builds.environment(LIBRARY, profile)
    with tempfile.TemporaryDirectory() as temporary:
        output(ROOT / "scripts/install-c", *options, "--program", program, temporary,
               env={**variables, "CARGO_TARGET_DIR": str(target_directory)})
        tree = read_tree(Path(temporary))
    tree |= {file: File((ROOT / file).read_bytes()) for file in ["LICENSE-APACHE", "LICENSE-MIT"]}
    tree["THIRD-PARTY.txt"] = File(notices(PROGRAMS[NATIVE].target).encode())
    tree["THIRD-PARTY-LIBRARY.txt"] = File(notices(LIBRARY.target, PACKAGE).encode())
    name, directory = file_name(source.version), directory_name(source.version)
    return archive(name, {f"{directory}/{path}": file for path, file in tree.items()}, source.epoch, level)


def check(name, data, version, is_published):
    """Checks an archive, compiles an example with each of its libraries, and returns its description."""
    tree = unpacked(data)
    with tempfile.TemporaryDirectory() as temporary:
        write_tree(tree, Path(temporary), 0)
        prefix = Path(temporary) / directory_name(version)
        shared = prefix / "lib/libfatbin.so"
        needed = re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "--dynamic", shared))
        if others := [library for library in needed if not SYSTEM.fullmatch(library)]:
            raise Failure(f"{name}: needs {', '.join(others)}")
        newest = newest_glibc(shared)
        if is_published:
            if newest > GLIBC:
                raise Failure(f"{name}: needs glibc {newest}")
            without_paths(name, {file: entry.data for file, entry in tree.items() if isinstance(entry, File)})
        for options, library in [([], "libfatbin.so"), (["--static"], "libfatbin.a")]:
            run_example(prefix, options, library)
    return f"glibc {newest[0]}.{newest[1]}, an example runs with both"


def run_example(prefix, options, library):
    """Compiles the example that lists images, as its users do, and runs it."""
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig"), "LD_LIBRARY_PATH": str(prefix / "lib")}
    flags = shlex.split(output(required("pkg-config"), "--cflags", "--libs", *options, "fatbin", env=environment))
    flags = [f"-l:{library}" if flag == "-lfatbin" else flag for flag in flags]
    program = prefix / "list"
    run(required("cc"), "-o", program, PACKAGE / "examples/list.c", *flags)
    printed = output(program, ROOT / "fixtures/answer-gfx90a.hsaco", env=environment)
    program.unlink()
    if "gfx90a" not in printed:
        raise Failure(f"{library}: the example prints {printed!r}")
