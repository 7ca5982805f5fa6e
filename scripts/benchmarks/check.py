"""Checking the architectures of a large library, compared with listing it and with a plain read of the file: parts that a
policy does not ask about must not be inspected."""

import statistics

from benchmarks.contest import MIB, ROOT, Contestant, Failure, compete, run, wall_ratio
from benchmarks.library import make_large, section

# Limits: the time of reading the file and of listing it once, with a margin; the goal is for a CI job on two cores.
MOST_READ_RATIO = 1.25
MOST_SCAN_RATIO = 1.5
GOAL_SECONDS = 0.5

# The size of the fat binary of one source file of a large library.
IMAGE_SIZE = 64 * 1024

POLICY = """
must-hold = ["library.so"]
[archs]
require = ["sm_90"]
devices = ["sm_90"]
forbid = ["sm_50", "gfx906"]
ptx-fallback = "compute_80"
[sizes]
total = "1 GB"
"""


def check(bench):
    """Writes a library of many fat binaries, each with a cubin and PTX."""
    cubin = (ROOT / "fixtures/answer-sm_90.cubin").read_bytes()
    (bench.directory / "large.cubin").write_bytes(cubin.ljust(IMAGE_SIZE, b"\x5a"))
    run(bench.fatbin, "wrap", "--kind", "cuda", "--entry", "answer_kernel=stub", "-o", bench.directory / "one.o",
        bench.directory / "large.cubin", ROOT / "fixtures/answer-sm_80.ptx")
    container = section((bench.directory / "one.o").read_bytes(), b".nv_fatbin")
    library = bench.directory / "library.so"
    make_large(bench, container.ljust(-len(container) % 8 + len(container), b"\0"), library,
               32_000_000 if bench.quick else 500_000_000)
    (bench.directory / "gpu.toml").write_text(POLICY)

    ours = Contestant("fatbin check", [[bench.fatbin, "check", "--policy", "gpu.toml", "library.so"]])
    scan = Contestant("fatbin scan --json", [[bench.fatbin, "scan", "--json", "library.so"]])
    read = Contestant("dd, a read loop", [["dd", "if=library.so", "of=/dev/null", "bs=1M", "status=none"]])
    for contestant in [read, ours, scan]:
        contestant.run(bench)
        contestant.seconds.clear()
    compete(bench, f"check: a library of {library.stat().st_size:,} bytes", [ours, scan, read], bench.rounds, read)
    if "violated" in ours.output or "passed" not in ours.output:
        raise Failure(f"the library is as demanded:\n{ours.output}")
    images = scan.output.count('"image": "elf"')
    if images < library.stat().st_size // (2 * IMAGE_SIZE):
        raise Failure(f"only {images:,} cubins were found")
    median = statistics.median(ours.seconds)
    bench.remark(f"{images:,} cubins in {median:.3f} s; the goal is {GOAL_SECONDS} s for 500 MB on two cores")
    bench.gate(f"peak memory {ours.memory / MIB:.1f} MiB, less than 64", ours.memory < 64 * MIB)
    if not bench.quick:
        for limit, most in [(read, MOST_READ_RATIO), (scan, MOST_SCAN_RATIO)]:
            ratio = wall_ratio(ours, limit)
            bench.gate(f"wall time {ratio:.2f} of {limit.name}, at most {most}", ratio <= most)
    for name in ["library.so", "one.o", "large.cubin", "gpu.toml"]:
        (bench.directory / name).unlink()
