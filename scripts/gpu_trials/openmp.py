"""OpenMP programs, whose images `link` has linked or `wrap` has registered, and the libraries that they need."""

import re
import shutil
import subprocess
from pathlib import Path

from .images import ASSEMBLERS, RUNTIMES, SOURCES, MissingTool

CUDA_TOOLS = RUNTIMES / "cuda-nvcc-13.0/nvidia/cu13/bin"

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
LINKED = ["80", "90", "120"]
# Assembler whose cubins every driver that libomptarget can use loads.
ASSEMBLER = ASSEMBLERS["12.9"]


class Clang:
    """clang with CUDA's tools, in a directory as clang expects it, without an installation of CUDA."""

    def __init__(self, temporary):
        clang, cuda = shutil.which("clang-22"), temporary / "cuda"
        if not clang:
            raise MissingTool("clang-22 not found (Debian package clang-22)")
        for part in ("bin", "include", "nvvm/libdevice"):
            (cuda / part).mkdir(parents=True)
        for tool in ("ptxas", "fatbinary", "nvlink"):
            (cuda / "bin" / tool).symlink_to(CUDA_TOOLS / tool)
        # clang writes PTX for this release.
        (cuda / "include/cuda.h").write_text("#define CUDA_VERSION 12090\n")
        self.option = f"--cuda-path={cuda}"
        self.command = [clang, self.option]


class OpenMp:
    """Builds the programs in a directory of trials."""

    def __init__(self, programs, clang, temporary):
        self.programs = programs
        self.clang = clang
        self.temporary = temporary

    def build(self, is_packed):
        """Yields the trials."""
        add_libraries(self.programs.directory / "lib", is_packed)
        self.programs.cc("-shared", "-Wl,-soname,libcuda.so,--no-as-needed", "-Lstand-in", "-l:libcuda.so.1", "-o", "lib/openmp/libcuda.so")
        yield self.linked()
        for arch in sorted({arch for order in ORDERS for arch in order.split()}):
            self.assemble(arch)
        self.compile("--offload-host-only", f"--offload-arch=sm_{LINKED[0]}", "-c", "-o", self.temporary / "host.o")
        for order in ORDERS:
            yield self.wrapped(order.split())

    def compile(self, *arguments):
        self.programs.run(*self.clang.command, "-fopenmp", "-nogpulib", "-O1", *arguments, SOURCES / "openmp.c")

    def assemble(self, arch):
        """Writes an image. The region is complete, so that it needs no linker."""
        ptx, cubin = (self.temporary / f"{arch}.{suffix}" for suffix in ("ptx", "cubin"))
        self.compile("--offload-device-only", f"--offload-arch=sm_{arch}", "-S", "-o", ptx)
        self.programs.run(ASSEMBLER, f"-arch=sm_{arch}", ptx, "-o", cubin)
        number = 21000 if arch.endswith("a") else 20000
        self.programs.images.numbers[f"c{arch}/openmp"] = number + int(arch.rstrip("a"))

    def wrapped(self, archs):
        output = f"bin/openmp-wrap-{'-'.join(archs)}"
        wrapper = self.temporary / "wrapper.o"
        self.programs.run(self.programs.fatbin, "wrap", "--kind", "openmp", *(self.temporary / f"{arch}.cubin" for arch in archs), "-o", wrapper)
        self.programs.run("cc", self.temporary / "host.o", wrapper, *self.libraries(), "-o", output)
        return self.trial(f"openmp/wrap/{'-'.join(archs)}", output)

    def linked(self):
        output, archs = "bin/openmp-link", ",".join(f"sm_{arch}" for arch in LINKED)
        compiled = self.temporary / "openmp.o"
        self.compile(f"--offload-arch={archs}", "-c", "-o", compiled)
        link = [self.programs.fatbin, "link", self.clang.option, "--", "cc"]
        self.programs.run(*link, compiled, *self.libraries(), "-o", output)
        return self.trial("openmp/link", output)

    def trial(self, name, output):
        return {"name": name, "program": [output], "file": output, "launches": 1, "oldest": OLDEST_DRIVER}

    def libraries(self):
        """Returns the options that link libomptarget. `run` states where it is: a path in the program does not reach the library of
        LLVM, which loads libcuda.so."""
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
