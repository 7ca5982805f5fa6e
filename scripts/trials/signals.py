"""Signals at random moments of commands that write: the old output or the new one, and nothing else."""

import os
import random
import signal
import time

from trials.limits import MIB
from trials.mutations import SEED
from trials.scene import WRITERS, Scene

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXFSZ, signal.SIGKILL]
QUICK_REPETITIONS, REPETITIONS = 2, 20
IMAGE_SIZE = 64 * MIB
OLD = b"OLD"


def run_signals(setting, writer, directory):
    """Interrupts a command many times and returns the figures."""
    scene = Scene(setting, "signal", directory, IMAGE_SIZE)
    source = random.Random(f"{SEED} {writer}")
    output = scene.files["OUTPUT"]
    started = time.monotonic()
    scene.succeed(writer, output)
    duration = time.monotonic() - started
    whole = output.read_bytes()
    for number in SIGNALS * (QUICK_REPETITIONS if setting.quick else REPETITIONS):
        # A new file, so that writing the old bytes costs nothing.
        output.unlink()
        output.write_bytes(OLD)
        delay = source.uniform(0, 1.1 * duration)

        def interrupt(process):
            time.sleep(delay)
            os.kill(process.pid, number)
        judge(scene, scene.run(WRITERS[writer], meanwhile=interrupt), number, whole)
    return scene.tally


def judge(scene, outcome, number, whole):
    """The signal itself is an accepted end, and so is the status that shells give it."""
    if outcome.status in (-number, 128 + number):
        outcome.status = 2
    name = signal.Signals(number).name
    scene.name = f"signal {name}"
    content = scene.files["OUTPUT"].read_bytes()
    if content not in (OLD, whole):
        scene.fail(outcome, f"an output of {len(content)} bytes, neither the old nor the new one")
    if number == signal.SIGKILL and content == OLD:
        remove_complete(scene.directory, whole)
    scene.judge(outcome)


def remove_complete(directory, whole):
    """Removes a complete output that was about to replace the old one. It has a name between two system calls, because a link
    cannot replace a file, and no process can remove it after SIGKILL."""
    for path in directory.glob(".fatbin-*"):
        if path.is_file() and path.read_bytes() == whole:
            path.unlink()
            return
