"""Runs a command under limits, and judges how it ended."""

import math
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
# Where a process asks for more, the machine is protected; the limit on resident memory is much lower.
ADDRESS_SPACE = 8 << 30
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
# Seconds before a process is examined again. If it sleeps and has used no CPU time since, it hangs.
SLEEP = 30

# Control characters except tab and line feed; C1 controls, bidirectional controls and invisible characters as UTF-8.
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xa9]|\xef\xbb\xbf")


@dataclass(frozen=True)
class Limits:
    """Limits on one input. Seconds are of CPU time, see `slowdown`."""
    seconds: float = 2.0
    memory: int = 256 * MIB


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
class Environment:
    """Surroundings of a process that a fault changes."""
    directory: str = "."
    output: object = None
    # Resource limits, by their numbers in `resource`.
    resources: dict = field(default_factory=dict)
    # Function that runs in the child.
    prepare: object = None
    # Function that is called with the process once it runs.
    meanwhile: object = None


def run(command, limits=Limits(), environment=None):
    """Runs a command to its end. CPU time beyond the limit is divided by the slowdown of the machine. Without an environment, a run
    that still exceeds the limit is repeated, and the last run counts."""
    for _ in range(1 if environment else ATTEMPTS):
        outcome = run_once(command, limits, environment or Environment())
        if outcome.seconds > limits.seconds:
            outcome.seconds /= slowdown()
        if outcome.seconds <= limits.seconds:
            break
    return outcome


def slowdown():
    """How much slower this machine is at the moment than the reference machine of the limits, at least 1."""
    started = time.thread_time()
    sum(number * number for number in range(YARDSTICK_STEPS))
    return max(1.0, (time.thread_time() - started) / YARDSTICK)


def run_once(command, limits, environment):
    """Runs a command. Memory is the peak of the resident set."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [os.fspath(word) for word in command], cwd=environment.directory, stdin=subprocess.DEVNULL,
            stdout=output if environment.output is None else environment.output, stderr=errors,
            preexec_fn=lambda: prepare(limits, environment))
        ended, hanging = threading.Event(), threading.Event()
        threading.Thread(target=end_if_asleep, args=[process.pid, ended, hanging], daemon=True).start()
        try:
            if environment.meanwhile:
                environment.meanwhile(process)
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            ended.set()
        process.returncode = os.waitstatus_to_exitcode(status)
        return Outcome(command, process.returncode, start_of(output), start_of(errors),
                       usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, hanging.is_set())


def end_if_asleep(pid, ended, hanging):
    """Ends a process that hangs. Wall time alone shows nothing on a busy machine, and the limit on CPU time ends the others."""
    before = None
    while not ended.wait(SLEEP):
        now = cpu_times(pid)
        if now is not None and now == before and not ended.is_set():
            hanging.set()
            # `process.kill` would wait for the process, and take its resource usage away.
            os.kill(pid, signal.SIGKILL)
            return
        before = now


def cpu_times(pid):
    """Returns the CPU times of the threads of a process that are all asleep; of another process, None."""
    try:
        stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:
        return None
    # The name of the program, in parentheses, may contain spaces.
    fields = [stat.rpartition(")")[2].split() for stat in stats]
    # Ready to run, or waiting for a disk.
    if any(state in ("R", "D") for state, *_ in fields):
        return None
    return [row[11:13] for row in fields]


def prepare(limits, environment):
    seconds = math.ceil(limits.seconds * LARGEST_SLOWDOWN)
    wanted = {resource.RLIMIT_CPU: seconds, resource.RLIMIT_AS: ADDRESS_SPACE, resource.RLIMIT_CORE: 0, **environment.resources}
    for number, value in wanted.items():
        # The second limit on CPU time ends a process that handles the signal of the first.
        hard = value + 2 if number == resource.RLIMIT_CPU else value
        resource.setrlimit(number, (value, hard))
    if environment.prepare:
        environment.prepare()


def start_of(file):
    file.seek(0)
    return file.read(OUTPUT)


def crashes(outcome):
    """Returns the reasons why a process has not ended by itself with a status of fatbin."""
    found = []
    if outcome.hangs:
        found.append("does not end")
    elif outcome.status == -signal.SIGXCPU:
        found.append("CPU time")
    elif outcome.status < 0:
        found.append(signal.Signals(-outcome.status).name)
    elif outcome.status not in (0, 1, 2):
        found.append(f"exit status {outcome.status}")
    if b"panicked at" in outcome.errors:
        found.append("panic")
    return found


def excesses(outcome, limits):
    found = []
    if outcome.seconds > limits.seconds:
        found.append(f"{outcome.seconds:.1f} s of CPU time")
    if outcome.memory > limits.memory:
        found.append(f"{outcome.memory // MIB} MiB of memory")
    return found


def raw_text(outcome):
    """Returns the streams with text that would control a terminal, and errors that are too long to read."""
    found = [f"control character {match[0]!r} in {name}"
             for name, text in [("standard output", outcome.output), ("standard error", outcome.errors)]
             if (match := CONTROL.search(text))]
    longest = max((len(line) for line in outcome.errors.decode(errors="replace").splitlines()), default=0)
    if longest > ERROR_LINE:
        found.append(f"an error of {longest} characters")
    return found


def violations(outcome, limits=Limits()):
    return crashes(outcome) + excesses(outcome, limits) + raw_text(outcome)


def temporaries(directory):
    return [f"temporary file left: {name}" for _, _, names in os.walk(directory) for name in names
            if name.startswith(".fatbin-")]
