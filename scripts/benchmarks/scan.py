"""Scanning: an image in a finished program."""

import json

from benchmarks.contest import LLVM, ROOT, TRIPLE, Contestant, Failure, compete, installed, run


def scan(bench):
    """Finding that image in a finished program."""
    program = bench.folder / "program"
    run(bench.fatbin, "wrap", "--kind", "openmp", "-o", bench.folder / "wrapped.o", bench.image())
    run("cc", "-o", program, ROOT / "fixtures/host.c", ROOT / "fixtures/runtime.c", bench.folder / "wrapped.o")
    (bench.folder / "wrapped.o").unlink()
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
    print("  each has found exactly the one image")
