"""Linking device code into a program and into a library."""

import json
import os
import shutil
import subprocess

from benchmarks.contest import LLVM, MIB, Contestant, Failure, compete, installed, wall_ratio

# Limits for `fatbin link`, relative to clang-linker-wrapper in the same run: bytes that are written to disk beyond what it writes,
# for blocks of small files, and time.
MOST_WRITTEN_BEYOND = 64 << 10
# The largest process is the host linker of both where the images are small.
MOST_MEMORY_BEYOND = 8 * MIB
MOST_WALL_RATIO = 0.95

WRAPPER = LLVM / "clang-linker-wrapper"
UNITS = 10
PROCESSORS = ["gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100"]
OPENMP = ["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"]

UNIT = """
int unit_NUMBER(int x) {
#pragma omp target map(tofrom : x)
    x += NUMBER;
    return x;
}
"""


def link(bench):
    """Links an OpenMP program of ten units, and a HIP library with large images."""
    if not installed(WRAPPER, LLVM / "clang", LLVM / "ld.lld"):
        return
    bench.directory.joinpath("main.c").write_text("int main(void) { return 0; }\n")
    objects = ["main.o"]
    run_in(bench, LLVM / "clang", "-c", "main.c", "-o", "main.o")
    for number in range(UNITS):
        source, unit = f"unit-{number}.c", f"unit-{number}.o"
        bench.directory.joinpath(source).write_text(UNIT.replace("NUMBER", str(number)))
        run_in(bench, LLVM / "clang", *OPENMP, "-O1", "-fPIE", "-c", source, "-o", unit)
        objects.append(unit)
    runtime = next(iter(sorted((LLVM.parent / "lib").glob("libomptarget.so.*"))), LLVM.parent / "lib/libomptarget.so.22.1")
    if not installed(runtime):
        return
    libraries = [runtime, LLVM.parent / "lib/libomp.so"]
    competes(bench, f"link: an OpenMP program of {UNITS} units", [*objects, *libraries, "-o"], "program")

    size = bench.image_size // len(PROCESSORS)
    bench.directory.joinpath("data").write_bytes(os.urandom(size))
    bench.directory.joinpath("image.s").write_text('.section .rodata\n.globl table\ntable:\n.incbin "data"\n')
    images = []
    for processor in PROCESSORS:
        run_in(bench, LLVM / "clang", "--target=amdgcn-amd-amdhsa", f"-mcpu={processor}", "-c", "image.s",
               "-o", f"{processor}.o")
        images += ["--image", f"file={processor}.o,kind=hip,triple=amdgcn-amd-amdhsa,arch={processor}"]
    run_in(bench, bench.fatbin, "pack", "-o", "images", *images)
    title = f"link: a HIP library with {len(PROCESSORS)} images of {size:,} bytes"
    competes(bench, title, ["-shared", "main.o", "images", "-o"], "library.so")


def competes(bench, title, words, output):
    # clang-linker-wrapper passes a file of images on to the host linker, which does not know it.
    host = bench.directory / "host"
    host.write_text('#!/bin/sh\nfor word; do shift; [ "$word" = images ] || set -- "$@" "$word"; done\nexec cc "$@"\n')
    host.chmod(0o755)
    line = [*words, output]
    linker = LLVM / "ld.lld"
    ours = [bench.fatbin, "link", "--device-link-tool", f"amdgcn={linker}", "--", host, *line]
    theirs = [WRAPPER, f"--linker-path={host}", *line]
    ours, theirs = (Contestant(name, [command], [output]) for name, command in
                    [("fatbin link", ours), (WRAPPER.name, theirs)])
    compete(bench, title, [ours, theirs], bench.rounds, theirs)
    found = []
    for contestant in [ours, theirs]:
        bench.remark(f"{contestant.name}: {contestant.blocks / MIB:,.1f} MiB written to disk{processes(bench, contestant)}")
        contestant.run(bench)
        found.append(images(bench, output))
    if not found[0] or found[0] != found[1]:
        raise Failure(f"{output} contains {found[0]}, that of {WRAPPER.name} {found[1]}")
    beyond = ours.blocks - theirs.blocks
    bench.gate(f"written to disk: {beyond:,} bytes more than {WRAPPER.name}, at most {MOST_WRITTEN_BEYOND:,}",
               beyond <= MOST_WRITTEN_BEYOND)
    bench.gate(f"memory {ours.memory / MIB:.0f} MiB, at most {(theirs.memory + MOST_MEMORY_BEYOND) / MIB:.0f}",
               ours.memory <= theirs.memory + MOST_MEMORY_BEYOND)
    if not bench.quick:
        took = wall_ratio(ours, theirs)
        bench.gate(f"wall time {took:.2f} of {WRAPPER.name}'s, at most {MOST_WALL_RATIO}", took <= MOST_WALL_RATIO)


def images(bench, file):
    """Returns the kinds and processors of the images in a file. Temporary names in images make their sizes differ."""
    printed = json.loads(bench.measure(bench.fatbin, "scan", "--json", file).output)
    return sorted((image.get("kind"), image.get("arch") or "") for file in printed["files"]
                  for container in file["containers"] for image in container["images"])


def processes(bench, contestant):
    """Returns the number of programs that a command runs, as text; none without strace."""
    strace = shutil.which("strace")
    if strace is None:
        if os.environ.get("FATBIN_STRICT") == "1":
            raise Failure("strace not found (Debian package strace; FATBIN_STRICT=1 makes this an error)")
        return ""
    run_in(bench, strace, "-f", "-qq", "-e", "trace=execve", "-o", "executed", *contestant.commands[0])
    executed = bench.directory.joinpath("executed").read_text()
    return f", {sum(line.endswith('= 0') for line in executed.splitlines())} programs run"


def run_in(bench, *command):
    subprocess.run(command, cwd=bench.directory, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
