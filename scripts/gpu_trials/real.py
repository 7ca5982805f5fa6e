"""Libraries from PyPI, pruned: a kernel of each is launched, and all containers of those that need Python are loaded."""

import json
import subprocess
import tempfile
import zipfile
from pathlib import Path

from .images import RUNTIMES, SOURCES, MissingTool, run

# Name, directory and pattern of the wheel, pattern of the library in it. bin/real knows the part of the name before the point.
LIBRARIES = [
    ("bitsandbytes", "real-files/bitsandbytes-*manylinux*.whl", "*/libbitsandbytes_cuda130.so"),
    ("nvjpeg.cuda13", "torchvision/torchvision-*.whl", "*/libnvjpeg.*.so.13"),
    ("nvjpeg.cuda12", "real-files/nvidia_nvjpeg_cu12-*.whl", "*/libnvjpeg.so.12"),
    ("curand", "curand/nvidia_curand_cu12-*.whl", "*/libcurand.so.10"),
]

# Libraries that only Python can load. Their containers are loaded, and the kernels of the chosen images counted.
MODULES = [
    ("torchvision", "torchvision/torchvision-*.whl", "torchvision/_C*.so"),
    ("qiskit-aer", "real-files/qiskit_aer_gpu-*.whl", "*/controller_wrappers*.so"),
]

# Libraries below this size in bytes have more than one variant in the directory.
SMALL = 20 << 20

# Libraries that bitsandbytes is linked with, and that its kernel does not call.
UNUSED = ["libcublas.so.13", "libcublasLt.so.13"]


class Real:
    """Builds the trials in a directory for some devices."""

    def __init__(self, directory, fatbin, devices):
        self.directory = directory
        self.fatbin = fatbin
        self.devices = devices

    def build(self):
        """Yields the trials."""
        (self.directory / "real").mkdir()
        run(self.directory, "cc", "-O1", "-Wall", "-Wextra", "-Werror", SOURCES / "real.c", SOURCES / "load.c", "-ldl", "-o", "bin/real")
        for name in UNUSED:
            run(self.directory, "cc", "-shared", "-x", "c", "/dev/null", f"-Wl,-soname,{name}", "-o", f"lib/{name}")
        with tempfile.TemporaryDirectory() as temporary:
            for row in LIBRARIES:
                yield from self.library(row, Path(temporary))
            for row in MODULES:
                yield from self.module(row, Path(temporary))

    def library(self, row, temporary):
        """The library for these devices alone, and a small one also without the only device."""
        name, library = row[0], member(row, temporary)
        edits = {"kept": ["--device", ",".join(self.devices)]}
        if len(self.devices) == 1 and library.stat().st_size < SMALL:
            edits["dropped"] = ["--drop", self.devices[0]]
        for edit, options in edits.items():
            output = f"real/{name}-{edit}.so"
            run(self.directory, self.fatbin, "prune", "--quiet", *options, library, "-o", output)
            program = ["bin/real", name.split(".")[0], output]
            yield {"name": f"real/{name}/{edit}", "program": program, "file": output, "expects": "success", "is_gpu_only": True}

    def module(self, row, temporary):
        name, library = row[0], member(row, temporary)
        pruned = temporary / f"{name}.so"
        run(self.directory, self.fatbin, "prune", "--quiet", "--device", ",".join(self.devices), library, "-o", pruned)
        for number, container in enumerate(self.containers(pruned)):
            output = f"real/{name}-{number}.fatbin"
            (self.directory / output).write_bytes(container)
            trial = {"load": ["kernels", output], "file": output, "expects": "kernels", "is_gpu_only": True}
            yield {"name": f"real/{name}/container-{number}", "oldest": "12.4", **trial}

    def containers(self, path):
        scan = subprocess.run([self.fatbin, "scan", "--json", path], check=True, stdout=subprocess.PIPE).stdout
        [file] = json.loads(scan)["files"]
        found = [container for container in file["containers"] if container["type"] == "cuda-fatbin"]
        content = path.read_bytes()
        return [content[container["offset"] : container["offset"] + container["size"]] for container in found]


def member(row, temporary):
    """Unpacks the library of a row from its wheel."""
    name, wheel, pattern = row
    wheels = sorted(RUNTIMES.glob(wheel))
    if not wheels:
        raise MissingTool(f"{wheel} not found (scripts/test --install fetches it)")
    with zipfile.ZipFile(wheels[0]) as archive:
        [found] = [entry for entry in archive.namelist() if Path(entry).match(pattern)]
        path = temporary / f"{name}-original.so"
        path.write_bytes(archive.read(found))
    return path
