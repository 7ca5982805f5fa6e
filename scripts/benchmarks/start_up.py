"""Start-up: what a tool costs before it does anything; a build starts one for every object."""

from benchmarks.contest import LLVM, MIB, Contestant, Failure, compete, installed, wall_ratio

# What is demanded: a fraction of what LLVM's tools take.
MOST_WALL_RATIO = 1 / 5


def start_up(bench):
    """A tool that is only asked its version."""
    rounds = 10 if bench.quick else 50
    ours = Contestant("fatbin --version", [[bench.fatbin, "--version"]])
    nothing = Contestant("true", [["true"]])
    contestants = [ours, nothing]
    peers = [LLVM / tool for tool in ["llvm-offload-wrapper", "llvm-offload-binary", "clang-offload-bundler"]]
    if installed(*peers):
        contestants += [Contestant(f"{peer.name} --version", [[peer, "--version"]]) for peer in peers]
    compete(bench, "start-up: a tool that is only asked its version", contestants, rounds, nothing)
    for contestant, text in zip(contestants, ["fatbin ", ""] + len(peers) * ["version 22"]):
        if text not in contestant.output:
            raise Failure(f"{contestant.name} has not said '{text}': {contestant.output}")
    # Measured through a parent that is too large, `true` would show it.
    bench.gate(f"the measurement itself: true takes {nothing.memory / MIB:.1f} MiB, less than 4",
               nothing.memory < 4 * MIB)
    for theirs in contestants[2:]:
        ratio = wall_ratio(ours, theirs)
        bench.gate(f"wall time {ratio:.3f} of {theirs.name}, less than 1/5", ratio < MOST_WALL_RATIO)
