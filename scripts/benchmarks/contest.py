"""Shared by the scripts that measure: the program, and the cost of a command."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
MIB = 1 << 20


class Failure(Exception):
    """A command that failed or a wrong result; ends the run."""


class Cost:
    """Figures of scripts/lib/measure.c, and what the command printed."""

    def __init__(self, figures, output):
        self.seconds = float(figures[0])
        self.memory = int(figures[1]) * 1024
        # Bytes that were written to disk, including temporary files.
        self.blocks = int(figures[2]) * 512
        self.output = output


def build_launcher(directory):
    """Compiles scripts/lib/measure.c, and returns the program."""
    launcher = directory / "measure"
    run("cc", "-O1", "-o", launcher, ROOT / "scripts/lib/measure.c")
    return launcher


def measure(launcher, directory, command, statuses=(0,)):
    """Returns the cost of a command, which must end with one of these statuses."""
    reading, writing = os.pipe()
    done = subprocess.run([launcher, str(writing), *command], cwd=directory, pass_fds=[writing],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        figures = pipe.read().split()
    if done.returncode not in statuses:
        raise Failure(f"{command_line(command)}: exit status {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return Cost(figures, done.stdout.decode(errors="replace"))


def build_fatbin():
    run("cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", ROOT / "Cargo.toml")
    return TARGET / "release/fatbin"


def run(*command, **options):
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **options)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Failure(f"{command_line(command)}: {error}") from error


def command_line(command):
    return " ".join(str(word) for word in command)
