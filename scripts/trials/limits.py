"""Runs a command under limits, and judges how it ended."""

import math
import os
import re
import resource
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
# Limits on one input: seconds of CPU time, see `slowdown`, and bytes of resident memory.
SECONDS, MEMORY = 2.0, 256 * MIB
# Where a process asks for more, the machine is protected; the limit on resident memory is much lower.
ADDRESS_SPACE = 8 << 30
# Seconds after which a process hangs. The limit on CPU time ends the others.
LONGEST = 300
# Bytes of each stream that are judged.
OUTPUT = 16 * MIB
# Largest length of an error, in characters.
ERROR_LINE = 1000
# Runs of a command that exceeds its CPU time: on a busy machine, the same work takes longer.
ATTEMPTS = 3
# CPU seconds of `slowdown` on the reference machine for the limits.
YARDSTICK, YARDSTICK_STEPS = 0.09, 1_500_000
# On a machine that is slower still, a process may be ended before it exceeds its limit.
LARGEST_SLOWDOWN = 5

# Control characters except tab and line feed; as UTF-8, C1 controls, bidirectional controls and
# invisible characters.
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]"
                     rb"|\xe2\x81[\xa0-\xa9]|\xef\xbb\xbf")


@dataclass
class Outcome:
    """The end of a process. A negative status is the number of a signal."""
    command: list
    status: int
    output: bytes
    errors: bytes
    seconds: float
    memory: int
    hangs: bool


@dataclass
class Tally:
    """Figures of trials of one area, summed over processes."""
    inputs: int = 0
    runs: int = 0
    # Name, command and reasons of each input or fault that a program has not survived.
    failures: list = field(default_factory=list)

    def add(self, other):
        self.inputs += other.inputs
        self.runs += other.runs
        self.failures += other.failures

    def fail(self, name, command, reasons):
        self.failures.append((name, shlex.join(map(str, command)), "; ".join(reasons)))


@dataclass(frozen=True)
class Setting:
    """Everything that trials share."""
    program: Path
    fixtures: Path
    # Directory for files of the run, and directory for inputs that fail.
    scratch: Path
    findings: Path
    quick: bool

    def keep(self, area, path, command):
        """Keeps a failing input, and returns the command with its new path."""
        kept = self.findings / area / re.sub(r"[^\w.+-]", "_", path.name)
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(path.read_bytes())
        return [str(word).replace(str(path), str(kept)) for word in command]


def run(command, attempts=ATTEMPTS, **surroundings):
    """Runs a command to its end. CPU time beyond the limit is divided by the slowdown of the machine.
    A run that still exceeds the limit is repeated, and the last run counts."""
    for _ in range(attempts):
        outcome = run_once(command, **surroundings)
        if outcome.seconds > SECONDS:
            outcome.seconds /= slowdown()
        if outcome.seconds <= SECONDS:
            break
    return outcome


def slowdown():
    """How much slower this machine is at the moment than the reference machine, at least 1."""
    started = time.thread_time()
    sum(number * number for number in range(YARDSTICK_STEPS))
    return max(1.0, (time.thread_time() - started) / YARDSTICK)


def run_once(command, resources=None, meanwhile=None):
    """Runs a command with resource limits, by their numbers in `resource`, and calls a function with
    the process once it runs. Memory is the peak of the resident set."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        started = time.monotonic()
        process = subprocess.Popen([os.fspath(word) for word in command], stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=errors, preexec_fn=lambda: limit(resources or {}))
        # `process.kill` would wait for the process, and take its resource usage away.
        end = threading.Timer(LONGEST, os.kill, [process.pid, signal.SIGKILL])
        end.start()
        try:
            if meanwhile:
                meanwhile(process)
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            end.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        return Outcome(command, process.returncode, start_of(output), start_of(errors),
                       usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024,
                       time.monotonic() - started >= LONGEST)


def limit(resources):
    seconds = math.ceil(SECONDS * LARGEST_SLOWDOWN)
    # The second limit on CPU time ends a process that handles the signal of the first.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
    wanted = {resource.RLIMIT_AS: ADDRESS_SPACE, resource.RLIMIT_CORE: 0, **resources}
    for number, value in wanted.items():
        resource.setrlimit(number, (value, value))


def start_of(file):
    file.seek(0)
    return file.read(OUTPUT)


def excesses(outcome):
    found = []
    if outcome.seconds > SECONDS:
        found.append(f"{outcome.seconds:.1f} s of CPU time")
    if outcome.memory > MEMORY:
        found.append(f"{outcome.memory // MIB} MiB of memory")
    return found


def violations(outcome, directory):
    """Returns the reasons why a process has not ended by itself within the limits, with a status of
    fatbin, readable text and no temporary file in a directory."""
    found = excesses(outcome)
    if outcome.hangs:
        found.append("does not end")
    elif outcome.status < 0:
        found.append(signal.Signals(-outcome.status).name)
    elif outcome.status not in (0, 1, 2):
        found.append(f"exit status {outcome.status}")
    if b"panicked at" in outcome.errors:
        found.append("panic")
    for name, text in [("standard output", outcome.output), ("standard error", outcome.errors)]:
        if match := CONTROL.search(text):
            found.append(f"control character {match[0]!r} in {name}")
    lines = outcome.errors.decode(errors="replace").splitlines()
    if longest := max((len(line) for line in lines if len(line) > ERROR_LINE), default=0):
        found.append(f"an error of {longest} characters")
    return found + [f"temporary file left: {path.name}" for path in directory.rglob(".fatbin-*")]
