"""Scarce resources, and signals at random moments of commands that write: the old output or the new one,
and nothing else. tests/command-line/faults.rs has the faults that a state of the program decides, such as
an input that changes while it is read."""

import os
import random
import resource
import shutil
import signal
import time

from trials import seeds
from trials.limits import MIB, Tally, run, violations
from trials.mutations import SEED

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXFSZ, signal.SIGKILL]
QUICK_REPETITIONS, REPETITIONS = 2, 20
IMAGE_SIZE = 32 * MIB
OLD = b"OLD"
# Limits on a resource; a command has more inputs than descriptors.
SCARCE = [*((resource.RLIMIT_AS, size * MIB) for size in (64, 96, 128, 256)), (resource.RLIMIT_NOFILE, 12)]
INPUTS = 16
TARGET = "triple=amdgcn-amd-amdhsa,arch=gfx90a"
# Commands that write a file OUTPUT of a large image IMAGE, and of the bundle of it.
WRITERS = {
    "wrap": ["wrap", "--kind", "openmp", "--raw", "-o", "OUTPUT", f"--image=file=IMAGE,{TARGET}"],
    "pack": ["pack", "-o", "OUTPUT", f"--image=file=IMAGE,kind=hip,{TARGET}"],
    "bundle": ["bundle", "--type", "bc", "-o", "OUTPUT", f"{seeds.HOST}/dev/null", f"{seeds.TARGET}IMAGE"],
    "unbundle": ["unbundle", f"{seeds.TARGET}OUTPUT", "BUNDLE"],
    "extract": ["extract", "--to", "OUTPUT", "BUNDLE"],
}
COMMANDS = WRITERS | {reader: [reader, *["BUNDLE"] * INPUTS] for reader in ("scan", "inspect", "verify", "list")}


def run_faults(setting, name, directory):
    """Runs a command with scarce resources, and interrupts one that writes. Returns the figures."""
    scene = Scene(setting, directory)
    for number, value in SCARCE:
        scene.run(name, f"limit {number} of {value}", resources={number: value})
    if name in WRITERS:
        interrupt(scene, name)
    return scene.tally


class Scene:
    """The files of the trials of one command, in a directory."""

    def __init__(self, setting, directory):
        self.setting, self.directory, self.tally = setting, directory, Tally()
        self.output = directory / "output"
        (directory / "image").write_bytes(b"A" * IMAGE_SIZE)
        self.whole("bundle")
        self.output.rename(directory / "bundle")

    def words(self, name):
        words = COMMANDS[name]
        for file in ["OUTPUT", "IMAGE", "BUNDLE"]:
            words = [word.replace(file, str(self.directory / file.lower())) for word in words]
        return [self.setting.program, *words]

    def whole(self, writer):
        """Returns the output of a writer without any fault."""
        self.output.unlink(missing_ok=True)
        outcome = run(self.words(writer))
        if outcome.status != 0:
            raise RuntimeError(f"{writer}: {outcome.errors.decode(errors='replace')}")
        return self.output.read_bytes()

    def run(self, name, fault, ends=(), complete=None, **surroundings):
        """Runs a command under a fault that may have further ends, and leave a complete output."""
        self.tally.runs += 1
        self.tally.inputs += 1
        outcome = run(self.words(name), 1, **surroundings)
        if outcome.status in ends:
            outcome.status = 1
        temporaries = list(self.directory.glob(".fatbin-*"))
        if complete in [path.read_bytes() for path in temporaries if path.is_file()]:
            temporaries.pop().unlink()
        if reasons := violations(outcome, self.directory):
            self.tally.fail(f"{name}, {fault}", outcome.command, reasons)
        for path in temporaries:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def interrupt(scene, name):
    started = time.monotonic()
    whole = scene.whole(name)
    duration = time.monotonic() - started
    source = random.Random(f"{SEED} {name}")
    for number in SIGNALS * (QUICK_REPETITIONS if scene.setting.quick else REPETITIONS):
        # A new file, so that writing the old bytes costs nothing.
        scene.output.unlink()
        scene.output.write_bytes(OLD)
        delay = source.uniform(0, 1.1 * duration)

        def send(process):
            time.sleep(delay)
            os.kill(process.pid, number)
        # Shells add 128. A complete output has a name between two system calls, because a link cannot
        # replace a file, and no process can remove it after SIGKILL.
        complete = whole if number == signal.SIGKILL else None
        fault = signal.Signals(number).name
        scene.run(name, fault, (-number, 128 + number), complete, meanwhile=send)
        content = scene.output.read_bytes()
        if content not in (OLD, whole):
            scene.tally.fail(f"{name}, {fault}", scene.words(name),
                             [f"an output of {len(content)} bytes, neither the old nor the new one"])
