"""Instruction counts of commands."""

import os
import platform
import re
import shutil
import subprocess

from benchmarks.contest import Failure, command_line


def count(program, words, directory):
    """Returns the number of instructions that callgrind counts for a command, and the command's end. The command has one
    thread on every machine, and no settings of the user."""
    if shutil.which("valgrind") is None:
        raise Failure("valgrind not found (Debian package valgrind)")
    # Without AVX2, valgrind offers an older processor, and libraries choose other code for it.
    if platform.machine() != "x86_64" or " avx2 " not in open("/proc/cpuinfo").read():
        raise Failure("counts are recorded for x86-64 with AVX2; this processor has no AVX2")
    options = ["--tool=callgrind", f"--callgrind-out-file={os.devnull}", "--log-file=counted"]
    command = ["valgrind", *options, str(program), *words]
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TMPDIR": str(directory), "FATBIN_THREADS": "1"}
    done = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=600, preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
    log = (directory / "counted").read_text()
    found = re.search(r"Collected : (\d+)", log)
    if found is None or done.returncode not in (0, 1):
        printed = (done.stdout[-2000:] + done.stderr[-2000:]).decode(errors="replace")
        raise Failure(f"{command_line(command)}: exit status {done.returncode}\n{printed}{log}")
    return int(found[1]), done
