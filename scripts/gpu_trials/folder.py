"""The directory of the trials: programs, images and predictions, without anything that a machine with a GPU must have."""

import json
import shutil
import tarfile
import tempfile
from pathlib import Path

from . import containers, device_link, edits, programs, real
from .images import SOURCES, Images, run
from .predictions import Predictor, with_runtime

# Packed directories must stay below this size, to travel.
LIMIT = 160 << 20

# Trials that use each way of loading; all other fat binaries go through cuModuleLoadData.
OTHER_WAYS = {
    "library": ["nearest-lower", "every-major", "equal-cubins", "suffix-a-last", "ptx-several", "mixed-codecs", "grouped", "ptx-too-new-nearer"],
    "fatbinary": ["every-major", "other-majors-only", "mode-size", "ptx-isa-9.5"],
    "wrapper": ["every-major", "nearest-lower", "mode-speed", "mode-size", "equal-ptx", "grouped", "order-ptx-first"],
}  # fmt: skip


class Folder:
    def __init__(self, directory, fatbin, devices, drivers):
        self.directory = directory
        self.fatbin = fatbin
        self.predictor = Predictor(fatbin, devices, drivers)
        self.images = None
        self.trials = []

    def build(self, is_packed, is_for_gpu):
        """Writes the directory anew. It is packed if it contains all libraries, and otherwise refers to some of this machine. Trials
        that the stand-in cannot run are left out unless it is for a GPU."""
        shutil.rmtree(self.directory, ignore_errors=True)
        for name in ("bin", "lib", "images", "fatbins", "stand-in"):
            (self.directory / name).mkdir(parents=True)
        self.images = Images(self.directory / "images")
        self.compile()
        for group, table in (("select", containers.SELECT), ("requires", containers.FLOORS)):
            for row in containers.rows(table):
                self.add_container(group, row)
        with tempfile.TemporaryDirectory() as temporary:
            fat_binary = self.directory / "fatbins/select-mode-size.fatbin"
            self.trials += programs.trials(self, Path(temporary), fat_binary, is_packed)
            self.add_edits()
            if is_for_gpu:
                # The stand-in does not imitate device links and real kernels.
                self.trials += [*device_link.trials(self, Path(temporary)), *real.trials(self)]
        self.write_manifest()
        if is_packed:
            self.pack()
        size = sum(path.lstat().st_size for path in self.directory.rglob("*") if path.is_file())
        if is_packed and size > LIMIT:
            raise RuntimeError(f"{self.directory}: {size} bytes, more than {LIMIT}")
        return size

    def pack(self):
        """Packs the largest files, which `run` unpacks: LLVM's library has 150 MB, pruned libraries are mostly zeros."""
        for name in ("lib/openmp", "real"):
            directory = self.directory / name
            if directory.is_dir():
                with tarfile.open(directory.with_name(f"{directory.name}.tar.xz"), "w:xz", preset=6) as archive:
                    archive.add(directory, directory.name)
                shutil.rmtree(directory)

    def compile(self):
        """Compiles the loader, and the stand-in for libcuda."""
        self.cc(SOURCES / "loader.c", SOURCES / "load.c", "-ldl", "-o", "bin/loader")
        sources = [SOURCES / name for name in ("stand_in.c", "stand_in_memory.c", "stand_in_openmp.c", "fat_binary.c")]
        self.cc("-fPIC", "-shared", "-Wl,-soname,libcuda.so.1", *sources, "-ldl", "-o", "stand-in/libcuda.so.1")
        shutil.copy2(Path(__file__).with_name("run.py"), self.directory / "run")
        (self.directory / "run").chmod(0o755)

    def cc(self, *arguments):
        self.run("cc", "-O1", "-Wall", "-Wextra", "-Werror", *arguments)

    def run(self, *command):
        run(self.directory, *command)

    def add_container(self, group, row):
        name = row[0]
        path = f"fatbins/{group}-{name}.fatbin"
        containers.write(self.fatbin, self.images, row, self.directory / path)
        self.trials.append({"name": f"{group}/{name}", "load": ["module", path], "file": path})
        for way, names in OTHER_WAYS.items() if group == "select" else ():
            if name in names:
                oldest = "0.0" if way == "fatbinary" else "12.0"
                trial = {"name": f"{group}/{name}/{way}", "load": [way, path], "file": path, "oldest": oldest}
                self.trials.append(trial)

    def add_edits(self):
        """Changes a fat binary and a linked program."""
        images, path = self.images, "fatbins/edit.fatbin"
        containers.write(self.fatbin, images, ("edit", "pack", "lz4", edits.IMAGES), self.directory / path)
        self.trials.append({"name": "edit/file", "load": ["module", path], "file": path})
        program = programs.wrapped(self, "edit/program", "llvm22", "12", [path])
        self.trials.append(program)
        replacement = images.path("c90#r")
        for name, output in edits.edit(self, replacement, path):
            self.trials.append({"name": f"edit/file/{name}", "load": ["module", output], "file": output})
        for name, output in edits.edit(self, replacement, program["file"], is_program=True):
            self.trials.append({**program, "name": f"edit/program/{name}", "program": [output], "file": output})

    def write_manifest(self):
        """Writes the trials with the predictions for the files that they load."""
        files = sorted({(self.directory / trial["file"], trial.get("expects", "number")) for trial in self.trials})
        predictions = self.predictor.of_files(files)
        floors = self.predictor.floors(sorted({path for path, _ in files}))
        for trial in self.trials:
            file = self.directory / trial.pop("file")
            of_file = predictions[file, trial.setdefault("expects", "number")]
            trial["predictions"] = with_runtime(of_file, trial.pop("runtime", None))
            if "load" in trial:
                trial["floors"] = floors[file]
        images = {str(number): specification for specification, number in self.images.numbers.items()}
        manifest = {"devices": self.predictor.devices, "drivers": self.predictor.drivers, "images": images,
                    "trials": self.trials}
        (self.directory / "manifest.json").write_text(json.dumps(manifest) + "\n")
