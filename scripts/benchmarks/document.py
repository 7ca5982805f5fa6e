"""BENCHMARKS.md: the tables of a run, and what they were measured with."""

import platform
import re
import subprocess
from pathlib import Path

from benchmarks.contest import LLVM, ROOT, Table
from benchmarks.library import CUOBJDUMP

HEAD = """\
# Benchmarks

`scripts/bench --write` writes this page; do not edit it. Inputs are files of fixed seeds, and libraries that people install
([scripts/test](scripts/test) lists them). Each result is checked before it is printed: a program that writes a wrong output has no
time.

The programs of a table take turns within one run (A B C, A B C, …), so a busy moment of the machine affects all of them. The page
cache is warm, and outputs are on disk before the next program starts.

| column | meaning |
|---|---|
| median ms, range ms | wall time of the rounds |
| ratio | median of the ratios to the reference, which the first column names, in the same round |
| CPU ms | time of all processors in the last round, in user space and in the kernel |
| MiB | peak of resident memory, mapped pages of files included |
| MB read, MB written | bytes of read and write calls, `rchar` and `wchar` of `/proc/PID/io`; mapped files are read without calls |
| MB output | size of the output files |

References are a copy (`cp`), a plain read (`dd`, `cat`), a hash (`sha256sum`, `md5sum`) or the tool that fatbin replaces. *met* and
*EXCEEDED* are limits, which fail the run; a *goal* may be missed.

"""

# Reasons for rows where fatbin takes longer than another program, by a pattern of "TITLE: NAME".
REASONS = [
    (r"^(pack|extract|bundle|unbundle): (an image|a code object) of [0-9,]{1,9} bytes: (cp|an empty)",
     "Small files: the start of the program, which is larger than `cp`, is most of the time."),
    (r"^list: .*an empty", "The reference starts and ends. The start of fatbin is most of the time."),
    (r"^start-up: .*an empty", "The reference starts and ends. Most of the rest are pages with relocations, which the program copies."),
    (r"^scan: .*the same of one image", "The reference lists one image instead of 256."),
    (r"^extract: .*cp of these files", "The images are decompressed; `cp` copies the decompressed ones."),
    (r"^look: all images", "The reference hashes images that are already decompressed, and does not parse them."),
    (r"^search: .*read loop", "False magics are each verified, which a plain read does not do."),
    (r"^look inside: .*read loop", "The images are decompressed, hashed or parsed; a plain read does none of this."),
    (r"^look: kernels", "cuobjdump prints four figures of each kernel; fatbin also parameters, attributes and demangled names."),
    (r"^check: .*(read loop|scan)", "Parts of the headers of each image are read besides the listing."),
    (r"^(pack|bundle|unbundle|extract|wrap): .*cp$", "Both copy in the kernel; the difference is the spread."),
]


def document(bench, descriptions, file_system):
    """Returns the page of a run."""
    parts = [HEAD, environment(bench, file_system), goals(bench), slower(bench)]
    for name, results in bench.results.items():
        parts.append(f"## {name}\n\n{descriptions[name]}\n\n")
        for result in results:
            parts.append(table(result) if isinstance(result, Table) else f"- {result}\n")
        parts.append("\n")
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)).rstrip() + "\n"


def environment(bench, file_system):
    size = bench.fatbin.stat().st_size / 1e6
    earlier = [("earlier fatbin", f"the program of `--before`, {bench.before.stat().st_size / 1e6:.1f} MB")] if bench.before else []
    rows = [("machine", f"{processor()}, {memory()}, Linux {platform.release()}, {file_system}"),
            ("fatbin", f"{bench.description}, {size:.1f} MB, {first_line('rustc', '--version')}"),
            *earlier,
            ("LLVM", version(LLVM / "llvm-objdump")),
            ("cuobjdump", version(CUOBJDUMP)),
            ("cp, dd, cat", first_line("cp", "--version"))]
    return "## Measured with\n\n| | |\n|---|---|\n" + "".join(f"| {name} | {text} |\n" for name, text in rows) + "\n"


def processor():
    text = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    return f"{text.count('processor	:')} × {model[1] if model else platform.machine()}"


def memory():
    total = re.search(r"MemTotal: *(\d+)", Path("/proc/meminfo").read_text())
    return f"{int(total[1]) / (1 << 20):.0f} GiB of memory"


def version(tool):
    """Returns the line with the version of a tool."""
    try:
        printed = subprocess.run([tool, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "not installed"
    return next((line.strip() for line in printed.splitlines() if re.search(r"\d+\.\d+", line)), "unknown")


def first_line(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]


def goals(bench):
    lines = [f"- {title}: {text}\n" for title, text in remarks(bench) if re.match("goal|EXCEEDED", text)]
    return "## Goals, and limits that were exceeded\n\n" + "".join(lines) + "\n"


def remarks(bench):
    """Returns each remark with the title of the table before it."""
    for results in bench.results.values():
        title = ""
        for result in results:
            if isinstance(result, Table):
                title = result.title
            else:
                yield title, result


def slower(bench):
    """Lists the programs that took less time than fatbin, with the reason."""
    lines = {}
    for result in (result for results in bench.results.values() for result in results if isinstance(result, Table)):
        ours = next((row for row in result.rows if row.name.startswith("fatbin")), None)
        for row in result.rows:
            if ours is not None and not row.name.startswith("fatbin") and ours.ratio > 1.05 * row.ratio:
                reason = next((text for pattern, text in REASONS if re.search(pattern, f"{result.title}: {row.name}")), "")
                lines.setdefault(reason, []).append(f"{result.title}: {ours.ratio / row.ratio:.2f} × {row.name}")
    text = "".join(f"- {reason or 'No reason is recorded.'}\n" + "".join(f"  - {line}\n" for line in found)
                   for reason, found in lines.items())
    return f"## Where another program takes less time\n\n{text or 'Nowhere.'}\n"


def table(result):
    head = f"| {' | '.join([cell(f'ratio to {result.limit}'), *Table.HEADS])} |\n|---{'|--:' * len(Table.HEADS)}|\n"
    rows = "".join(f"| {' | '.join([cell(row.name), *row.cells])} |\n" for row in result.rows)
    return f"\n### {result.title}\n\n{head}{rows}\n"


def cell(text):
    return text.replace("|", "\\|")
