"""Whole libraries: searching one without headers, listing one by its headers alone, and extracting all images, compared with
a plain read of the file and with the vendors' tools."""

import hashlib
import json
import os
import random
import shutil
import struct
import zipfile

from benchmarks.contest import LLVM, MIB, ROOT, Contestant, Failure, compete, installed, run, wall_ratio

# Limits: the time of reading the file, whatever its content, and little memory; a multiple of the vendors' tools' speed.
MOST_SEARCH_RATIO = 1.25
MOST_SEARCH_MEMORY = 64 * MIB
# By headers alone, a listing reads a page for each image; this many seconds are the goal.
MOST_FAST_RATIO = 0.5
FAST_GOAL = 0.010
MOST_INSPECT_MEMORY = 64 * MIB
LEAST_EXTRACT_RATIO = 5
MOST_ABOVE_FLOOR = 1.3
# Where most bytes are decompressed first: the decoder takes longer than a copy of what it writes.
MOST_ABOVE_FLOOR_COMPRESSED = 2.4
# The goal is the same for all.
EXTRACT_GOAL = 1.25

# Extraction from the smaller libraries takes tens of milliseconds, which any other load on the machine doubles.
LARGE = 64 * MIB
EXTRACT_ROUNDS = 15

MAGICS = [b"\x10\xff\x10\xad", b"\x50\xed\x55\xba", b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"\x7fELF"]

RUNTIMES = ROOT / "target/runtimes"
CUOBJDUMP = RUNTIMES / "cuda-tools/cuobjdump"


def search(bench):
    """Searches a large file for one image that no header points to."""
    image = bench.image(64_000_000 if bench.quick else 1_000_000_000)
    run(bench.fatbin, "pack", "-o", bench.directory / "packed", ROOT / "fixtures/answer-gfx90a.hsaco")
    with open(bench.directory / "plain", "wb") as file:
        for path in [image, bench.directory / "packed"]:
            with open(path, "rb") as part:
                shutil.copyfileobj(part, file, MIB)
    size = (bench.directory / "plain").stat().st_size
    bench.forget(image)
    read = Contestant("dd, a read loop", [["dd", "if=plain", "of=/dev/null", "bs=1M", "status=none"]])
    pipe = Contestant("cat | wc -c", [["sh", "-c", "cat plain | wc -c"]])
    ours = Contestant("fatbin scan", [[bench.fatbin, "scan", "plain"]])
    magics = Contestant("fatbin scan, many false magics", [[bench.fatbin, "scan", "magics"]])
    count = add_false_magics(bench.directory / "plain", bench.directory / "magics", size)
    for contestant in [read, ours, magics]:
        contestant.run(bench)
        contestant.seconds.clear()
    compete(bench, f"search: {size:,} bytes, {count:,} false magics", [ours, magics, read, pipe], bench.rounds, read)
    for contestant in [ours, magics]:
        if "1 device image" not in contestant.output:
            raise Failure(f"{contestant.name} did not find one image:\n{contestant.output}")
        bench.gate(f"peak memory {contestant.memory / MIB:.1f} MiB, less than {MOST_SEARCH_MEMORY // MIB}",
                   contestant.memory < MOST_SEARCH_MEMORY)
        if not bench.quick:
            ratio = wall_ratio(contestant, read)
            bench.gate(f"{contestant.name}: wall time {ratio:.2f} of {read.name}, at most {MOST_SEARCH_RATIO}",
                       ratio <= MOST_SEARCH_RATIO)
    if not bench.quick:
        # Each false magic is verified in the mapping, so that its page is mapped as well as read.
        ratio = wall_ratio(magics, ours)
        bench.goal(f"{magics.name}: wall time {ratio:.2f} of {ours.name}, at most {MOST_SEARCH_RATIO}",
                   ratio <= MOST_SEARCH_RATIO)
    for name in ["plain", "magics", "packed"]:
        (bench.directory / name).unlink()


def add_false_magics(source, target, size):
    """Copies a file and writes a false magic per kilobyte at random offsets, with a constant seed. Returns their number."""
    chance = random.Random(1)
    with open(source, "rb") as plain, open(target, "wb") as file:
        left, count = size, 0
        while left > 0:
            block = bytearray(plain.read(MIB))
            # The end contains the image.
            for at in range(4096, len(block) - 8192, 1024):
                magic = chance.choice(MAGICS)
                start = at + chance.randrange(512)
                block[start:start + len(magic)] = magic
                count += 1
            file.write(block)
            left -= len(block)
    return count


