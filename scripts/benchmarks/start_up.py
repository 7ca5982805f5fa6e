"""Start-up time of the tools; a build starts one for every object."""

from benchmarks.contest import LLVM, MIB, Contestant, Failure, compete, installed, wall_ratio

# Limits: a fraction of the time of LLVM's tools.
MOST_WALL_RATIO = 1 / 5
# Goal: this part of the time of an empty program.
GOAL = 1.2


def start_up(bench):
    """Runs each tool with --version."""
    rounds = 10 if bench.quick else 50
    ours = Contestant("fatbin --version", [[bench.fatbin, "--version"]])
    nothing = bench.nothing()
    contestants = [ours, nothing]
    peers = [LLVM / tool for tool in ["llvm-offload-wrapper", "llvm-offload-binary", "clang-offload-bundler"]]
    if installed(*peers):
        contestants += [Contestant(f"{peer.name} --version", [[peer, "--version"]]) for peer in peers]
    compete(bench, "start-up: a tool that is only asked its version", contestants, rounds, nothing)
    for contestant, text in zip(contestants, ["fatbin ", ""] + len(peers) * ["version 22"]):
        if text not in contestant.output:
            raise Failure(f"{contestant.name} did not print '{text}': {contestant.output}")
    # It would reveal a measuring parent that is too large.
    bench.gate(f"the measurement itself: {nothing.name} takes {nothing.memory / MIB:.1f} MiB, less than 4",
               nothing.memory < 4 * MIB)
    if bench.quick:
        return
    ratio = wall_ratio(ours, nothing)
    bench.goal(f"wall time {ratio:.2f} of {nothing.name}, at most {GOAL}", ratio <= GOAL)
    for theirs in contestants[2:]:
        ratio = wall_ratio(ours, theirs)
        bench.gate(f"wall time {ratio:.3f} of {theirs.name}, less than 1/5", ratio < MOST_WALL_RATIO)
