"""Faults of the machine: outputs that cannot be written, inputs that change, scarce resources."""

import os
import random
import resource
import signal
import subprocess
import time

from trials.limits import MIB
from trials.mutants import SEED
from trials.scene import PRINTERS, WRITERS, Scene

# Functions by the name of the fault.
FAULTS = {}
QUICK_REPETITIONS, REPETITIONS = 2, 12
IMAGE_SIZE = 32 * MIB
# Fewer bytes than any output has.
FILE_SIZE = 4096
# A writer that is interrupted for so many seconds leaves a mixture that nobody changes, and that may be copied.
PAUSE = 0.002
DESCRIPTORS = 12
ADDRESS_SPACES = [size * MIB for size in (64, 96, 128, 256)]
NOBODY = 65534
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


@fault("closed standard output")
def closed_output(scene, _):
    for words in PRINTERS:
        scene.judge(scene.run(words, output=subprocess.DEVNULL, prepare=lambda: os.close(1)), [2])


@fault("full standard output")
def full_output(scene, _):
    with open("/dev/full", "wb") as full:
        for words in PRINTERS:
            scene.judge(scene.run(words, output=full), [2])


@fault("broken pipe")
def broken_pipe(scene, _):
    for words in PRINTERS:
        reading, writing = os.pipe()
        os.close(reading)
        scene.judge(scene.run(words, output=writing))
        os.close(writing)


@fault("file size limit")
def file_size(scene, _):
    for words in WRITERS.values():
        scene.files["OUTPUT"].write_bytes(b"OLD")
        outcome = scene.run(words, resources={resource.RLIMIT_FSIZE: FILE_SIZE})
        # The signal is the default end of such a process.
        if outcome.status == -signal.SIGXFSZ:
            outcome.status = 2
        scene.judge(outcome, [2])
        if scene.files["OUTPUT"].read_bytes() != b"OLD":
            scene.fail(outcome, "the previous output is lost")


@fault("full output file")
def full_file(scene, _):
    scene.files["OUTPUT"] = "/dev/full"
    for words in WRITERS.values():
        scene.judge(scene.run(words), [2])


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
        for words in [*WRITERS.values(), *PRINTERS]:
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

    readers = [[command, "BUNDLE"] for command in ["scan", "inspect", "verify", "list"]]
    for words in [*WRITERS.values(), *readers] * repetitions(scene):
        outcome = changing_input(scene, source, words, truncate)
        scene.judge(outcome)
        if outcome.status == 0 and scene.files["OUTPUT"].exists():
            if not holds_image(scene) and not is_of_truncated_input(scene, words):
                scene.fail(outcome, MIXED)


def is_of_truncated_input(scene, words):
    """Returns whether the output is that of the input after its truncation, which may precede the run."""
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


@fault("read-only directory")
def read_only_directory(scene, _):
    """Root may write everywhere, so the command runs as another user."""
    def drop():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)

    directory = scene.directory / "read-only"
    directory.mkdir(mode=0o555)
    scene.files["OUTPUT"] = directory / "output"
    for words in WRITERS.values():
        scene.judge(scene.run(words, prepare=drop), [2])


@fault("output is the input")
def output_is_input(scene, _):
    link = scene.directory / "link"
    for name, words in WRITERS.items():
        source = scene.files["BUNDLE" if "BUNDLE" in words else "IMAGE"]
        for kind, output in [("itself", source), ("a symbolic link", link), ("a hard link", link)]:
            link.unlink(missing_ok=True)
            if kind == "a symbolic link":
                link.symlink_to(source)
            elif kind == "a hard link":
                os.link(source, link)
            before = source.read_bytes()
            scene.files["OUTPUT"] = output
            outcome = scene.run(words)
            scene.judge(outcome, [0, 2])
            if outcome.status == 2 and source.read_bytes() != before:
                scene.fail(outcome, f"refused, and the input is changed: output is {kind}")
            if outcome.status == 0 and b"A" * IMAGE_SIZE not in output.read_bytes():
                scene.fail(outcome, f"the output lacks the image: output is {kind}")
            scene.write_image(b"A")
            scene.files["OUTPUT"] = scene.directory / "output"
            scene.succeed("bundle", scene.files["BUNDLE"])