def library(bench):
    """Extracts everything from real libraries, and from a large one composed of them."""
    wheels = {path.name.split("-")[0]: path for path in sorted((RUNTIMES / "real-files").glob("*.whl"), reverse=True)}
    tools = [CUOBJDUMP, LLVM / "llvm-objdump"]
    if not installed(*tools, RUNTIMES / "real-files"):
        return
    cuda = [take(bench, wheels["nvidia_nvjpeg_cu12"], "libnvjpeg.so.12"),
            take(bench, wheels["bitsandbytes"], "libbitsandbytes_cuda118.so"),
            take(bench, wheels["bitsandbytes"], "libbitsandbytes_cuda132.so")]
    hip = [take(bench, wheels["bitsandbytes"], "libbitsandbytes_rocm715.so"),
           take(bench, wheels["pennylane_lightning_amdgpu"], "lightning_amdgpu_ops.cpython-312-x86_64-linux-gnu.so")]
    large = bench.directory / "large.so"
    containers = b"".join(section(path.read_bytes(), b".nv_fatbin") for path in cuda)
    make_large(bench, containers, large, 64_000_000 if bench.quick else 1_000_000_000)
    fast(bench, large)
    look(bench, large)
    for path in [*cuda, large]:
        # Without -xptx it skips the PTX, which fatbin extracts.
        extract(bench, path, f"{CUOBJDUMP} -all -xelf all -xptx all ../{path.name}", "cuobjdump -xelf all -xptx all")
    for path in hip:
        # It writes to the directory of its input.
        objdump = f"ln -s ../{path.name} . && {LLVM / 'llvm-objdump'} --offloading {path.name}"
        extract(bench, path, objdump, "llvm-objdump --offloading")


def fast(bench, path):
    """Lists by headers alone."""
    ours = Contestant("fatbin scan --fast", [[bench.fatbin, "scan", "--fast", "--json", path.name]])
    full = Contestant("fatbin scan", [[bench.fatbin, "scan", "--json", path.name]])
    read = Contestant("dd, a read loop", [["dd", f"if={path.name}", "of=/dev/null", "bs=1M", "status=none"]])
    compete(bench, f"list: a library of {path.stat().st_size:,} bytes", [ours, full, read], bench.rounds, read)
    images = ours.output.count('"sha256"') or ours.output.count('"codec"')
    bench.remark(f"{images:,} images")
    if not bench.quick:
        best = min(ours.seconds)
        ratio = wall_ratio(ours, read)
        bench.gate(f"--fast: wall time {ratio:.2f} of dd, a read loop, at most {MOST_FAST_RATIO}", ratio <= MOST_FAST_RATIO)
        bench.goal(f"--fast takes {best * 1000:.1f} ms, less than {FAST_GOAL * 1000:.0f}", best < FAST_GOAL)
        for contestant in [ours, full]:
            bench.gate(f"peak memory {contestant.memory / MIB:.1f} MiB, less than {MOST_SEARCH_MEMORY // MIB}",
                       contestant.memory < MOST_SEARCH_MEMORY)


def look(bench, path):
    """Looks into all images by two threads: in memory are the images that are read, and no result that was printed."""
    commands = ["inspect --json", "verify", "scan --hash --json", "size --by arch,family --json"]
    read = Contestant("dd, a read loop", [["dd", f"if={path.name}", "of=/dev/null", "bs=1M", "status=none"]])
    contestants = [Contestant(f"fatbin {command}", [[bench.fatbin, *command.split(), "--threads", "2", path.name]])
                   for command in commands]
    compete(bench, f"look inside: a library of {path.stat().st_size:,} bytes", [*contestants, read], bench.rounds, read)
    listed = json.loads(bench.measure(bench.fatbin, "scan", "--json", path.name).output)
    sizes = [image.get("full_size", image.get("size", 0))
             for file in listed["files"] for container in file["containers"] for image in container["images"]]
    most = MOST_INSPECT_MEMORY + sum(sorted(sizes)[-2:])
    for contestant in contestants:
        bench.gate(f"{contestant.name}: peak memory {contestant.memory / MIB:.1f} MiB, at most {most / MIB:.1f}: "
                   f"{MOST_INSPECT_MEMORY // MIB} and two images", contestant.memory <= most)


