"""Shared by the scripts that measure: their command lines, the program, and the cost of a command."""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TARGET = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
MIB = 1 << 20


class Failure(Exception):
    """A command that failed or a wrong result; ends the run."""


def parse(description, kind, names, *options):
    """Parses the command line of a script: flags with their help, and names of what to run, by default all. Returns
    the options, among them `program`, and the names."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", metavar="FATBIN", type=Path, help="program to test, by default the release build")
    for option, text in options:
        parser.add_argument(option, action="store_true", help=text)
    parser.add_argument("names", nargs="*", metavar=kind.upper(), help=f"{kind}s: {', '.join(names)}")
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in names:
            parser.error(f"unknown {kind} {name} (available: {', '.join(names)})")
    # rustup adds its directory to PATH for login shells only.
    os.environ["PATH"] += f"{os.pathsep}{Path.home() / '.cargo/bin'}"
    sys.stdout.reconfigure(line_buffering=True)
    arguments.program = arguments.program.resolve() if arguments.program else build_fatbin()
    return arguments, arguments.names or list(names)


def finish(main):
    """Runs a script; a failure ends it with its message and exit status 1."""
    try:
        main()
    except Failure as failure:
        sys.exit(f"{Path(sys.argv[0]).name}: {failure}")


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


def count(program, words, directory):
    """Returns the number of instructions that callgrind counts for a command, and the command's end. The command has
    one thread on every machine, and no settings of the user."""
    if shutil.which("valgrind") is None:
        raise Failure("valgrind not found (Debian package valgrind)")
    # Without AVX2, valgrind offers an older processor, and libraries choose other code for it.
    if platform.machine() != "x86_64" or " avx2 " not in open("/proc/cpuinfo").read():
        raise Failure("counts are recorded for x86-64 with AVX2; this processor has no AVX2")
    options = ["--tool=callgrind", f"--callgrind-out-file={os.devnull}", "--log-file=counted"]
    command = ["valgrind", *options, str(program), *words]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TMPDIR": str(directory), "FATBIN_THREADS": "1"}
    done = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=600, preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
    log = (directory / "counted").read_text()
    found = re.search(r"Collected : (\d+)", log)
    if found is None or done.returncode not in (0, 1):
        printed = (done.stdout[-2000:] + done.stderr[-2000:]).decode(errors="replace")
        raise Failure(f"{command_line(command)}: exit status {done.returncode}\n{printed}{log}")
    return int(found[1]), done


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
