"""Programs that fatbin has put device code into: registered by `wrap` and `link`, or embedded by `embed`."""

import shutil
from pathlib import Path

from . import openmp
from .images import RUNTIMES, SOURCES, MissingTool, fetched

CUDA_TOOLS = RUNTIMES / "cuda-nvcc-13.0/nvidia/cu13/bin"

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


def trials(folder, temporary, fat_binary, is_packed):
    """Yields the trials of all programs. The fat binary is one by NVIDIA's fatbinary, compressed."""
    copy_runtimes(folder)
    images = [f"--image=file={folder.images.path(name)},arch={folder.images.arch(name)}" for name in EVERYWHERE]
    for release in LIBRARIES:
        for abi in ABIS if release == "13" else ["llvm15", "llvm22"]:
            yield wrapped(folder, f"wrap/{abi}/cudart-{release}", abi, release, images)
        yield wrapped(folder, f"wrap/fatbinary/cudart-{release}", "llvm22", release, [fat_binary])
    clang = clang_command(temporary)
    yield from linked(folder, temporary, clang)
    yield from embedded(folder, temporary, fat_binary)
    yield from openmp.trials(folder, temporary, clang, is_packed)


def cc(folder, *arguments):
    folder.run("cc", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIE", *arguments)


def runtime(release):
    """Returns the options that link NVIDIA's library, which is found next to the trials or in LD_LIBRARY_PATH."""
    return ["-pie", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib,--allow-shlib-undefined", LIBRARIES[release]]


def copy_runtimes(folder):
    """Copies NVIDIA's runtimes, and compiles their stand-ins with the same versions of the symbols."""
    versions = folder.directory / "stand-in/versions"
    for release, library in LIBRARIES.items():
        shutil.copy2(fetched(library), folder.directory / "lib")
        versions.write_text(f"{library.name} {{ global: *; }};\n")
        shared = ["-shared", "-fPIC", f"-DRELEASE={release}", f"-Wl,-soname,{library.name},--version-script={versions}"]
        driver = ["-Lstand-in", "-l:libcuda.so.1"]
        cc(folder, *shared, SOURCES / "stand_in_runtime.c", *driver, "-o", f"stand-in/{library.name}")
    versions.unlink()


def wrapped(folder, name, abi, release, options):
    """A program whose kernel and variable `wrap --entry` registers."""
    output = "bin/" + name.replace("/", "-")
    entries = ["--entry=answer=answer_stub", "--entry=addend=addend_shadow,size=4"]
    folder.run(folder.fatbin, "wrap", "--kind", "cuda", "--abi", abi, *entries, *options, "-o", f"{output}.o")
    cc(folder, SOURCES / "program.c", f"{output}.o", *runtime(release), "-o", output)
    (folder.directory / f"{output}.o").unlink()
    return {"name": name, "program": [output], "file": output, "runtime": release, "launches": 2}


def clang_command(temporary):
    """Returns clang with CUDA's tools, in a directory as clang expects it, without an installation of CUDA."""
    clang, cuda = shutil.which("clang-22"), temporary / "cuda"
    if not clang:
        raise MissingTool("clang-22 not found (Debian package clang-22)")
    for part in ("bin", "include", "nvvm/libdevice"):
        (cuda / part).mkdir(parents=True)
    for tool in ("ptxas", "fatbinary", "nvlink"):
        (cuda / "bin" / tool).symlink_to(CUDA_TOOLS / tool)
    # clang writes PTX for this release.
    (cuda / "include/cuda.h").write_text("#define CUDA_VERSION 12090\n")
    return [clang, f"--cuda-path={cuda}"]


def linked(folder, temporary, clang):
    """Programs whose device code `link` takes from objects of clang."""
    archs = [f"--cuda-gpu-arch=sm_{arch}" for arch in COMPILED]
    options = ["-nocudalib", "-nocudainc", "--no-cuda-version-check", "-Wno-unknown-cuda-version"]
    options += ["--offload-new-driver", "-fgpu-rdc"]
    compiled = temporary / "compiled.o"
    program = temporary / "program.o"
    folder.run(*clang, *options, *archs, "-O1", "-c", SOURCES / "compiled.cu", "-o", compiled)
    folder.images.numbers |= {f"c{arch}/clang": 10000 + int(arch) for arch in COMPILED}
    cc(folder, "-DCOMPILED", "-c", SOURCES / "program.c", "-o", program)
    for release in LIBRARIES:
        output = f"bin/link-cudart-{release}"
        folder.run(folder.fatbin, "link", clang[1], "--", "cc", program, compiled, *runtime(release), "-o", output)
        yield {"name": f"link/cudart-{release}", "program": [output], "file": output, "runtime": release, "launches": 2}


def embedded(folder, temporary, fat_binary):
    """A program that passes embedded images to cuModuleLoadData."""
    files = {symbol: folder.images.path(name) for symbol, name in EMBEDDED.items()} | {"fatbin": fat_binary}
    options = [f"--symbol={symbol}={file}" for symbol, file in files.items()]
    folder.run(folder.fatbin, "embed", *options, "-o", temporary / "images.o")
    cc(folder, SOURCES / "embedded.c", SOURCES / "load.c", temporary / "images.o", "-ldl", "-o", "bin/embedded")
    for symbol, file in files.items():
        file = str(Path(file).relative_to(folder.directory))
        yield {"name": f"embed/{symbol}", "program": ["bin/embedded", symbol], "file": file}
