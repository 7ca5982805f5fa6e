"""Shared by all benchmarks: comparisons, limits, and input files."""

import filecmp
import os
import random
import shutil
import statistics
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
LLVM = Path("/usr/lib/llvm-22/bin")
TRIPLE = "x86_64-unknown-linux-gnu"

MIB = 1 << 20

# Limit of commands that copy images: pages of the program itself, of which the profile release touches up to 11.0 MiB and the published
# program 9.2 MiB, and nothing of the images.
MOST_MEMORY = 16 * MIB


class Failure(Exception):
    """A command that failed or a wrong result; ends the run."""


class Bench:
    """Sizes, directories and results shared by all benchmarks."""

    def __init__(self, quick, directory, program, description, library=None, before=None):
        self.quick = quick
        self.fatbin = program
        # What the program is, for the document.
        self.description = description
        # An earlier program of fatbin, which looks into the same libraries.
        self.before = before
        # A library of the user to look into, besides the others.
        self.library = library
        self.directory = directory
        self.image_size = 32_000_000 if quick else 300_000_000
        self.rounds = 3 if quick else 5
        self.peer_rounds = 1 if quick else 2
        self.failed_gates = []
        # Lists of tables and remarks by benchmark, for the document.
        self.results = {}
        self.launcher = directory / "measure"
        run("cc", "-O1", "-o", self.launcher, ROOT / "scripts/lib/measure.c")
        self.empty = directory / "empty"
        run("cc", "-O1", "-static", "-o", self.empty, ROOT / "scripts/lib/empty.c")
        self._images = {}

    def measure(self, *command):
        """Returns the cost of a command, which must succeed."""
        return measure(self.launcher, self.directory, command)

    def nothing(self):
        """Returns the contestant that starts and ends."""
        return Contestant("an empty static program", [[self.empty]])

    def image(self, size=None):
        """Returns a file with the headers of a shared library for x86-64, filled with incompressible bytes."""
        size = size or self.image_size
        if size not in self._images:
            self._images[size] = self.directory / f"image-{size}.so"
            write_image(self._images[size], size)
            print(f"image: {size:,} bytes")
        return self._images[size]

    def forget(self, image):
        """Removes an image that is no longer needed; large ones fill a disk."""
        self._images = {size: path for size, path in self._images.items() if path != image}
        image.unlink()

    def begin(self, name):
        """Begins a benchmark."""
        self.results[name] = []

    def record(self, result):
        """Keeps a table or a remark of the current benchmark."""
        list(self.results.values())[-1].append(result)

    def gate(self, what, holds):
        """Prints a limit. One that is exceeded fails the run."""
        self.remark(f"{'met' if holds else 'EXCEEDED'}: {what}")
        if not holds:
            self.failed_gates.append(what)

    def goal(self, what, holds):
        """Prints a goal, which may be missed."""
        self.remark(f"goal {'met' if holds else 'MISSED'}: {what}")

    def remark(self, text):
        print(f"  {text}")
        self.record(text)


class Cost:
    """Figures of scripts/lib/measure.c, and what the command printed."""

    def __init__(self, figures, output):
        self.seconds = float(figures[0])
        self.memory = int(figures[1]) * 1024
        # Bytes that were written to disk, those of temporary files included.
        self.blocks = int(figures[2]) * 512
        self.processor = float(figures[3]) + float(figures[4])
        # Bytes that calls read and wrote.
        self.read, self.wrote = int(figures[5]), int(figures[6])
        self.output = output


