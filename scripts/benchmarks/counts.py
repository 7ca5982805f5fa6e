"""Instruction counts: how they are counted, and the record to compare them with."""

import os
import platform
import re
import shutil
import subprocess
import time

from benchmarks.contest import ROOT, Failure, command_line

RECORD = ROOT / "scripts/benchmarks/counts.txt"
# A change by more than this share is a change of the program.
TOLERANCE = 0.05
HEADER = """\
# Instructions in user space, in one thread, counted by callgrind. `scripts/count` compares them, and
# `scripts/count --update --reason TEXT` writes this file.
"""
HISTORY = "history"


class Counter:
    """Counts instructions with callgrind."""

    def __init__(self):
        if shutil.which("valgrind") is None:
            raise Failure("valgrind not found (Debian package valgrind)")
        # Without them, valgrind offers an older processor, for which libraries choose other code.
        if platform.machine() != "x86_64" or " avx2 " not in open("/proc/cpuinfo").read():
            raise Failure("counts are recorded for x86-64 with AVX2; this processor has no AVX2")

    def count(self, program, job, directory, profile=os.devnull):
        """Returns the number of instructions of a job, whose output must be right."""
        words = [str(program), *job.words]
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "--log-file=counted", *words]
        # One thread, whatever the machine has, and no settings of the user.
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TMPDIR": str(directory), "FATBIN_THREADS": "1"}
        done = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=600,
                              preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
        job.verify(done, directory, command_line(words))
        found = re.search(r"Collected : (\d+)", (directory / "counted").read_text())
        if found is None:
            raise Failure(f"{command_line(command)}: no count:\n{(directory / 'counted').read_text()}")
        return int(found[1])


class Record:
    """The recorded counts by job, and the lines of their history, newest first."""

    def __init__(self, counts=None, history=()):
        self.counts = counts or {}
        self.history = list(history)

    @classmethod
    def read(cls, path):
        record = cls()
        if path.exists():
            lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
            at = lines.index(HISTORY)
            record.counts = {name: int(count.replace(",", "")) for name, count in map(str.split, lines[:at])}
            record.history = lines[at + 1:]
        return record

    def update(self, counts, reason):
        """Records new jobs and counts beyond the tolerance. Others stay, so that small rises add up to one that is noticed."""
        for name, new in counts.items():
            old = self.counts.get(name)
            if old and abs(new / old - 1) <= TOLERANCE:
                continue
            change = f"from {old:,} to {new:,} ({new / old - 1:+.1%})" if old else f"{new:,}"
            self.history.insert(0, f"{time.strftime('%Y-%m-%d')} {name}: {change}: {reason}")
            self.counts[name] = new

    def write(self, path, tools):
        rows = "".join(f"{name:<12}{count:>16,}\n" for name, count in self.counts.items())
        path.write_text(f"{HEADER}# Counted with {tools}.\n\n{rows}\n{HISTORY}\n" + "".join(f"{line}\n" for line in self.history))


def toolchain():
    """Returns the versions of the tools that counts depend on."""
    libc = " ".join(platform.libc_ver())
    return ", ".join([first_line("rustc", "--version"), first_line("cc", "--version"), libc, first_line("valgrind", "--version")])


def first_line(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()[0]


def compare(record, counts):
    """Prints the counts with their changes, and returns those that rose by more than the tolerance."""
    risen = []
    for name, new in counts.items():
        old = record.counts.get(name)
        if old is None:
            raise Failure(f"{name}: no recorded count; record it: scripts/count --update --reason TEXT {name}")
        change = new / old - 1
        remark = ""
        if change > TOLERANCE:
            remark = "  MORE"
            risen.append(f"{name}: from {old:,} to {new:,} ({change:+.1%})")
        elif change < -TOLERANCE:
            remark = f"  fewer; record it: scripts/count --update --reason TEXT {name}"
        print(f"{name:<12}{old:>16,}{new:>16,}{change:>+8.1%}{remark}")
    return risen
