"""Wrapping a large image in a host object."""

from benchmarks.contest import LLVM, MIB, MOST_MEMORY, TRIPLE, Contestant, compete, contains_image, installed, wall_ratio

# Limits for `fatbin wrap`: the same memory for large and small images, few bytes besides the image and its alignment to
# 64 KiB, and the time of a plain copy.
MOST_OVERHEAD = (64 << 10) + 4096
MOST_WALL_RATIO = 1.2

# The time of writing 300 MB varies by a third.
ROUNDS = 15


def wrap(bench):
    """Wraps a large image in a host object."""
    image = bench.image()
    ours = Contestant("fatbin wrap", [[bench.fatbin, "wrap", "--kind", "openmp", "-o", "ours.o", image]], ["ours.o"])
    copy = Contestant("cp", [["cp", image, "copy"]], ["copy"])
    contestants = [ours, copy]
    tools = [LLVM / "llvm-offload-binary", LLVM / "llvm-offload-wrapper", LLVM / "clang"]
    if installed(*tools):
        # The three commands equivalent to `wrap`; the compiler spells the triple differently and would warn.
        commands = [
            [tools[0], f"--image=file={image},triple={TRIPLE},kind=openmp", "-o", "theirs.offload"],
            [tools[1], "--kind=openmp", f"--triple={TRIPLE}", "-o", "theirs.bc", "theirs.offload"],
            [tools[2], "-O2", "-fPIC", "-Wno-override-module", "-c", "theirs.bc", "-o", "theirs.o"],
        ]
        outputs = ["theirs.offload", "theirs.bc", "theirs.o"]
        contestants.append(Contestant("llvm-offload-*, clang", commands, outputs, bench.peer_rounds))
    compete(bench, "wrap: a device image into a host object", contestants, bench.rounds if bench.quick else ROUNDS, copy)

    for contestant in contestants:
        if contestant is not copy:
            contains_image(bench, contestant.outputs[-1], image)
    bench.remark("each object contains the image, byte for byte")
    overhead = ours.written(bench) - bench.image_size
    bench.gate(f"peak memory {ours.memory / MIB:.1f} MiB, less than {MOST_MEMORY // MIB}", ours.memory < MOST_MEMORY)
    bench.gate(f"the object is {overhead:,} bytes larger than the image, 0 to {MOST_OVERHEAD}",
               0 <= overhead < MOST_OVERHEAD)
    if not bench.quick:
        ratio = wall_ratio(ours, copy)
        bench.gate(f"wall time {ratio:.2f} of cp's, at most {MOST_WALL_RATIO}", ratio <= MOST_WALL_RATIO)
