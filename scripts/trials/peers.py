"""Other tools that read the same formats, on the same inputs.

A peer fails if a signal ends it or if it exceeds the limits. Nothing else is required of it.
"""

import os
from pathlib import Path

from trials.limits import Limits, crashes, excesses, run

LLVM = Path("/usr/lib/llvm-22/bin")
# Commands by the name of the tool; INPUT and OUTPUT are replaced by paths.
PEERS = {
    "llvm-offload-binary 22": [LLVM / "llvm-offload-binary", "INPUT", "--image=file=OUTPUT,arch=gfx90a"],
    "clang-offload-bundler 22": [LLVM / "clang-offload-bundler", "--list", "--type=bc", "--input=INPUT"],
    "llvm-objdump --offloading 22": [LLVM / "llvm-objdump", "--offloading", "INPUT"],
    "cuobjdump 13.5": ["cuobjdump", "-lelf", "-lptx", "INPUT"],
}


def installed(root):
    """Returns the commands of the installed peers. In strict mode, a missing one is an error."""
    found = {}
    for name, (program, *words) in PEERS.items():
        path = root / "target/runtimes/cuda-tools" / program
        if path.exists():
            found[name] = [str(path), *words]
        elif os.environ.get("FATBIN_STRICT") == "1":
            raise SystemExit(f"torture: {path} not found (FATBIN_STRICT=1 makes this an error); run scripts/test --install")
        else:
            print(f"left out: {path} not found; run scripts/test --install")
    return found


def run_peers(setting, path, output, limits=Limits()):
    """Runs all peers on a file and returns their figures."""
    figures = {}
    for name, words in setting.peers.items():
        command = [word.replace("INPUT", str(path)).replace("OUTPUT", str(output)) for word in map(str, words)]
        outcome = run(command, limits)
        # Peers use other statuses than 0, 1 and 2.
        failed = [reason for reason in crashes(outcome) if not reason.startswith("exit status")]
        figures[name] = (1, bool(failed or excesses(outcome, limits)))
    return figures
