"""Commands that write several files, ended at every system call that changes a file, by signals at random moments, and
by a second run at the same time: all files are old, or all are new. After SIGKILL, `fatbin recover` comes first."""

import random
import shutil
import signal
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from trials.limits import Tally
from trials.mutations import SEED

# System calls that change a file or a name. Data is written to files that have no name yet, or to files of the journal.
CHANGES = ("openat,write,pwrite64,copy_file_range,ftruncate,fallocate,fchmod,fchmodat,fsync,mkdir,mkdirat,rmdir,symlink,"
           "symlinkat,link,linkat,rename,renameat,renameat2,unlink,unlinkat,flock,close")
ENDING = [signal.SIGTERM, signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR1, signal.SIGXCPU, signal.SIGABRT, signal.SIGIO,
          signal.SIGKILL]
QUICK_KILLS, QUICK_SIGNALS, SIGNALS = 12, 4, 250
QUICK_PAIRS, PAIRS = 10, 100
# A command that `strace` counts has fewer calls; the last number ends the search.
MOST_CALLS = 5000
TARGETS = 6


@dataclass
class Scene:
    """A command that replaces the files of `out`, which are copies of those in `before`. The file `input-x` of its words
    is `input-1` or `input-2`: two runs at the same time read one each."""
    words: list
    # Files that are written independently of each other.
    independent: bool = False

    def command(self, setting, number):
        return [str(setting.program), "--quiet", *(word.replace("input-x", f"input-{number}") for word in self.words)]


SCENES = {
    "split": Scene(["split", "input-x/host.o", "-o", "out"]),
    "split to kpack": Scene(["split", "--to", "kpack", "input-x/hip.o", "-o", "out"]),
    "unbundle": Scene(["unbundle", *(f"--target=hip-amdgcn-amd-amdhsa--gfx90{n}=out/{'below/' * (n % 2)}{n}"
                                     for n in range(TARGETS)), "input-x/bundle"]),
    "prune": Scene(["prune", "--drop", "gfx90a", "--in-place", "--proof", "out/below/proof.json", "out/host.o"]),
    "join": Scene(["join", "input-x/parts", "-o", "out"]),
    "extract": Scene(["extract", "-o", "out", "input-x/host.o"], independent=True),
}
# Commands with outputs that two runs may write at the same time.
PAIRED = ["split", "unbundle"]
TASKS = [*(("kills", name) for name in SCENES), *(("signals", name) for name in SCENES), *(("pairs", name) for name in PAIRED)]


def run_commits(setting, task, directory):
    """Runs one kind of ends of one command. Returns the figures."""
    kind, name = task
    trials = Trials(setting, name, directory)
    {"kills": trials.kill, "signals": trials.interrupt, "pairs": trials.pair}[kind]()
    return trials.tally


