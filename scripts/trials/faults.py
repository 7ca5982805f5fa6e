"""Faults at any moment: inputs that change during a run, and scarce resources. tests/command-line/faults.rs has those that a state
of the program decides, such as standard output that is closed or full."""

import os
import random
import resource
import time

from trials.limits import MIB
from trials.mutations import SEED
from trials.scene import READERS, WRITERS, Scene

# Functions by the name of the fault.
FAULTS = {}
QUICK_REPETITIONS, REPETITIONS = 2, 12
IMAGE_SIZE = 32 * MIB
# A writer that is interrupted for so many seconds leaves a mixture that nobody changes, and that may be copied.
PAUSE = 0.002
DESCRIPTORS = 12
ADDRESS_SPACES = [size * MIB for size in (64, 96, 128, 256)]
MIXED = "exit status 0 with an output that is neither the old nor the new image"


def fault(name):
    def register(function):
        FAULTS[name] = function
        return function
    return register


def run_fault(setting, name, directory):
    """Runs the trials of one fault and returns their figures."""
    scene = Scene(setting, name, directory, IMAGE_SIZE)
    FAULTS[name](scene, random.Random(f"{SEED} {name}"))
    return scene.tally


def repetitions(scene):
    return QUICK_REPETITIONS if scene.setting.quick else REPETITIONS


@fault("few descriptors")
def descriptors(scene, _):
    copies = []
    for number in range(3 * DESCRIPTORS):
        copies.append(str(scene.directory / f"copy-{number}"))
        os.link(scene.files["BUNDLE"], copies[-1])
    for command in ["scan", "inspect", "verify"]:
        scene.judge(scene.run([command, *copies], resources={resource.RLIMIT_NOFILE: DESCRIPTORS}))
    for words in WRITERS.values():
        scene.judge(scene.run(words, resources={resource.RLIMIT_NOFILE: DESCRIPTORS}))


@fault("little address space")
def address_space(scene, _):
    for size in ADDRESS_SPACES:
        for words in [*WRITERS.values(), *READERS]:
            scene.judge(scene.run(words, resources={resource.RLIMIT_AS: size}))


def changing_input(scene, source, words, change):
    """Changes the image and the bundle at a random moment of a run."""
    scene.write_image(b"A")
    scene.succeed("bundle", scene.files["BUNDLE"])
    started = time.monotonic()
    scene.run(words)
    duration = time.monotonic() - started
    scene.files["OUTPUT"].unlink(missing_ok=True)
    delay = source.uniform(0, duration)

    def meanwhile(_):
        time.sleep(delay)
        change()
    return scene.run(words, meanwhile=meanwhile)


@fault("truncated input")
def truncated_input(scene, source):
    def truncate():
        size = source.choice([0, 4096, IMAGE_SIZE // 2])
        for name in ["IMAGE", "BUNDLE"]:
            os.truncate(scene.files[name], size)

    for words in [*WRITERS.values(), *READERS] * repetitions(scene):
        outcome = changing_input(scene, source, words, truncate)
        scene.judge(outcome)
        if outcome.status == 0 and scene.files["OUTPUT"].exists():
            if not holds_image(scene) and not is_of_truncated_input(scene, words):
                scene.fail(outcome, MIXED)


def is_of_truncated_input(scene, words):
    """Whether the output is right for the truncated input: the truncation may precede the run."""
    output = scene.files["OUTPUT"].read_bytes()
    again = scene.run(words)
    return again.status == 0 and scene.files["OUTPUT"].read_bytes() == output


@fault("overwritten input")
def overwritten_input(scene, source):
    for words in list(WRITERS.values()) * repetitions(scene):
        if "BUNDLE" in words:
            continue
        pauses = []
        outcome = changing_input(scene, source, words, lambda: pauses.append(scene.write_image(b"B")))
        scene.judge(outcome)
        if outcome.status == 0 and not holds_image(scene) and max(pauses) < PAUSE:
            scene.fail(outcome, MIXED)


def holds_image(scene):
    """Returns whether the output contains the whole image, before or after the change."""
    output = scene.files["OUTPUT"].read_bytes()
    return any(byte * IMAGE_SIZE in output for byte in (b"A", b"B"))
