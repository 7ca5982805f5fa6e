"""Scanning: an image in a finished program, and many in a large library."""

import json
import statistics
import struct

from benchmarks.contest import LLVM, ROOT, TRIPLE, Contestant, Failure, compete, installed, run

# A library of 1 GiB: number and size of its images.
IMAGES = 256
STRIDE = 4 << 20

# Limits for listing it by its headers.
MILLISECONDS = 10
PART = 100


def scan(bench):
    """Scans a finished program with a large image, and a large library by its headers."""
    in_a_program(bench)
    by_headers(bench)


def in_a_program(bench):
    """Scans everything."""
    program = bench.directory / "program"
    run(bench.fatbin, "wrap", "--kind", "openmp", "-o", bench.directory / "wrapped.o", bench.image())
    run("cc", "-o", program, ROOT / "fixtures/host.c", ROOT / "fixtures/runtime.c", bench.directory / "wrapped.o")
    (bench.directory / "wrapped.o").unlink()
    ours = Contestant("fatbin scan", [[bench.fatbin, "scan", "--json", "program"]])
    read = Contestant("cat | wc -c", [["sh", "-c", "cat program | wc -c"]])
    contestants = [ours, read]
    if installed(LLVM / "llvm-objdump"):
        objdump = [LLVM / "llvm-objdump", "--offloading", "program"]
        contestants.append(Contestant("llvm-objdump --offloading", [objdump]))
    read.run(bench)
    read.seconds.clear()
    compete(bench, "scan: the image in a linked program", contestants, bench.rounds, read)

    found = [image for file in json.loads(ours.output)["files"]
             for container in file["containers"] for image in container["images"]]
    if len(found) != 1 or found[0]["size"] != bench.image_size or found[0]["triple"] != TRIPLE:
        raise Failure(f"fatbin scan should have found one image of {bench.image_size} bytes for {TRIPLE}: {found}")
    for theirs in contestants[2:]:
        if theirs.output.count("OFFLOADING IMAGE") != 1:
            raise Failure(f"{theirs.name} should have found one image:\n{theirs.output}")
    if int(read.output) != program.stat().st_size:
        raise Failure(f"cat has read {read.output.strip()} bytes of {program.stat().st_size}")
    bench.remark("each found exactly one image")


def by_headers(bench):
    """Scans only where headers point, so that the size of the library does not matter."""
    library, small = bench.directory / "library.so", bench.directory / "small.so"
    write_library(library, IMAGES)
    write_library(small, 1)
    ours = Contestant("fatbin scan --fast", [[bench.fatbin, "scan", "--fast", "--json", "library.so"]])
    least = Contestant("the same of one image", [[bench.fatbin, "scan", "--fast", "--json", "small.so"]])
    compete(bench, f"scan: {IMAGES} images in a library of {library.stat().st_size:,} bytes, by its headers",
            [ours, least], bench.rounds, least)

    images = [image for container in json.loads(ours.output)["files"][0]["containers"] for image in container["images"]]
    if len(images) != IMAGES or any(image["arch"] != "gfx90a" for image in images):
        raise Failure(f"fatbin scan --fast should have found {IMAGES} images for gfx90a, and found {len(images)}")
    # Mapped pages that were read count as memory; both figures include the program itself.
    touched = ours.memory - least.memory
    bench.gate(f"{touched / 1024:,.0f} KiB of it touched, at most 1/{PART}", touched <= library.stat().st_size / PART)
    if not bench.quick:
        milliseconds = statistics.median(ours.seconds) * 1000
        bench.gate(f"{milliseconds:.1f} ms, at most {MILLISECONDS}", milliseconds <= MILLISECONDS)
    library.unlink()


def write_library(path, count):
    """Writes a shared library with copies of a fixture in a bundle, each followed by a hole."""
    image = (ROOT / "fixtures/answer-gfx90a.hsaco").read_bytes()
    target = b"hipv4-amdgcn-amd-amdhsa--gfx90a"
    index = b"__CLANG_OFFLOAD_BUNDLE__" + count.to_bytes(8, "little")
    for number in range(1, count + 1):
        index += struct.pack("<QQQ", number * STRIDE, STRIDE, len(target)) + target
    names = b"\0.hip_fatbin\0.shstrtab\0"
    size, start = (count + 1) * STRIDE, 4096
    # ELF header; sections: none, the bundle (PROGBITS, allocated), their names (STRTAB).
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64, 0, 64, 56, 0, 64, 3, 2)
    header += bytes(64)
    header += struct.pack("<IIQQQQIIQQ", 1, 1, 2, start, start, size, 0, 0, 4096, 0)
    header += struct.pack("<IIQQQQIIQQ", 13, 3, 0, 0, 256, len(names), 0, 0, 1, 0)
    with open(path, "wb") as file:
        file.write(header + names)
        file.seek(start)
        file.write(index)
        for number in range(1, count + 1):
            file.seek(start + number * STRIDE)
            file.write(image)
        file.truncate(start + size)
