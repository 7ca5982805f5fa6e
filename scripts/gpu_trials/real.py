"""Libraries from PyPI, pruned: a kernel of each is launched."""

import tempfile
import zipfile
from pathlib import Path

from .images import RUNTIMES, SOURCES, MissingTool

# Name, directory and pattern of the wheel, pattern of the library in it. bin/real knows the part of the name before the point.
LIBRARIES = [
    ("bitsandbytes", "real-files/bitsandbytes-*manylinux*.whl", "*/libbitsandbytes_cuda130.so"),
    ("nvjpeg.cuda13", "torchvision/torchvision-*.whl", "*/libnvjpeg.*.so.13"),
    ("nvjpeg.cuda12", "real-files/nvidia_nvjpeg_cu12-*.whl", "*/libnvjpeg.so.12"),
    ("curand", "curand/nvidia_curand_cu12-*.whl", "*/libcurand.so.10"),
]

# Libraries below this size in bytes have more than one variant in the directory.
SMALL = 20 << 20

# Libraries that bitsandbytes is linked with, and that its kernel does not call.
UNUSED = ["libcublas.so.13", "libcublasLt.so.13"]


def trials(folder):
    """Yields the trials: each library for the devices alone, and a small one also without the only device."""
    devices = folder.predictor.devices
    (folder.directory / "real").mkdir()
    sources = [SOURCES / "real.c", SOURCES / "load.c"]
    folder.run("cc", "-O1", "-Wall", "-Wextra", "-Werror", *sources, "-ldl", "-o", "bin/real")
    for name in UNUSED:
        folder.run("cc", "-shared", "-x", "c", "/dev/null", f"-Wl,-soname,{name}", "-o", f"lib/{name}")
    for name, wheel, pattern in LIBRARIES:
        with tempfile.TemporaryDirectory() as temporary:
            library = member(wheel, pattern, Path(temporary))
            edits = {"kept": ["--device", ",".join(devices)]}
            if len(devices) == 1 and library.stat().st_size < SMALL:
                edits["dropped"] = ["--drop", devices[0]]
            for edit, options in edits.items():
                output = f"real/{name}-{edit}.so"
                folder.run(folder.fatbin, "prune", "--quiet", *options, library, "-o", output)
                program = ["bin/real", name.split(".")[0], output]
                yield {"name": f"real/{name}/{edit}", "program": program, "file": output, "expects": "success",
                       "is_gpu_only": True}


def member(wheel, pattern, temporary):
    """Unpacks a library from its wheel."""
    found = sorted(RUNTIMES.glob(wheel))
    if not found:
        raise MissingTool(f"{wheel} not found (scripts/test --install fetches it)")
    with zipfile.ZipFile(found[0]) as archive:
        [name] = [entry for entry in archive.namelist() if Path(entry).match(pattern)]
        return Path(archive.extract(name, temporary))
