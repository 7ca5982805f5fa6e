"""Looking into the images of libraries: kernels and their resources, hashes, verification, records."""

import re
import shutil

from benchmarks.contest import MIB, Contestant, Failure, compete, installed, wall_ratio
from benchmarks.library import CUOBJDUMP, RUNTIMES, take

LIBRARIES = [("nvidia_nvjpeg_cu12", "libnvjpeg.so.12"), ("bitsandbytes", "libbitsandbytes_cuda118.so")]
MOST_MEMORY = 96 * MIB
# Goals for the wall time on a large library, as ratios to the time of a program that reads images in one thread.
GOALS = {"scan --hash": 0.6, "verify": 0.54, "inspect --json": 0.54, "lock": 0.2, "check --init": 0.27}
# Of each kernel, `cuobjdump -res-usage` prints a line "Function NAME:".
FUNCTION = re.compile(r"^ *Function (?!properties)(\S+):$", re.MULTILINE)


def look(bench):
    """Prints the kernels and resources of all images, verifies, hashes and records them."""
    if not installed(RUNTIMES / "real-files", CUOBJDUMP):
        return
    wheels = {path.name.split("-")[0]: path for path in sorted((RUNTIMES / "real-files").glob("*.whl"), reverse=True)}
    for wheel, name in LIBRARIES[:1] if bench.quick else LIBRARIES:
        path = take(bench, wheels[wheel], name)
        inspection(bench, path)
        commands(bench, path, 3)
        path.unlink()
    if bench.library is not None:
        commands(bench, bench.library.resolve(), 1 if bench.quick else 3)
        if bench.before is not None:
            progress(bench, bench.library.resolve(), 1 if bench.quick else 3)


def inspection(bench, path):
    """Compares kernels with those of NVIDIA's tool. It prints four figures of each, fatbin also parameters and attributes."""
    ours = Contestant("fatbin inspect --json", [[bench.fatbin, "inspect", "--json", path]])
    one = Contestant("fatbin inspect --json --threads 1", [[bench.fatbin, "inspect", "--json", "--threads", "1", path]])
    theirs = Contestant("cuobjdump -res-usage", [[CUOBJDUMP, "-res-usage", path]])
    title = f"look: kernels of {path.name}, {path.stat().st_size:,} bytes"
    compete(bench, title, [ours, one, theirs], bench.rounds, theirs)
    if ours.output != one.output:
        raise Failure("the output depends on the number of threads")
    # NVIDIA's tool prints functions that are not kernels as well, and each name of PTX without figures.
    kernels = set(re.findall(r'"name": "([^"]*)",\n(?: *"demangled": .*\n)? *"registers"', ours.output))
    functions = set(FUNCTION.findall(theirs.output))
    if not kernels or not kernels <= functions:
        raise Failure(f"{len(kernels)} kernels, {len(kernels - functions)} of which cuobjdump does not print")
    bench.remark(f"{len(kernels):,} names of kernels with registers, all of them printed by cuobjdump")
    bench.gate(f"peak memory {ours.memory / MIB:.1f} MiB, at most {MOST_MEMORY // MIB}", ours.memory <= MOST_MEMORY)


def lookers(program, executable, path):
    """Returns the commands that decompress, hash and parse all images, by name."""
    lock = f"{program} lock"
    options = {"scan --hash": ["--json"], "verify": [], "inspect --json": [], "lock": ["-o", lock], "check --init": []}
    return {name: Contestant(f"{program} {name}", [[executable, *name.split(), *more, path]], [lock] if name == "lock" else [])
            for name, more in options.items()}


def commands(bench, path, rounds):
    """Compares the commands that decompress, hash and parse all images with SHA-256 of the images."""
    extract = [bench.fatbin, "extract", path, "-o", "images"]
    bench.measure(*extract)
    floor = Contestant("sha256sum of the extracted images", [["sh", "-c", "cat images/* | sha256sum"]])
    ours = list(lookers("fatbin", bench.fatbin, path).values())
    compete(bench, f"look: all images of {path.name}, {path.stat().st_size:,} bytes", [*ours, floor], rounds, floor)
    images = sum(1 for _ in (bench.directory / "images").iterdir())
    hashed = ours[0].output.count('"sha256"')
    if hashed != images or f"{images} device image" not in ours[1].output:
        raise Failure(f"{images} images extracted, {hashed} hashed; verify: {ours[1].output}")
    bench.remark(f"{images:,} images, each hashed, verified, inspected and recorded")
    shutil.rmtree(bench.directory / "images")
    (bench.directory / "fatbin lock").unlink()


def progress(bench, path, rounds):
    """Compares with an earlier program."""
    ours, earlier = lookers("fatbin", bench.fatbin, path), lookers("earlier fatbin", bench.before.resolve(), path)
    for name, goal in GOALS.items():
        compete(bench, f"look: {name} of {path.name}, and earlier", [ours[name], earlier[name]], rounds, earlier[name])
        ratio = wall_ratio(ours[name], earlier[name])
        bench.goal(f"{name}: wall time {ratio:.2f} of the earlier program's, at most {goal}", ratio <= goal)
    for lock in ["fatbin lock", "earlier fatbin lock"]:
        (bench.directory / lock).unlink()
