"""Changing finished files: pruning a large library, compared with a copy of it, and compressing bundles in place of
clang-offload-bundler, which needs to unbundle them first."""

from benchmarks.contest import LLVM, MIB, Contestant, Failure, compete, installed, run, wall_ratio
from benchmarks.library import CUOBJDUMP, RUNTIMES, make_large, section, take

# Limits: about the time of a copy, whatever the proof reads, and little memory.
MOST_WALL_RATIO = 1.2
MOST_MEMORY = 16 * MIB
# With --quick, the limit holds whatever the folios of the page cache are (see below).
MOST_MEMORY_WITH_LARGE_FOLIOS = 40 * MIB
# Compression is the peer's, with the same library; its other steps are not needed.
MOST_TRANSCODE_RATIO = 0.8

BUNDLER = LLVM / "clang-offload-bundler"
IDS = ["host-x86_64-unknown-linux-gnu-", "hip-amdgcn-amd-amdhsa--gfx90a", "hip-amdgcn-amd-amdhsa--gfx942"]


def edit(bench):
    """Changes finished files."""
    if installed(RUNTIMES / "real-files", CUOBJDUMP):
        prune(bench)
    if installed(BUNDLER):
        transcode(bench)


def prune(bench):
    """Prunes a library of many fat binaries to one device."""
    wheels = {path.name.split("-")[0]: path for path in sorted((RUNTIMES / "real-files").glob("*.whl"), reverse=True)}
    cuda = [take(bench, wheels["qiskit_aer_gpu"], "controller_wrappers.cpython-312-x86_64-linux-gnu.so"),
            take(bench, wheels["bitsandbytes"], "libbitsandbytes_cuda118.so")]
    containers = b"".join(section(path.read_bytes(), b".nv_fatbin") for path in cuda)
    # The linker leaves large folios in the page cache. Linux 6.18 maps a folio whole where a page of it is read, and counts it as
    # memory of the process: 25 MiB. What cp writes has small ones.
    linked, large = bench.directory / "linked.so", bench.directory / "large.so"
    make_large(bench, containers, linked, 64_000_000 if bench.quick else 1_000_000_000)
    run("cp", "--reflink=never", linked, large)
    linked.unlink()
    ours = Contestant("fatbin prune", [[bench.fatbin, "prune", "--for-device", "sm_86", large.name, "-o", "pruned"]],
                      ["pruned"])
    copy = Contestant("cp", [["cp", "--reflink=never", large.name, "copy"]], ["copy"])
    compete(bench, f"prune: a library of {large.stat().st_size:,} bytes", [ours, copy], bench.rounds, copy)
    pruned = bench.directory / "pruned"
    if pruned.stat().st_size != large.stat().st_size or pruned.stat().st_blocks * 512 > large.stat().st_size // 2:
        raise Failure("the result has another size, or no holes")
    most = MOST_MEMORY_WITH_LARGE_FOLIOS if bench.quick else MOST_MEMORY
    bench.gate(f"peak memory {ours.memory / MIB:.1f} MiB, at most {most // MIB}", ours.memory <= most)
    if not bench.quick:
        ratio = wall_ratio(ours, copy)
        bench.gate(f"wall time {ratio:.2f} of cp's, at most {MOST_WALL_RATIO}", ratio <= MOST_WALL_RATIO)
    for path in [*cuda, large, pruned, bench.directory / "copy"]:
        path.unlink()


def transcode(bench):
    """Compresses a bundle of real code."""
    library = next(iter(sorted(LLVM.parent.parent.glob("x86_64-linux-gnu/libLLVM.so.22*"))), None)
    if not installed(library or LLVM.parent.parent / "x86_64-linux-gnu/libLLVM.so.22.1"):
        return
    code = bench.directory / "code"
    code.write_bytes(library.read_bytes()[:16_000_000 if bench.quick else None])
    targets = ["/dev/null", code, code]
    bundle = [bench.fatbin, "bundle", "--type", "o", "--align", "4096", "-o", "plain"]
    for target, path in zip(IDS, targets):
        bundle += ["--target", f"{target}={path}"]
    bench.measure(*bundle)
    ours = Contestant("fatbin transcode", [[bench.fatbin, "transcode", "--to", "ccob3", "plain", "-o", "ours"]], ["ours"])
    ids = f"-targets={','.join(IDS)}"
    parts = ["part-0", "part-1", "part-2"]
    theirs = Contestant(f"{BUNDLER.name}, unbundling and bundling", [
        [BUNDLER, "-unbundle", "-type=o", ids, "-input=plain", *(f"-output={part}" for part in parts)],
        [BUNDLER, "-compress", "-type=o", "-bundle-align=4096", ids, *(f"-input={part}" for part in parts), "-output=theirs"],
    ], ["theirs", *parts])
    compete(bench, f"transcode: a bundle of 2 × {code.stat().st_size:,} bytes", [ours, theirs], bench.rounds, theirs)
    sizes = [(bench.directory / name).stat().st_size for name in ["ours", "theirs"]]
    if sizes[0] > sizes[1] * 1.01:
        raise Failure(f"the result is larger: {sizes}")
    if not bench.quick:
        ratio = wall_ratio(ours, theirs)
        bench.gate(f"wall time {ratio:.2f} of {BUNDLER.name}'s, at most {MOST_TRANSCODE_RATIO}",
                   ratio <= MOST_TRANSCODE_RATIO)
    for name in ["plain", "ours", "theirs", *parts]:
        (bench.directory / name).unlink()
    code.unlink()