def measure(launcher, directory, command, statuses=(0,)):
    """Returns the cost of a command, which must end with one of these statuses."""
    reading, writing = os.pipe()
    done = subprocess.run([launcher, str(writing), *command], cwd=directory, pass_fds=[writing],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        figures = pipe.read().split()
    if done.returncode not in statuses:
        raise Failure(f"{command_line(command)}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return Cost(figures, done.stdout.decode(errors="replace"))


class Contestant:
    """One way to do a task: its commands in order, and their output files."""

    def __init__(self, name, commands, outputs=(), rounds=None):
        self.name = name
        self.commands = commands
        self.outputs = outputs
        self.rounds = rounds
        self.seconds = []
        self.memory = 0
        self.blocks = 0
        self.processor = 0
        self.read = self.wrote = 0
        self.output = ""

    def run(self, bench):
        for output in self.outputs:
            path = bench.directory / output
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        # Otherwise, the time includes writing back the output of the preceding contestant.
        os.sync()
        costs = [bench.measure(*command) for command in self.commands]
        self.seconds.append(sum(cost.seconds for cost in costs))
        self.memory = max(self.memory, *(cost.memory for cost in costs))
        self.blocks = sum(cost.blocks for cost in costs)
        self.processor = sum(cost.processor for cost in costs)
        self.read, self.wrote = sum(cost.read for cost in costs), sum(cost.wrote for cost in costs)
        self.output = costs[-1].output

    def written(self, bench):
        """Returns the size of the outputs; for a directory, of the files in it."""
        paths = [bench.directory / output for output in self.outputs]
        files = [file for path in paths for file in (path.iterdir() if path.is_dir() else [path])]
        return sum(file.lstat().st_size for file in files)


class Row:
    """Figures of a contestant, as they are printed: medians, with the range of the times."""

    def __init__(self, contestant, limit, size):
        times = [seconds * 1000 for seconds in contestant.seconds]
        self.name = contestant.name
        self.ratio = wall_ratio(contestant, limit)
        self.cells = [f"{len(times)}", f"{statistics.median(times):,.1f}", f"{min(times):,.1f} – {max(times):,.1f}",
                      f"{self.ratio:.2f}", f"{contestant.processor * 1000:,.0f}", f"{contestant.memory / MIB:,.1f}",
                      f"{contestant.read / 1e6:,.1f}", f"{contestant.wrote / 1e6:,.1f}", f"{size / 1e6:,.3f}"]


class Table:
    """Result of a comparison."""

    HEADS = ["rounds", "median ms", "range ms", "ratio", "CPU ms", "MiB", "MB read", "MB written", "MB output"]

    def __init__(self, title, rows, limit):
        self.title = title
        self.rows = rows
        self.limit = limit

    def __str__(self):
        lines = [["", *Table.HEADS], *([row.name, *row.cells] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines)]
        return "\n".join("  " + "  ".join(f"{cell:{'>' if at else '<'}{width}}" for at, (cell, width) in
                                          enumerate(zip(line, widths))) for line in lines)


def compete(bench, title, contestants, rounds, limit):
    """Runs the contestants in turns (A B C, A B C, …) and prints a table with ratios to `limit`."""
    for turn in range(rounds):
        for contestant in contestants:
            if contestant.rounds is None or turn < contestant.rounds:
                contestant.run(bench)
    rows = [Row(contestant, limit, contestant.written(bench)) for contestant in contestants]
    table = Table(title, rows, limit.name)
    bench.record(table)
    print(f"\n{title}\n{table}")


def contains_image(bench, file, image):
    """Checks that `fatbin extract` extracts exactly this image from a file."""
    out = bench.directory / "extracted"
    shutil.rmtree(out, ignore_errors=True)
    run(bench.fatbin, "extract", bench.directory / file, "-o", out)
    files = [path for path in out.rglob("*") if path.is_file()]
    if len(files) != 1 or not filecmp.cmp(files[0], image, shallow=False):
        raise Failure(f"{file} does not contain the image: {len(files)} files extracted")
    shutil.rmtree(out)


def wall_ratio(contestant, limit):
    """Returns the median ratio of the times of both contestants in the same round."""
    return statistics.median(ours / theirs for ours, theirs in zip(contestant.seconds, limit.seconds))


def write_image(path, size):
    """Writes random bytes, because a sparse file would be copied without being read. The seed is constant."""
    elf64 = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    shared_object, x86_64, load, readable = 3, 62, 1, 4
    # ELF header, then one program header whose segment is the whole file.
    numbers = [(shared_object, 2), (x86_64, 2), (1, 4), (0, 8), (64, 8), (0, 8), (0, 4), (64, 2), (56, 2), (1, 2),
               (64, 2), (0, 2), (0, 2),
               (load, 4), (readable, 4), (0, 8), (0, 8), (0, 8), (size, 8), (size, 8), (4096, 8)]
    header = elf64 + b"".join(value.to_bytes(width, "little") for value, width in numbers)
    source = random.Random(0)
    with open(path, "wb") as file:
        file.write(header)
        left = size - len(header)
        while left > 0:
            file.write(source.randbytes(min(left, MIB)))
            left -= MIB


def installed(*tools):
    missing = [str(tool) for tool in tools if not tool.exists()]
    if not missing:
        return True
    reason = f"{', '.join(missing)} not found (Debian packages llvm-22 and clang-22)"
    if os.environ.get("FATBIN_STRICT") == "1":
        raise Failure(f"{reason} (FATBIN_STRICT=1 makes this an error)")
    print(f"\nleft out: {reason}")
    return False


def build_fatbin():
    run("cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", ROOT / "Cargo.toml")
    return TARGET / "release/fatbin"


def run(*command):
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f"{command_line(command)}: {error}") from error


def command_line(command):
    return " ".join(str(word) for word in command)


def file_system(directory):
    """Returns the type of the file system of a directory: that of the mount with the longest path above it."""
    mounts = [line.split()[1:3] for line in open("/proc/self/mounts")]
    above = [(len(point), kind) for point, kind in mounts if Path(point) in [directory, *directory.parents]]
    # A root that is a directory of another system's has no line there.
    return max(above, default=(0, "an unknown file system"))[1]
