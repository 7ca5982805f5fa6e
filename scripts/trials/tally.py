"""Counts of trials, and failures that are kept."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Failure:
    """Input or fault that a program has not survived."""
    name: str
    command: str
    reasons: list

    def line(self):
        return f"{self.name}: {self.command}: {'; '.join(self.reasons)}"


@dataclass
class Tally:
    """Figures of trials of one area; those of several processes are added."""
    inputs: int = 0
    runs: int = 0
    failures: list = field(default_factory=list)
    # Runs and failures of each peer, by its name.
    peers: dict = field(default_factory=dict)
    # Number of trials that were left out at the end of the time.
    left_out: int = 0

    def add(self, other):
        self.inputs += other.inputs
        self.runs += other.runs
        self.failures += other.failures
        self.left_out += other.left_out
        for name, (runs, failures) in other.peers.items():
            old_runs, old_failures = self.peers.get(name, (0, 0))
            self.peers[name] = old_runs + runs, old_failures + failures

    def failed_inputs(self):
        return len({failure.name for failure in self.failures})


@dataclass(frozen=True)
class Setting:
    """Everything that trials share."""
    program: Path
    fixtures: Path
    # Directory for files of the run, and directory for inputs that fail.
    scratch: Path
    findings: Path
    quick: bool
    # Commands of the peers by name, see peers.py.
    peers: dict


def keep(setting, area, name, data):
    """Keeps a failing input and returns its path."""
    directory = setting.findings / area
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / re.sub(r"[^\w.+-]", "_", name)
    path.write_bytes(data)
    return path


def command_line(command):
    return shlex.join(str(word) for word in command)


def markdown(tallies, peers):
    """Returns the table of the README: a row for each area."""
    lines = ["| trial | inputs | runs | failures |" + "".join(f" {name} |" for name in peers),
             "|---|" + "---:|" * (3 + len(peers))]
    for area, tally in tallies.items():
        cells = [area, f"{tally.inputs:,}", f"{tally.runs:,}", f"{tally.failed_inputs():,}"]
        for name in peers:
            runs, failures = tally.peers.get(name, (0, 0))
            cells.append(f"{failures:,} of {runs:,}" if runs else "-")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
