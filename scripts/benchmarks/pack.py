"""Packing images into an offload binary and extracting them, in four sizes."""

from benchmarks.contest import LLVM, MIB, MOST_MEMORY, TRIPLE, Contestant, Failure, compete, contains_image, filecmp, installed, wall_ratio

SIZES = [1_000, 1_000_000, 100_000_000, 2_000_000_000]
QUICK_SIZES = [1_000, 100_000, 1_000_000, 32_000_000]

# Limits: the same memory for large and small images, the time of a plain copy, and never more time than the peer.
MOST_WALL_RATIO = 1.15
# Below this size, the start of the program dominates the time of a copy.
LEAST_TO_COPY = 100_000_000

TOOL = LLVM / "llvm-offload-binary"


def pack(bench):
    """Packs and extracts an image."""
    for size in QUICK_SIZES if bench.quick else SIZES:
        image = bench.image(size)
        described = f"--image=file={image},triple={TRIPLE},kind=openmp"
        pack = [["fatbin pack", [bench.fatbin, "pack", "-o", "ours", described], "ours"]]
        extract = [["fatbin extract", [bench.fatbin, "extract", "ours", "--to", "ours.so"], "ours.so"]]
        if installed(TOOL):
            pack.append([TOOL.name, [TOOL, "-o", "theirs", described], "theirs"])
            selected = f"--image=file=theirs.so,triple={TRIPLE}"
            extract.append([f"{TOOL.name}, extracting", [TOOL, "ours", selected], "theirs.so"])
        contest(bench, f"pack: an image of {size:,} bytes", size, image, pack)
        contains_image(bench, "ours", image)
        contest(bench, f"extract: an image of {size:,} bytes", size, image, extract)
        for name in ["ours.so", "theirs.so"]:
            path = bench.directory / name
            if path.exists() and not filecmp.cmp(path, image, shallow=False):
                raise Failure(f"{name} differs from the image")
            path.unlink(missing_ok=True)
        bench.forget(image)


def contest(bench, title, size, image, tools):
    contestants = [Contestant(name, [command], [output]) for name, command, output in tools]
    ours, theirs = contestants[0], contestants[1:]
    copy = Contestant("cp", [["cp", image, "copy"]], ["copy"])
    # Short commands need more rounds.
    rounds = 3 if bench.quick else 25 if size <= LEAST_TO_COPY else 5
    compete(bench, title, [ours, copy, *theirs], rounds, copy)
    bench.gate(f"peak memory {ours.memory / MIB:.1f} MiB, less than {MOST_MEMORY // MIB}", ours.memory < MOST_MEMORY)
    if bench.quick:
        return
    if size >= LEAST_TO_COPY:
        ratio = wall_ratio(ours, copy)
        bench.gate(f"wall time {ratio:.2f} of cp's, at most {MOST_WALL_RATIO}", ratio <= MOST_WALL_RATIO)
    for peer in theirs:
        ratio = wall_ratio(ours, peer)
        bench.gate(f"wall time {ratio:.2f} of {peer.name}'s, at most 1", ratio <= 1)
