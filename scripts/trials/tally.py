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
    """Figures of trials of one area, summed over processes."""
    inputs: int = 0
    runs: int = 0
    failures: list = field(default_factory=list)
    # Number of trials that were left out at the end of the time.
    left_out: int = 0

    def add(self, other):
        self.inputs += other.inputs
        self.runs += other.runs
        self.failures += other.failures
        self.left_out += other.left_out

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


def keep(setting, area, name, data):
    """Keeps a failing input and returns its path."""
    directory = setting.findings / area
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / re.sub(r"[^\w.+-]", "_", name)
    path.write_bytes(data)
    return path


def command_line(command):
    return shlex.join(str(word) for word in command)
