"""Bundling, listing, unbundling and compressing code objects, in four sizes."""

from benchmarks.contest import LLVM, MIB, MOST_MEMORY, Contestant, Failure, compete, filecmp, installed, wall_ratio
from benchmarks.pack import LEAST_TO_COPY, QUICK_SIZES, SIZES

# Limits for commands that only copy bytes.
MOST_WALL_RATIO = 1.15
# Limits for compression, relative to the peer in the same run at the same level: never larger, half as large where images
# repeat at a distance beyond the peer's window, and in less time. On two idle processors, the stored hash, an MD5, takes
# 0.25 of the 0.6 seconds for 150 MB, and all of the time of decompression, which verifies the hash; the peer does not.
MOST_COMPRESSING_RATIO = 0.55
MOST_REPEATED_COMPRESSING_RATIO = 0.4
MOST_DECOMPRESSING_RATIO = 0.95
REPEATED_RATIO = 0.55
# Goals for one image.
COMPRESSING_GOAL, DECOMPRESSING_GOAL = 0.4, 0.8
# The peer's window.
PEERS_WINDOW = 128 * MIB

TOOL = LLVM / "clang-offload-bundler"
HOST = "host-x86_64-unknown-linux-gnu-"
DEVICE = "hipv4-amdgcn-amd-amdhsa--gfx906"
SECOND = "hipv4-amdgcn-amd-amdhsa--gfx908"


def bundle(bench):
    """Bundles and unbundles code objects."""
    for size in QUICK_SIZES if bench.quick else SIZES:
        image = bench.image(size)
        copy = Contestant("cp", [["cp", image, "copy"]], ["copy"])
        rounds = 3 if bench.quick else 25 if size <= LEAST_TO_COPY else 5
        moves(bench, f"bundle: a code object of {size:,} bytes", size, rounds, copy, contestants(bench, [image], []))
        same(bench, "ours", "theirs")
        moves(bench, f"unbundle: a code object of {size:,} bytes", size, rounds, copy, unbundling(bench, "ours"))
        same(bench, "ours.out", image)
        lists(bench, size, rounds)
        for name in ["ours", "theirs", "ours.out", "theirs.out", "copy"]:
            (bench.directory / name).unlink(missing_ok=True)
        bench.forget(image)
    compression(bench)


def contestants(bench, images, options):
    """Bundles with fatbin and, where installed, with the peer."""
    ids = [DEVICE, SECOND][:len(images)]
    targets = [word for pair in zip(ids, images) for word in ("--target", "=".join(map(str, pair)))]
    ours = [bench.fatbin, "bundle", "--type", "bc", "--target", f"{HOST}=/dev/null", *targets, "-o", "ours"]
    found = [Contestant("fatbin bundle", [ours + (["--compress"] if options else [])], ["ours"])]
    if installed(TOOL):
        theirs = [TOOL, "-type=bc", f"-targets={','.join([HOST, *ids])}", "-input=/dev/null",
                  *(f"-input={image}" for image in images), "-output=theirs", *options]
        found.append(Contestant(TOOL.name, [theirs], ["theirs"]))
    return found


def unbundling(bench, file):
    ours = [bench.fatbin, "unbundle", "--type", "bc", "--target", f"{DEVICE}=ours.out", file]
    found = [Contestant("fatbin unbundle", [ours], ["ours.out"])]
    if installed(TOOL):
        theirs = [TOOL, "-unbundle", "-type=bc", f"-targets={DEVICE}", f"-input={file}", "-output=theirs.out"]
        found.append(Contestant(f"{TOOL.name} -unbundle", [theirs], ["theirs.out"]))
    return found