def extract(bench, path, command, name):
    """Extracts all images of a file, compared with a vendor's tool and with the lower bound: writing these files, which `cp`
    does with the extracted ones. Compressed bundles store an MD5 of their content; verifying it requires hashing all bytes
    before any is written. llvm-objdump does not verify it.

    The limit is five times the vendor's speed. Where the vendor's tool takes less than five times as long as `cp`, that is
    impossible, and the limit is a ratio to `cp`: a larger one where the images are larger than the library, which must be
    decompressed first."""
    ours = Contestant("fatbin extract", [[bench.fatbin, "extract", path.name, "-o", "ours"]], ["ours"])
    theirs = Contestant(name, [["sh", "-c", f"mkdir theirs && cd theirs && {command}"]], ["theirs"])
    floor = Contestant("cp of these files", [["cp", "-r", "--reflink=never", "ours", "floor"]], ["floor"])
    if '"type": "ccob"' in bench.measure(bench.fatbin, "scan", "--json", path.name).output:
        floor.name = "md5sum, then cp of these files"
        floor.commands.insert(0, ["sh", "-c", "cat ours/* | md5sum"])
    rounds = bench.rounds if bench.quick or path.stat().st_size > LARGE else EXTRACT_ROUNDS
    title = f"extract: {path.name}, {path.stat().st_size:,} bytes"
    compete(bench, title, [ours, floor, theirs], rounds, theirs)
    if not any((bench.directory / "ours").iterdir()):
        raise Failure(f"nothing came out of {path.name}")
    our_bytes, their_bytes = ours.written(bench), theirs.written(bench)
    same_contents(bench, our_bytes, their_bytes)
    # Links to the inputs of a tool are not its outputs.
    their_bytes -= sum(file.lstat().st_size for file in (bench.directory / "theirs").iterdir() if file.is_symlink())
    for output in ["ours", "theirs", "floor"]:
        shutil.rmtree(bench.directory / output)
    # A tool that skips images is compared by extracted bytes.
    share = min(their_bytes / our_bytes, 1)
    ratio = share and 1 / wall_ratio(ours, theirs) / share
    above = wall_ratio(ours, floor)
    bench.remark(f"{name} extracts {share:.0%} of the bytes; per byte, fatbin is {ratio:.1f} times as fast")
    if not bench.quick:
        most = MOST_ABOVE_FLOOR_COMPRESSED if our_bytes > path.stat().st_size else MOST_ABOVE_FLOOR
        bench.gate(f"{ratio:.1f} times as fast as {name}, at least {LEAST_EXTRACT_RATIO}, or {above:.2f} of "
                   f"{floor.name}, at most {most}",
                   ratio >= LEAST_EXTRACT_RATIO or above <= most)
        bench.goal(f"{above:.2f} of {floor.name}, at most {EXTRACT_GOAL}", above <= EXTRACT_GOAL)


def same_contents(bench, our_bytes, their_bytes):
    """Checks that each file of the vendor's tool is one of ours, where both extract as much."""
    if our_bytes != their_bytes:
        return
    hashes = [sorted(hashlib.sha256(file.read_bytes()).digest() for file in (bench.directory / output).iterdir()
                     if not file.is_symlink()) for output in ["ours", "theirs"]]
    if hashes[0] != hashes[1]:
        raise Failure("the extracted files differ from the vendor's")


def take(bench, wheel, name):
    with zipfile.ZipFile(wheel) as archive:
        member = next(member for member in archive.namelist() if member.endswith("/" + name))
        path = bench.directory / name
        path.write_bytes(archive.read(member))
    return path


def make_large(bench, containers, large, size):
    """Writes a library that repeats these fat binaries in a section with NVIDIA's name."""
    with open(bench.directory / "containers", "wb") as file:
        while file.tell() < size:
            file.write(containers)
    (bench.directory / "large.s").write_text('.section .nv_fatbin,"a"\n.balign 8\n.incbin "containers"\n'
                                          '.section .note.GNU-stack,"",@progbits\n')
    os.environ["TMPDIR"] = str(bench.directory)
    run("cc", "-shared", "-nostdlib", "-o", large, "-Wa,-I" + str(bench.directory), bench.directory / "large.s")
    for name in ["containers", "large.s"]:
        (bench.directory / name).unlink()


def section(data, name):
    """Returns the bytes of a section of a 64-bit little-endian ELF file."""
    table, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + size * index) for index in range(count)]
    for header in headers:
        start = headers[names][4] + header[0]
        if data[start:data.index(0, start)] == name:
            return data[header[4]:header[4] + header[5]]
    raise Failure(f"no section {name}")
