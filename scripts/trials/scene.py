"""A directory for one trial, with the files that commands take, and the reasons why it fails."""

import itertools
import shutil
import time

from trials import seeds
from trials.limits import Environment, Limits, crashes, excesses, raw_text, run, temporaries
from trials.tally import Failure, Tally, command_line

MIB = 1 << 20
TARGET = "triple=amdgcn-amd-amdhsa,arch=gfx90a"
# Commands that write a file OUTPUT of a large image IMAGE.
WRITERS = {
    "wrap": ["wrap", "--kind", "openmp", "-o", "OUTPUT", f"--image=file=IMAGE,{TARGET}"],
    "pack": ["pack", "-o", "OUTPUT", f"--image=file=IMAGE,kind=hip,{TARGET}"],
    "bundle": ["bundle", "--type", "bc", "-o", "OUTPUT", f"{seeds.HOST}/dev/null", f"{seeds.TARGET}IMAGE"],
    "unbundle": ["unbundle", f"{seeds.TARGET}OUTPUT", "BUNDLE"],
    "extract": ["extract", "--to", "OUTPUT", "BUNDLE"],
}
# Commands that read.
READERS = [[command, "BUNDLE"] for command in ["scan", "inspect", "verify", "list"]]


class Scene:
    """Files of one trial. Reasons of failures are collected instead of raised, so that one trial shows all of them."""

    def __init__(self, setting, name, directory, image_size):
        self.setting, self.name, self.directory = setting, name, directory
        self.tally = Tally()
        self.files = {
            "OUTPUT": directory / "output", "IMAGE": directory / "image", "BUNDLE": directory / "bundle",
        }
        self.image_size = image_size
        self.write_image(b"A")
        self.succeed("bundle", self.files["BUNDLE"])

    def write_image(self, byte):
        """Writes the image in place, so that a process that has opened it sees the new bytes. Returns the longest time between
        the ends of two writes, in seconds: so long the image may have been a mixture that did not change."""
        mode = "r+b" if self.files["IMAGE"].exists() else "wb"
        with open(self.files["IMAGE"], mode, buffering=0) as file:
            ends = [time.monotonic()]
            for _ in range(0, self.image_size, MIB):
                file.write(byte * MIB)
                ends.append(time.monotonic())
            file.truncate(self.image_size)
        return max(after - before for before, after in itertools.pairwise(ends))

    def words(self, words, output=None):
        files = {**self.files, "OUTPUT": output or self.files["OUTPUT"]}
        for name, path in files.items():
            words = [word.replace(name, str(path)) for word in words]
        return [self.setting.program, *words]

    def succeed(self, writer, output):
        """Runs a writer without any fault."""
        outcome = run(self.words(WRITERS[writer], output), environment=Environment(str(self.directory)))
        if outcome.status != 0:
            raise RuntimeError(f"{command_line(outcome.command)}: {outcome.errors.decode(errors='replace')}")
        return outcome

    def run(self, words, limits=Limits(), **surroundings):
        """Runs a command under a fault."""
        self.tally.runs += 1
        self.tally.inputs += 1
        return run(self.words(words), limits, Environment(str(self.directory), **surroundings))

    def fail(self, outcome, *reasons):
        if reasons:
            self.tally.failures.append(Failure(f"{self.name}: {outcome.command[1]}", command_line(outcome.command), list(reasons)))

    def judge(self, outcome, statuses=(0, 1, 2), limits=Limits()):
        """Checks everything that holds for any end: status, limits, text, temporary files."""
        found = crashes(outcome) or excesses(outcome, limits) + raw_text(outcome)
        if not found and outcome.status not in statuses:
            found.append(f"exit status {outcome.status}")
        left = temporaries(self.directory)
        self.fail(outcome, *found, *left)
        for path in self.directory.rglob(".fatbin-*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