def moves(bench, title, size, rounds, copy, contestants):
    copy.seconds.clear()
    ours = contestants[0]
    compete(bench, title, [ours, copy, *contestants[1:]], rounds, copy)
    bench.gate(f"peak memory {ours.memory / MIB:.1f} MiB, less than {MOST_MEMORY // MIB}", ours.memory < MOST_MEMORY)
    if not bench.quick and size >= LEAST_TO_COPY:
        ratio = wall_ratio(ours, copy)
        bench.gate(f"wall time {ratio:.2f} of cp's, at most {MOST_WALL_RATIO}", ratio <= MOST_WALL_RATIO)


def lists(bench, size, rounds):
    """Lists a bundle, which takes the same time and memory for a large one."""
    ours = Contestant("fatbin list", [[bench.fatbin, "list", "ours"]])
    nothing = bench.nothing()
    found = [ours, nothing]
    if installed(TOOL):
        found.append(Contestant(f"{TOOL.name} -list", [[TOOL, "-list", "-type=bc", "-input=ours"]]))
    compete(bench, f"list: a bundle of {size:,} bytes", found, min(rounds, 10), nothing)
    for contestant in [ours, *found[2:]]:
        if sorted(contestant.output.split()) != sorted([HOST, DEVICE]):
            raise Failure(f"{contestant.name} should have listed {HOST} and {DEVICE}: {contestant.output}")
    bench.gate(f"peak memory {ours.memory / MIB:.1f} MiB, less than {MOST_MEMORY // MIB}", ours.memory < MOST_MEMORY)


def compression(bench):
    """Compresses real code, once and twice, at a distance beyond the peer's window."""
    library = next(iter(sorted(LLVM.parent.parent.glob("x86_64-linux-gnu/libLLVM.so.22*"))), None)
    if not installed(TOOL, library or LLVM.parent.parent / "x86_64-linux-gnu/libLLVM.so.22.1"):
        return
    data = library.read_bytes()[:16_000_000 if bench.quick else None]
    image = bench.directory / "library"
    image.write_bytes(data)
    rounds = 1 if bench.quick else 3
    for images in [[image], [image, image]]:
        found = contestants(bench, images, ["-compress"])
        ours, theirs = found
        title = f"compress: {len(images)} × {len(data):,} bytes of code"
        compete(bench, title, found, rounds, theirs)
        ratio = ours.written(bench) / theirs.written(bench)
        repeats = len(images) * len(data) > 2 * PEERS_WINDOW
        most = REPEATED_RATIO if repeats else 1
        bench.gate(f"size {ratio:.3f} of {TOOL.name}'s, at most {most}", ratio <= most)
        took = wall_ratio(ours, theirs)
        most = MOST_REPEATED_COMPRESSING_RATIO if repeats else MOST_COMPRESSING_RATIO
        if not bench.quick:
            bench.gate(f"wall time {took:.2f} of {TOOL.name}'s, at most {most}", took <= most)
            if len(images) == 1:
                bench.goal(f"wall time {took:.2f} of {TOOL.name}'s, at most {COMPRESSING_GOAL}", took <= COMPRESSING_GOAL)
        decompression(bench, f"decompress: {len(images)} × {len(data):,} bytes of code", rounds, image)
    image.unlink()


def decompression(bench, title, rounds, image):
    found = unbundling(bench, "theirs")
    ours, theirs = found
    compete(bench, title, found, rounds, theirs)
    same(bench, "ours.out", image)
    if not bench.quick:
        ratio = wall_ratio(ours, theirs)
        bench.gate(f"wall time {ratio:.2f} of {TOOL.name}'s, at most {MOST_DECOMPRESSING_RATIO}",
                   ratio <= MOST_DECOMPRESSING_RATIO)
        bench.goal(f"wall time {ratio:.2f} of {TOOL.name}'s, at most {DECOMPRESSING_GOAL}", ratio <= DECOMPRESSING_GOAL)


def same(bench, one, other):
    if (bench.directory / other).exists() and not filecmp.cmp(bench.directory / one, bench.directory / other, shallow=False):
        raise Failure(f"{one} and {other} differ")
