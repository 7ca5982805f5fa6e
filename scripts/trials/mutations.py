"""Runs the program on mutants of every seed, in batches, because a start costs more than a small input. A family of mutants is a
sequence, so that a sample of it is a list of numbers. The fuzz targets change numbers and text inside of the formats."""

import random
import shutil

from trials import seeds
from trials.limits import Limits, crashes, excesses, raw_text, run, temporaries, violations
from trials.tally import Failure, Tally, command_line, keep

SEED = 22
# Bits of a byte, and the bytes that replace it.
BITS, REPLACEMENTS = 8, [0x00, 0xFF]
BATCH = 50
# Mutants of each seed in each family.
QUICK, FULL = 100, 20_000
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
ON_FILES = {
    seeds.FILE: [
        ["list", "FILE"],
        ["unbundle", f"{seeds.TARGET}OUTPUT/image", "--allow-missing", "FILE"],
        ["wrap", "--kind", "openmp", "--match", "FILE", "-o", "OUTPUT/wrapped.o", "IMAGE"],
        ["wrap", "--kind", "hip", "-o", "OUTPUT/wrapped.o", "FILE"],
        ["pack", "-o", "OUTPUT/packed", "FILE"],
        ["diff", "FILE", "IMAGE"],
    ],
    seeds.POLICY: [["check", "--policy", "FILE", "IMAGE"]],
    seeds.LOCK: [["diff", "FILE", "LOCK"], ["diff", "IMAGE", "FILE"]],
}


class Prefixes:
    """Every proper prefix."""

    def __init__(self, seed):
        self.data = seed.data

    def __len__(self):
        return len(self.data)

    def __getitem__(self, number):
        return f"prefix-{number:#x}", self.data[:number]


class Flips:
    """Every flipped bit, and every byte replaced by all zeros and all ones."""

    def __init__(self, seed):
        self.data = seed.data

    def __len__(self):
        return len(self.data) * (BITS + len(REPLACEMENTS))

    def __getitem__(self, number):
        at, change = divmod(number, BITS + len(REPLACEMENTS))
        data = bytearray(self.data)
        data[at] = data[at] ^ (1 << change) if change < BITS else REPLACEMENTS[change - BITS]
        return f"flip-{at:#x}-{change}", bytes(data)


FAMILIES = {"prefixes": Prefixes, "flips": Flips}


def sample(family, seed, most):
    """Returns numbers of at most `most` mutants of a seed, the same ones on every run."""
    length = len(FAMILIES[family](seed))
    if length <= most:
        return list(range(length))
    return sorted(random.Random(f"{SEED} {family} {seed.name}").sample(range(length), most))


def tasks(setting, all_seeds, family):
    """Returns the batches of a family: seed, number of the batch, numbers of the mutants."""
    found = []
    for seed in all_seeds.values():
        numbers = sample(family, seed, QUICK if setting.quick else FULL)
        found += [(seed, at // BATCH, numbers[at:at + BATCH]) for at in range(0, len(numbers), BATCH)]
    return found


class Batch:
    """Mutants of one seed, in separate files."""

    def __init__(self, setting, family, seed, numbers, directory):
        self.setting, self.family, self.seed, self.directory = setting, family, seed, directory
        self.output = directory / "output"
        self.tally = Tally(inputs=len(numbers))
        mutants = FAMILIES[family](seed)
        inputs = directory / "inputs"
        inputs.mkdir()
        self.contents = {}
        for number in numbers:
            name, data = mutants[number]
            path = inputs / f"{seed.name}.{name}"
            path.write_bytes(data)
            self.contents[path] = number, data

    def run(self, words, files, limits=Limits()):
        """Runs a command on files of the batch, with an empty directory of outputs."""
        shutil.rmtree(self.output, ignore_errors=True)
        self.output.mkdir()
        places = {"OUTPUT": self.output, "POLICY": self.setting.scratch / "policy", "LOCK": self.setting.scratch / "lock",
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
        return run(command, limits)

    def fail(self, path, outcome, reasons):
        kept = keep(self.setting, self.family, path.name, path.read_bytes())
        command = command_line(outcome.command).replace(str(path), str(kept))
        self.tally.failures.append(Failure(path.name, command, reasons))

    def judge(self, words):
        """Runs a command on the batch; if it fails, on each file."""
        files = list(self.contents)
        outcome = self.run(words, files)
        reasons = violations(outcome) + temporaries(self.output)
        if not reasons:
            return outcome
        alone = False
        for path in files:
            single = self.run(words, [path])
            if found := violations(single) + temporaries(self.output):
                self.fail(path, single, found)
                alone = True
        # The limits apply to a single file.
        together = crashes(outcome) + raw_text(outcome)
        if not alone and together and not excesses(outcome, Limits()):
            self.fail(files[0], outcome, [f"only in a batch: {reason}" for reason in together])
        return outcome

    def judge_single(self, path):
        for words in ON_FILES[self.seed.use]:
            outcome = self.run(words, [path])
            if reasons := violations(outcome) + temporaries(self.output):
                self.fail(path, outcome, reasons)

    def judge_cuts(self, outcome):
        """Checks that no prefix is reported as intact."""
        lines = dict(line.rsplit(": ", 1) for line in outcome.output.decode(errors="replace").splitlines() if ": " in line)
        for path, (_, data) in self.contents.items():
            result = lines.get(str(path), "")
            # A prefix may lack only padding: zeros or line feeds at its end.
            can_be_whole = len(data) >= len(self.seed.data.rstrip(b"\0\n"))
            if "intact" in result and "problem" not in result and not can_be_whole:
                self.fail(path, outcome, ["a truncated file is reported as intact"])


def run_batch(setting, family, task, directory):
    """Runs one batch and returns its figures."""
    seed, number, numbers = task
    batch = Batch(setting, family, seed, numbers, directory)
    if seed.use == seeds.FILE:
        # On quick runs, the commands take turns.
        turn = number % len(ON_BATCHES)
        for words in [ON_BATCHES[turn]] if setting.quick else ON_BATCHES:
            batch.judge(words)
        outcome = batch.judge(VERIFY)
        if family == "prefixes":
            batch.judge_cuts(outcome)
    for position, path in enumerate(batch.contents):
        # The commands of policies and locks take one file only.
        if position % (SINGLE if seed.use == seeds.FILE else SINGLE // 5) == 0:
            batch.judge_single(path)
    return batch.tally
