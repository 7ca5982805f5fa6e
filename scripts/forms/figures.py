"""The table of docs/guide/install.md: size, start-up and build time of each form."""

import os
import statistics
import subprocess
import tempfile
from pathlib import Path

from forms.builds import output, run
from forms.table import PROGRAMS, ROOT, archive_name

PAGE = ROOT / "docs/guide/install.md"
START, END = "<!-- scripts/release --figures -->\n", "<!-- end -->"
HEAD = ["| form | file, bytes | program, bytes | start-up | clean build, CPU | wall |", "|---|---:|---:|---:|---:|---:|"]
TURNS = 300


def write(directory, source, built):
    """Writes the rows of the files in a directory; those of other forms stay."""
    before, rest = PAGE.read_text().split(START)
    rows = {row.split("|")[1].strip(): row for row in rest.split(END, 1)[0].splitlines()[2:]}
    for form, build in built.items():
        if form in PROGRAMS:
            packed, program = (directory / archive_name(source.version, form)).stat().st_size, f"{build.path.stat().st_size:,}"
        else:
            packed, program = build.path.stat().st_size, "-"
        ratio = f"{start_up(build.path):.2f}" if form in PROGRAMS and PROGRAMS[form].runner == () else "-"
        rows[f"`{form}`"] = f"| `{form}` | {packed:,} | {program} | {ratio} | {build.times.cpu:.0f} s | {build.times.wall:.0f} s |"
    for path in sorted([*directory.glob("*.deb"), *directory.glob("*-oci.tar")]):
        rows[f"`{path.name}`"] = f"| `{path.name}` | {path.stat().st_size:,} | | | | |"
    table = "\n".join([*HEAD, *rows.values()])
    print(f"\n{table}")
    PAGE.write_text(f"{before}{START}{table}\n{END}{rest.split(END, 1)[1]}")


def start_up(program):
    """Returns the time of `--version` over that of an empty static program in C: the ratio of the medians, in turns."""
    with tempfile.TemporaryDirectory() as temporary:
        empty, launcher = Path(temporary) / "empty", Path(temporary) / "measure"
        source = Path(temporary) / "empty.c"
        source.write_text("int main(void) { return 0; }\n")
        run("cc", "-O1", "-static", "-o", empty, source)
        run("cc", "-O1", "-o", launcher, ROOT / "scripts/lib/measure.c")
        walls = {empty: [], program: []}
        for _ in range(TURNS):
            for measured in walls:
                walls[measured].append(wall(launcher, measured))
        return statistics.median(walls[program]) / statistics.median(walls[empty])


def wall(launcher, program):
    """Returns the seconds that a program takes for --version."""
    read, write_end = os.pipe()
    subprocess.run([launcher, str(write_end), program, "--version"], stdout=subprocess.DEVNULL, check=True,
                   pass_fds=[write_end])
    os.close(write_end)
    with os.fdopen(read) as report:
        return float(report.read().split()[0])
