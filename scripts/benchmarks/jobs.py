"""Eight fixed jobs, each a command of fatbin on files of fixed seeds."""

from benchmarks import generate
from benchmarks.contest import Failure, command_line, run

MAGICS = [b"\x10\xff\x10\xad", b"\x50\xed\x55\xba", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"\x7fELF"]

HOST = "host-x86_64-unknown-linux-gnu-"
DEVICES = ["openmp-amdgcn-amd-amdhsa--gfx90a", "openmp-amdgcn-amd-amdhsa--gfx942"]
# Fat binaries of a library, the archs and kernels in each, and its images.
CONTAINERS, ARCHS, KERNELS, CODE_SIZE = 40, [75, 80, 90], 20, 2048
IMAGES = CONTAINERS * (len(ARCHS) + 1)
ENTRIES = 60_000
CODE_FILE = 6_000_000
MAGICS_SIZE = 40 << 20

POLICY = """
must-hold = ["packed.so"]
[archs]
require = ["sm_75", "sm_80", "sm_90"]
devices = ["sm_86", "sm_90"]
[[kernels]]
match = "vectorized_elementwise"
archs = "all"
max-registers = 255
"""


class Job:
    """A command with its inputs and a check of its outputs."""

    def __init__(self, inputs, words, is_right):
        self.inputs, self.words, self.is_right = inputs, words, is_right

    def verify(self, done, directory):
        if done.returncode != 0 or not self.is_right(done.stdout, directory):
            printed = (done.stdout[-2000:] + done.stderr[-2000:]).decode(errors="replace")
            raise Failure(f"{command_line(self.words)}: exit status {done.returncode}, or a wrong output:\n{printed}")


def contains(text, count=1):
    return lambda printed, _: printed.decode().count(text) == count


def writes(name, least):
    return lambda _, directory: (directory / name).stat().st_size >= least


def lock_is_complete(_, directory):
    return (directory / "lock").read_text().count("\n  image ") == IMAGES


BUNDLE = ["bundle", "--type", "o", "--compress", "-o", "bundled", "--target", f"{HOST}=empty",
          *(word for device in DEVICES for word in ("--target", f"{device}={device[-6:]}"))]
KERNELS_OF_ALL = CONTAINERS * len(ARCHS) * KERNELS

JOBS = {
    "wrap": Job(["entries", "one.fatbin"], [*"wrap --kind cuda --allow-missing-kernels --entries entries".split(),
                                             "-o", "wrapped.o", "one.fatbin"], writes("wrapped.o", ENTRIES)),
    "bundle": Job(["code"], BUNDLE, writes("bundled", CODE_FILE // 8)),
    "scan": Job(["magics"], ["scan", "magics"], contains(f"{len(ARCHS) + 1} device images")),
    "hash": Job(["plain.so"], ["scan", "--hash", "--json", "plain.so"], contains('"sha256"', IMAGES)),
    "inspect": Job(["packed.so"], ["inspect", "--json", "packed.so"], contains('"registers"', KERNELS_OF_ALL)),
    "verify": Job(["packed.so", "stored"], ["verify", "packed.so", "stored"], contains(" device images, intact\n", 2)),
    "lock": Job(["packed.so"], ["lock", "-o", "lock", "packed.so"], lock_is_complete),
    "check": Job(["policy", "packed.so"], ["check", "--policy", "policy", "--format", "json", "packed.so"],
                 contains('"violated": 0')),
}


def write_inputs(program, directory, names):
    """Writes the inputs of jobs; the program compresses some of them."""
    for name in {name: None for job in names for name in JOBS[job].inputs}:
        INPUTS[name](program, directory)


def write_code(_, directory):
    directory.joinpath("empty").touch()
    for device in DEVICES:
        directory.joinpath(device[-6:]).write_bytes(generate.code_object(device[-6:], CODE_FILE))


def write_stored(program, directory):
    """Writes a compressed bundle."""
    write_code(program, directory)
    run(program, *BUNDLE, cwd=directory)
    directory.joinpath("bundled").rename(directory / "stored")


def write_library(program, directory, name, codec):
    """Writes a library of fat binaries."""
    content = b"".join(fat_binary(program, directory, number, codec) for number in range(CONTAINERS))
    directory.joinpath(name).write_bytes(generate.library(b".nv_fatbin", content))


def fat_binary(program, directory, number, codec):
    """Returns a fat binary, as of source file `number`."""
    words = []
    for index, (arch, image) in enumerate(generate.images(ARCHS, KERNELS, CODE_SIZE, number)):
        directory.joinpath(f"image-{index}").write_bytes(image)
        words += ["--image", f"file=image-{index},arch=sm_{arch},compress={codec}"]
    run(program, "pack", "--kind", "cuda", "-o", "container", *words, cwd=directory)
    data = directory.joinpath("container").read_bytes()
    return data + bytes(-len(data) % 8)


def write_magics(program, directory):
    """Writes random bytes with a false magic per kilobyte, and a container at the end."""
    parts = []
    for number in range(MAGICS_SIZE // 1024):
        magic = MAGICS[number % len(MAGICS)]
        parts.append(generate.random_bytes(f"magics {number}", 1024 - len(magic)) + magic)
    directory.joinpath("magics").write_bytes(b"".join(parts) + fat_binary(program, directory, 0, "zstd"))


INPUTS = {
    "entries": lambda _, directory: directory.joinpath("entries").write_text(
        "".join(f"kernel_{number}\n" for number in range(ENTRIES))),
    "policy": lambda _, directory: directory.joinpath("policy").write_text(POLICY),
    "code": write_code,
    "stored": write_stored,
    "one.fatbin": lambda program, directory: directory.joinpath("one.fatbin").write_bytes(
        fat_binary(program, directory, 0, "zstd")),
    "plain.so": lambda program, directory: write_library(program, directory, "plain.so", "none"),
    "packed.so": lambda program, directory: write_library(program, directory, "packed.so", "zstd"),
    "magics": write_magics,
}
