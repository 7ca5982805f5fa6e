"""Runs the program on mutants of every seed, in batches, because a start costs more than a small input.
A family of mutants is a sequence, so that a sample of it is a list of numbers. The fuzz targets change
numbers and text inside of the formats."""

import random
import shutil

from trials import seeds
from trials.limits import Tally, excesses, run, violations

SEED = 22
# Bits of a byte, and the bytes that replace it.
BITS, REPLACEMENTS = 8, [0x00, 0xFF]
CHANGES = BITS + len(REPLACEMENTS)
BATCH = 50
# Mutants of each seed in each family.
QUICK, FULL = 100, 4000
# One mutant in so many is also given to the commands that take one file.
SINGLE = 25

# Words in capitals are replaced: FILES by the mutants of a batch, FILE by one of them.
ON_BATCHES = [
    ["scan", "-v", "FILES"],
    ["inspect", "--json", "FILES"],
    ["extract", "-o", "OUTPUT", "--index", "FILES"],
    ["select", "--device", "gfx90a", "FILES"],
    ["requires", "FILES"],
    ["lock", "-o", "OUTPUT/lock", "FILES"],
    ["metadata", "--format", "json", "FILES"],
    ["check", "--policy", "POLICY", "--format", "sarif", "--html", "OUTPUT/page.html", "FILES"],
    ["scan", "--ndjson", "--hash", "FILES"],
]
VERIFY = ["verify", "FILES"]
ON_FILES = [
    ["list", "FILE"],
    ["unbundle", f"{seeds.TARGET}OUTPUT/image", "--allow-missing", "FILE"],
    ["wrap", "--kind", "openmp", "--match", "FILE", "-o", "OUTPUT/wrapped.o", "IMAGE"],
    ["wrap", "--kind", "hip", "-o", "OUTPUT/wrapped.o", "FILE"],
    ["pack", "-o", "OUTPUT/packed", "FILE"],
    ["diff", "FILE", "IMAGE"],
]


def prefix(data, number):
    return f"prefix-{number:#x}", data[:number]


def flip(data, number):
    """A flipped bit, or a byte of all zeros or ones."""
    at, change = divmod(number, CHANGES)
    changed = bytearray(data)
    changed[at] = data[at] ^ (1 << change) if change < BITS else REPLACEMENTS[change - BITS]
    return f"flip-{at:#x}-{change}", bytes(changed)


# The functions that make a mutant, and the number of mutants for each byte of a seed.
FAMILIES = {"prefixes": (prefix, 1), "flips": (flip, CHANGES)}


def tasks(setting, all_seeds, family):
    """Returns the batches of a family: name and bytes of the seed, numbers of the mutants, and commands. The mutants
    of a seed are the same ones on every run. On quick runs, the commands take turns."""
    found = []
    for name, data in all_seeds.items():
        length = len(data) * FAMILIES[family][1]
        most = min(length, QUICK if setting.quick else FULL)
        numbers = sorted(random.Random(f"{SEED} {family} {name}").sample(range(length), most))
        for at in range(0, most, BATCH):
            commands = [ON_BATCHES[len(found) % len(ON_BATCHES)]] if setting.quick else ON_BATCHES
            found.append((name, data, numbers[at:at + BATCH], commands))
    return found


class Batch:
    """Mutants of one seed, in separate directories: some formats are recognized by the names of files."""

    def __init__(self, setting, family, seed, data, numbers, directory):
        self.setting, self.family = setting, family
        # A shorter file is truncated. It may lack only padding: zeros or line feeds.
        self.whole = len(data.rstrip(b"\0\n"))
        self.output = directory / "output"
        self.tally = Tally(inputs=len(numbers))
        inputs = directory / "inputs"
        inputs.mkdir()
        self.files = []
        for number in numbers:
            name, mutant = FAMILIES[family][0](data, number)
            self.files.append(inputs / f"{name}-{seed}" / seed)
            self.files[-1].parent.mkdir()
            self.files[-1].write_bytes(mutant)

    def run(self, words, files):
        """Runs a command on files of the batch, with an empty directory of outputs. Returns how it ended
        and what was wrong."""
        shutil.rmtree(self.output, ignore_errors=True)
        self.output.mkdir()
        places = {"OUTPUT": self.output, "POLICY": self.setting.scratch / "seeds/policy",
                  "IMAGE": self.setting.fixtures / seeds.HSACO, "FILE": files[0]}
        command = [self.setting.program]
        for word in words:
            if word == "FILES":
                command += files
                continue
            for name, path in places.items():
                word = word.replace(name, str(path))
            command.append(word)
        self.tally.runs += 1
        outcome = run(command)
        return outcome, violations(outcome, self.output)

    def fail(self, path, outcome, reasons):
        mutant = path.parent.name
        self.tally.fail(mutant, self.setting.keep(f"{self.family}/{mutant}", path, outcome.command), reasons)

    def judge(self, words, files):
        """Runs a command on files; if it fails, on each of them, because the limits apply to one file."""
        outcome, reasons = self.run(words, files)
        failures = len(self.tally.failures)
        for path in files if reasons and len(files) > 1 else []:
            self.judge(words, [path])
        is_alone = len(files) == 1
        if reasons and (is_alone or len(self.tally.failures) == failures and not excesses(outcome)):
            self.fail(files[0], outcome, reasons if is_alone else ["only in a batch", *reasons])
        return outcome

    def judge_cuts(self, outcome):
        """Checks that no truncated file is reported as intact."""
        lines = outcome.output.decode(errors="replace").splitlines()
        results = dict(line.rsplit(": ", 1) for line in lines if ": " in line)
        for path in self.files:
            result = results.get(str(path), "")
            if "intact" in result and "problem" not in result and path.stat().st_size < self.whole:
                self.fail(path, outcome, ["a truncated file is reported as intact"])


def run_batch(setting, family, task, directory):
    """Runs one batch and returns its figures."""
    *seed, commands = task
    batch = Batch(setting, family, *seed, directory)
    for words in commands:
        batch.judge(words, batch.files)
    outcome = batch.judge(VERIFY, batch.files)
    if family == "prefixes":
        batch.judge_cuts(outcome)
    for path in batch.files[::SINGLE]:
        for words in ON_FILES:
            batch.judge(words, [path])
    return batch.tally