class Trials:
    """The trials of one command in a directory."""

    def __init__(self, setting, name, directory):
        self.setting, self.name, self.directory, self.tally = setting, name, directory, Tally()
        self.scene = SCENES[name]
        make_inputs(setting, directory)
        before = directory / "before"
        before.mkdir()
        (before / "below").mkdir()
        if name == "prune":
            shutil.copy(directory / "input-1/host.o", before / "host.o")
            (before / "below/proof.json").write_text("{}")
        else:
            # The old files are what the command wrote for other inputs.
            self.fresh()
            self.run(self.scene.command(setting, 2))
            shutil.rmtree(before)
            shutil.copytree(directory / "out", before, symlinks=True)
        self.fresh()
        self.old = contents(directory / "out")
        started = time.monotonic()
        self.run(self.scene.command(setting, 1))
        self.duration = time.monotonic() - started
        self.new = contents(directory / "out")
        if self.new == self.old:
            raise RuntimeError(f"{name}: writes what was there before")

    def fresh(self):
        shutil.rmtree(self.directory / "out", ignore_errors=True)
        shutil.copytree(self.directory / "before", self.directory / "out", symlinks=True)

    def run(self, words):
        done = subprocess.run(words, cwd=self.directory, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"{words}: {done.stderr.decode(errors='replace')}")

    def judge(self, fault, recovers):
        """Checks the files after an end, and recovers first if the end may need that."""
        self.tally.runs += 1
        self.tally.inputs += 1
        named = ""
        if recovers:
            done = subprocess.run([self.setting.program, "recover", "out"], cwd=self.directory, capture_output=True)
            named = (done.stdout + done.stderr).decode(errors="replace")
            if done.returncode not in (0, 1):
                self.fail(fault, [f"recover ends with {done.returncode}: {named}"])
        found = contents(self.directory / "out")
        hidden = [name for name in found if Path(name).name.startswith(".fatbin-") and name not in named]
        if hidden:
            self.fail(fault, [f"hidden files left: {hidden}"])
        found = {name: data for name, data in found.items() if not Path(name).name.startswith(".fatbin-")}
        if self.scene.independent:
            torn = [name for name, data in found.items() if data not in (self.old.get(name), self.new.get(name))]
            if torn:
                self.fail(fault, [f"neither old nor new: {torn}"])
        elif found not in (self.old, self.new):
            new = [name for name in found if found[name] == self.new.get(name) != self.old.get(name)]
            old = [name for name in found if found[name] == self.old.get(name) != self.new.get(name)]
            self.fail(fault, [f"a mixture: new {new}, old {old}, of {list(found)}: {named}"])

    def fail(self, fault, reasons):
        self.tally.fail(f"{self.name}, {fault}", self.scene.command(self.setting, 1), reasons)

    def kill(self):
        """Ends the command at each call that changes a file; a sample of the calls for a quick run."""
        numbers = range(1, MOST_CALLS)
        if self.setting.quick:
            total = self.calls()
            # The names are given at the end.
            last = range(max(1, total - 4 * QUICK_KILLS), total + 1)
            numbers = sorted(random.Random(f"{SEED} {self.name}").sample(last, min(QUICK_KILLS, len(last))))
        for number in numbers:
            self.fresh()
            done = self.trace("/dev/null", "-e", f"inject={CHANGES}:signal=SIGKILL:when={number}")
            if done.returncode == 0:
                break
            self.judge(f"SIGKILL at call {number}", recovers=True)

    def calls(self):
        self.fresh()
        self.trace("calls")
        return len((self.directory / "calls").read_text().splitlines())

    def trace(self, log, *options):
        command = self.scene.command(self.setting, 1)
        # One thread, because calls are counted for each.
        words = ["strace", "-f", "-qq", "-o", log, "-e", f"trace={CHANGES}", *options, *command, "--threads=1"]
        return subprocess.run(words, cwd=self.directory, capture_output=True)

    def interrupt(self):
        """Ends the command by signals at random moments."""
        source = random.Random(f"{SEED} {self.name} signals")
        for number in ENDING * (QUICK_SIGNALS if self.setting.quick else SIGNALS // len(SCENES) + 1):
            self.fresh()
            process = subprocess.Popen(self.scene.command(self.setting, 1), cwd=self.directory,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(source.uniform(0.2, 1.1) * self.duration)
            process.send_signal(number)
            process.wait()
            self.judge(signal.Signals(number).name, recovers=number == signal.SIGKILL)

    def pair(self):
        """Runs the command twice at the same time, for two inputs."""
        results = []
        for number in (1, 2):
            self.fresh()
            self.run(self.scene.command(self.setting, number))
            results.append(contents(self.directory / "out"))
        for _ in range(QUICK_PAIRS if self.setting.quick else PAIRS):
            self.fresh()
            pair = [subprocess.Popen(self.scene.command(self.setting, number), cwd=self.directory,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for number in (1, 2)]
            statuses = [process.wait() for process in pair]
            found = contents(self.directory / "out")
            self.tally.runs += 2
            self.tally.inputs += 1
            # Files of the run that ended first may remain if the other has none of their names.
            complete = [all(found.get(name) == data for name, data in result.items()) for result in results]
            if not any(complete) or max(statuses) > 2:
                self.fail("two runs", [f"statuses {statuses}: neither the files of one nor those of the other"])


def contents(directory):
    """The files below a directory, by their paths in it."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.is_file() or path.is_symlink():
            found[str(path.relative_to(directory))] = path.read_bytes()
    return found


def make_inputs(setting, directory):
    """Makes two versions of each input."""
    versions = [["gfx90a.hsaco", "gfx90a-xnack+.hsaco", "sm_90.cubin"], ["gfx90a-xnack+.hsaco", "gfx90a.hsaco"]]
    for number, names in enumerate(versions, 1):
        images = [setting.fixtures / f"answer-{name}" for name in names]
        folder = directory / f"input-{number}"
        folder.mkdir()
        for words in [
            ["wrap", "--kind", "openmp", "-o", folder / "host.o", *images],
            ["bundle", "--type", "bc", "-o", folder / "hip.fatbin", "--target", "host-x86_64-unknown-linux-gnu=/dev/null",
             "--target", f"hipv4-amdgcn-amd-amdhsa--gfx90a={images[0]}"],
            ["wrap", "--kind", "hip", "-o", folder / "hip.o", folder / "hip.fatbin"],
            ["split", folder / "host.o", "-o", folder / "parts"],
        ]:
            done = subprocess.run([setting.program, "--quiet", *map(str, words)], capture_output=True)
            if done.returncode != 0:
                raise RuntimeError(f"{words}: {done.stderr.decode(errors='replace')}")
        (folder / "bundle").write_bytes(bundle(f"version {number}".encode() * 1000))


def bundle(data):
    """A bundle with one code object, stored for several processors."""
    ids = [f"hip-amdgcn-amd-amdhsa--gfx90{number}".encode() for number in range(TARGETS)]
    entries = [(b"host-x86_64-unknown-linux-gnu-", b""), *((name, data + name) for name in ids)]
    header = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    offset = len(header) + sum(24 + len(name) for name, _ in entries)
    for name, content in entries:
        header += struct.pack("<QQQ", offset, len(content), len(name)) + name
        offset += len(content)
    return header + b"".join(content for _, content in entries)
