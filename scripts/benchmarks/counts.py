"""Instruction counts: how they are counted, and the record to compare them with."""

import os
import platform
import re
import shutil
import subprocess

from benchmarks.contest import ROOT, Failure, command_line

RECORD = ROOT / "scripts/benchmarks/counts.txt"
# A change by more than this share is a change of the program.
TOLERANCE = 0.05
HEADER = """\
# Instructions in user space, in one thread, counted by callgrind. `scripts/count` compares them, and
# `scripts/count --update` writes this file.
"""


class Counter:
    """Counts instructions with callgrind."""

    def __init__(self):
        if shutil.which("valgrind") is None:
            raise Failure("valgrind not found (Debian package valgrind)")
        # Without AVX2, valgrind offers an older processor, and libraries choose other code for it.
        if platform.machine() != "x86_64" or " avx2 " not in open("/proc/cpuinfo").read():
            raise Failure("counts are recorded for x86-64 with AVX2; this processor has no AVX2")

    def count(self, program, job, directory, profile=os.devnull):
        """Returns the number of instructions of a job, whose output must be right."""
        words = [str(program), *job.words]
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}", "--log-file=counted", *words]
        # One thread on every machine, and no settings of the user.
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TMPDIR": str(directory), "FATBIN_THREADS": "1"}
        done = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=600,
                              preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
        job.verify(done, directory, command_line(words))
        found = re.search(r"Collected : (\d+)", (directory / "counted").read_text())
        if found is None:
            raise Failure(f"{command_line(command)}: no count:\n{(directory / 'counted').read_text()}")
        return int(found[1])


def read(path):
    rows = [line.split() for line in path.read_text().splitlines() if line and not line.startswith("#")] if path.exists() else []
    return {name: int(count.replace(",", "")) for name, count in rows}


def write(path, record, counts):
    """Records new jobs and counts beyond the tolerance. Others stay, so that small rises add up to one that is noticed."""
    record = record | {name: new for name, new in counts.items() if abs(new / record.get(name, 1) - 1) > TOLERANCE}
    rows = "".join(f"{name:<12}{count:>16,}\n" for name, count in record.items())
    path.write_text(f"{HEADER}# Counted with {toolchain()}.\n\n{rows}")


def toolchain():
    libc = " ".join(platform.libc_ver())
    return ", ".join([first_line("rustc", "--version"), first_line("cc", "--version"), libc, first_line("valgrind", "--version")])


def first_line(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()[0]


def compare(record, counts):
    """Prints the counts with their changes, and returns those that rose by more than the tolerance."""
    risen = []
    for name, new in counts.items():
        old = record.get(name)
        if old is None:
            raise Failure(f"{name}: no recorded count; record it: scripts/count --update {name}")
        change = new / old - 1
        remark = ""
        if change > TOLERANCE:
            remark = "  MORE"
            risen.append(f"{name}: from {old:,} to {new:,} ({change:+.1%})")
        elif change < -TOLERANCE:
            remark = f"  fewer; record it: scripts/count --update {name}"
        print(f"{name:<12}{old:>16,}{new:>16,}{change:>+8.1%}{remark}")
    return risen
