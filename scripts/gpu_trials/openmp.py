"""OpenMP programs, whose images `link` has linked or `wrap` has registered, and the libraries that they need."""

import re
import shutil
import subprocess
from pathlib import Path

from .images import ASSEMBLERS, SOURCES, MissingTool

LIBOMP = Path("/usr/lib/llvm-22/lib/libomp.so.5")
LIBRARIES = [Path("/usr/lib/llvm-22/lib/libomptarget.so.22.1"), LIBOMP]

# libomptarget looks for libomp by this name, too. A second copy, of the system, ends the program.
OTHER_NAME = "libomp.so"

# Libraries of the system. They must be at least as new as Debian 12's.
SYSTEM = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|libpthread|librt)\.so\.\d+")

# libomptarget loads its CUDA plugin only if libcuda has cuFuncGetParamInfo.
OLDEST_DRIVER = "12.4"

# Architectures of the images that `wrap` registers, in their order. libomptarget takes the first that its plugin accepts.
ORDERS = ["80 86 90 120", "86 80 120 90", "90a 90", "90 90a"]
LINKED = ["sm_80", "sm_90", "sm_120"]
# Assembler whose cubins every driver that libomptarget can use loads.
ASSEMBLER = ASSEMBLERS["12.9"]


def trials(folder, temporary, clang, is_packed):
    """Yields the trials."""
    add_libraries(folder.directory / "lib", is_packed)
    shared = ["-shared", "-Wl,-soname,libcuda.so,--no-as-needed"]
    folder.run("cc", *shared, "-Lstand-in", "-l:libcuda.so.1", "-o", "lib/openmp/libcuda.so")

    def compiled(name, *arguments):
        output = temporary / name
        folder.run(*clang, "-fopenmp", "-nogpulib", "-O1", *arguments, SOURCES / "openmp.c", "-o", output)
        return output

    program = compiled("openmp.o", f"--offload-arch={','.join(LINKED)}", "-c")
    folder.run(folder.fatbin, "link", clang[1], "--", "cc", program, *libraries(), "-o", "bin/openmp-link")
    yield trial("openmp/link", "bin/openmp-link")
    for arch in sorted({arch for order in ORDERS for arch in order.split()}):
        # The region is complete, so that it needs no linker.
        ptx = compiled(f"{arch}.ptx", "--offload-device-only", f"--offload-arch=sm_{arch}", "-S")
        folder.run(ASSEMBLER, f"-arch=sm_{arch}", ptx, "-o", ptx.with_suffix(".cubin"))
        number = 21000 if arch.endswith("a") else 20000
        folder.images.numbers[f"c{arch}/openmp"] = number + int(arch.rstrip("a"))
    host = compiled("host.o", "--offload-host-only", f"--offload-arch={LINKED[0]}", "-c")
    wrapper = temporary / "wrapper.o"
    for order in ORDERS:
        name = order.replace(" ", "-")
        cubins = [temporary / f"{arch}.cubin" for arch in order.split()]
        folder.run(folder.fatbin, "wrap", "--kind", "openmp", *cubins, "-o", wrapper)
        folder.run("cc", host, wrapper, *libraries(), "-o", f"bin/openmp-wrap-{name}")
        yield trial(f"openmp/wrap/{name}", f"bin/openmp-wrap-{name}")


def trial(name, output):
    return {"name": name, "program": [output], "file": output, "launches": 1, "oldest": OLDEST_DRIVER}


def libraries():
    """Returns the options that link libomptarget. `run` states where it is: a path in the program does not reach the
    library of LLVM, which loads libcuda.so."""
    return ["-pie", "-Wl,--allow-shlib-undefined", *LIBRARIES]


def add_libraries(directory, is_packed):
    """Copies libomptarget and what it needs. For a directory that stays on this machine, links to them are enough."""
    if missing := [library for library in LIBRARIES if not library.is_file()]:
        raise MissingTool(f"{missing[0].name} not found (Debian packages libomp-22-dev and liboffload-22)")
    (directory / "openmp").mkdir()
    for name, path in needed().items():
        if is_packed:
            shutil.copy2(path, directory / "openmp" / name)
        else:
            (directory / "openmp" / name).symlink_to(path)
    (directory / "openmp" / OTHER_NAME).symlink_to(LIBOMP.name)


def needed():
    """Returns the paths of the libraries, and of those that they need, by name."""
    printed = subprocess.run(["ldd", *LIBRARIES], check=True, stdout=subprocess.PIPE, text=True).stdout
    found = dict(re.findall(r"^\s+(\S+) => (\S+)", printed, re.MULTILINE))
    libraries = {name: path for name, path in found.items() if not SYSTEM.fullmatch(name)}
    return libraries | {path.name: str(path) for path in LIBRARIES}
