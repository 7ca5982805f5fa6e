"""Programs that fatbin has put device code into: registered by `wrap` and `link`, or embedded by `embed`."""

import shutil
import tempfile
from pathlib import Path

from .images import RUNTIMES, SOURCES, fetched, run
from .openmp import Clang, OpenMp

# The directory of NVIDIA's runtimes, from a program.
RUN_PATH = "$ORIGIN/../lib"

FLAGS = ["-O1", "-Wall", "-Wextra", "-Werror", "-fPIE"]

# Libraries of the CUDA runtime, by release, as scripts/test --install fetches them.
LIBRARIES = {
    "11": RUNTIMES / "cuda-11/nvidia/cuda_runtime/lib/libcudart.so.11.0",
    "12": RUNTIMES / "cuda-12/nvidia/cuda_runtime/lib/libcudart.so.12",
    "13": RUNTIMES / "cuda-13/nvidia/cu13/lib/libcudart.so.13",
}

# Images that run on every device.
EVERYWHERE = "c75 c80 c90 c100 c120 p75".split()

# ABIs with another layout of the entries or of the wrapper, each with libcudart of CUDA 13; the others have one ABI.
ABIS = ["llvm15", "llvm17", "llvm19", "llvm20", "llvm21", "llvm22", "llvm24"]

# Architectures that clang compiles for.
COMPILED = ["80", "90", "120"]

EMBEDDED = {
    "cubin_75": "c75", "cubin_80": "c80", "cubin_90": "c90", "cubin_90a": "c90a", "cubin_100": "c100", "cubin_120": "c120", "ptx": "p75",
}  # fmt: skip


class Programs:
    """Builds programs in a directory of trials."""

    def __init__(self, directory, fatbin, images):
        self.directory = directory
        self.fatbin = fatbin
        self.images = images

    def build(self, fat_binary, is_packed):
        """Yields the trials of all programs. The fat binary is one by NVIDIA's fatbinary, compressed."""
        self.copy_runtimes()
        for release in LIBRARIES:
            for abi in ABIS if release == "13" else ["llvm15", "llvm22"]:
                yield self.wrapped(f"wrap/{abi}/cudart-{release}", abi, release, self.image_options())
            yield self.wrapped(f"wrap/fatbinary/cudart-{release}", "llvm22", release, [fat_binary])
        with tempfile.TemporaryDirectory() as temporary:
            temporary = Path(temporary)
            clang = Clang(temporary)
            yield from self.linked(temporary, clang)
            yield from self.embedded(temporary, fat_binary)
            yield from OpenMp(self, clang, temporary).build(is_packed)

    def copy_runtimes(self):
        """Copies NVIDIA's runtimes, and compiles their stand-ins with the same versions of the symbols."""
        for release, library in LIBRARIES.items():
            shutil.copy2(fetched(library), self.directory / "lib")
            versions = self.directory / "stand-in/versions"
            versions.write_text(f"{library.name} {{ global: *; }};\n")
            shared = ["-shared", "-fPIC", f"-DRELEASE={release}", f"-Wl,-soname,{library.name},--version-script={versions}"]
            driver = ["-Lstand-in", "-l:libcuda.so.1"]
            self.cc(*shared, SOURCES / "stand_in_runtime.c", *driver, "-o", f"stand-in/{library.name}")
            versions.unlink()

    def image_options(self):
        images = self.images
        return [f"--image=file={images.path(name)},arch={images.arch(name)}" for name in EVERYWHERE]

    def wrapped(self, name, abi, release, options):
        """A program whose kernel and variable `wrap --entry` registers."""
        output = "bin/" + name.replace("/", "-")
        command = ["wrap", "--kind", "cuda", "--abi", abi, "--entry=answer=answer_stub", "--entry=addend=addend_shadow,size=4"]
        self.run(self.fatbin, *command, *options, "-o", f"{output}.o")
        self.cc(SOURCES / "program.c", f"{output}.o", *self.runtime(release), "-o", output)
        (self.directory / f"{output}.o").unlink()
        return {"name": name, "program": [output], "file": output, "runtime": release, "launches": 2}

    def linked(self, temporary, clang):
        """Programs whose device code `link` takes from objects of clang."""
        archs = [f"--cuda-gpu-arch=sm_{arch}" for arch in COMPILED]
        options = ["-nocudalib", "-nocudainc", "--no-cuda-version-check", "-Wno-unknown-cuda-version"]
        options += ["--offload-new-driver", "-fgpu-rdc"]
        self.run(*clang.command, *options, *archs, "-O1", "-c", SOURCES / "compiled.cu", "-o", temporary / "compiled.o")
        for arch in COMPILED:
            self.images.numbers[f"c{arch}/clang"] = 10000 + int(arch)
        self.cc("-DCOMPILED", "-c", SOURCES / "program.c", "-o", temporary / "program.o")
        for release in LIBRARIES:
            output = f"bin/link-cudart-{release}"
            inputs = [temporary / "program.o", temporary / "compiled.o", *self.runtime(release)]
            self.run(self.fatbin, "link", clang.option, "--", "cc", *inputs, "-o", output)
            trial = {"program": [output], "file": output, "runtime": release, "launches": 2}
            yield {"name": f"link/cudart-{release}", **trial}

    def embedded(self, temporary, fat_binary):
        """A program that passes embedded images to cuModuleLoadData."""
        files = {symbol: self.images.path(name) for symbol, name in EMBEDDED.items()} | {"fatbin": fat_binary}
        options = [f"--symbol={symbol}={file}" for symbol, file in files.items()]
        self.run(self.fatbin, "embed", *options, "-o", temporary / "images.o")
        sources = [SOURCES / "embedded.c", SOURCES / "load.c", temporary / "images.o"]
        self.cc(*sources, "-ldl", "-o", "bin/embedded")
        for symbol, file in files.items():
            yield {"name": f"embed/{symbol}", "program": ["bin/embedded", symbol], "file": str(Path(file).relative_to(self.directory))}

    def runtime(self, release):
        """Returns the options that link NVIDIA's library, which is found in the directory of the trials or in LD_LIBRARY_PATH."""
        run_path = f"-Wl,--enable-new-dtags,-rpath,{RUN_PATH},--allow-shlib-undefined"
        return ["-pie", run_path, LIBRARIES[release]]

    def cc(self, *arguments):
        self.run("cc", *FLAGS, *arguments)

    def run(self, *command):
        run(self.directory, *command)
