"""Device images of the trials: kernels that each store another number, written as PTX and assembled by releases of ptxas.

The specification of an image is `p80` (PTX for sm_80), `p80@8.7` (with this version of the PTX ISA), `c90a` (a cubin for sm_90a) or
`c90/12.9` (by ptxas 12.9); `c90!` has line tables. Equal images need different letters: `c90`, `c90#b`.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNTIMES = ROOT / "target/runtimes"
SOURCES = ROOT / "linker-tests/gpu"

# Releases of ptxas, as scripts/test --install fetches them.
ASSEMBLERS = {
    "11.8": RUNTIMES / "ptxas-11.8/ptxas",
    "12.0": RUNTIMES / "ptxas-12.0/ptxas",
    "12.9": RUNTIMES / "ptxas-12.9/ptxas",
    "13.0": RUNTIMES / "cuda-nvcc-13.0/nvidia/cu13/bin/ptxas",
    "13.5": RUNTIMES / "cuda-tools/ptxas",
}

# First version of the PTX ISA with a target. Source: ptxas 13.5, which rejects the targets in earlier versions.
FIRST_PTX = {
    "75": "6.3", "80": "7.0", "86": "7.1", "87": "7.4", "89": "7.8", "90": "7.8", "90a": "8.0", "100": "8.6", "100a": "8.6", "120": "8.7",
    "120a": "8.7", "100f": "8.8", "103": "8.8", "103a": "8.8", "103f": "8.8", "120f": "8.8", "121": "8.8", "121a": "8.8", "110": "9.0",
    "110a": "9.0", "110f": "9.0",
}  # fmt: skip

MARKER = 0x52454B52414D4246

# Number of OpenMP's regions on the host.
HOST = 0

KERNEL = """\
.version {version}
.target sm_{target}
.address_size 64
.visible .global .align 8 .u64 image_marker[2] = {{{marker:#x}, {number}}};
.visible .global .align 4 .u32 addend = 0;
.visible .entry answer(.param .u64 out)
{{
    .reg .b64 %address;
    .reg .b32 %number, %addend;
    .loc 1 7 0
    ld.param.u64 %address, [out];
    cvta.to.global.u64 %address, %address;
    ld.global.u32 %addend, [addend];
    add.u32 %number, %addend, {number};
    st.global.u32 [%address], %number;
    ret;
}}
.file 1 "kernel.cu"
"""

SPECIFICATION = re.compile(r"(?P<form>[cp])(?P<target>\d+[af]?)(?P<lines>!?)(?:@(?P<version>\d+\.\d+))?(?:/(?P<tool>\d+\.\d+))?(?:#[a-z])?")


class MissingTool(Exception):
    """A tool that the build of the directory needs."""


def run(directory, *command):
    """Runs a command in a directory, without its output."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")


def fetched(path):
    """Checks that a file exists that `scripts/test --install` fetches, and returns its path."""
    if not path.is_file():
        raise MissingTool(f"{path} not found (scripts/test --install fetches it)")
    return path


def default_tool(target):
    number = int(target.rstrip("af"))
    if number == 110:
        return "13.0"
    return "12.9" if number >= 100 else "12.0" if target == "90a" else "11.8"


class Images:
    """The images of all trials, each written once."""

    def __init__(self, directory):
        self.directory = directory
        self.numbers = {"host": HOST}

    def path(self, specification):
        """Writes an image, if it is new, and returns its path."""
        match = SPECIFICATION.fullmatch(specification)
        is_new = specification not in self.numbers
        number = self.numbers.setdefault(specification, 100 + len(self.numbers))
        ptx = self.directory / f"{number}.ptx"
        path = ptx if match["form"] == "p" else ptx.with_suffix(".cubin")
        if is_new:
            target = match["target"]
            version = match["version"] or FIRST_PTX[target]
            ptx.write_text(KERNEL.format(version=version, target=target, marker=MARKER, number=number))
            if path != ptx:
                assembler = fetched(ASSEMBLERS[match["tool"] or default_tool(target)])
                run(None, assembler, *["-lineinfo"] * bool(match["lines"]), f"-arch=sm_{target}", ptx, "-o", path)
        return path

    def arch(self, specification):
        return "sm_" + SPECIFICATION.fullmatch(specification)["target"]


def number_of(image):
    """Returns the number that the kernel of an image stores, read from its bytes."""
    text = re.search(rb"image_marker\[2\] = \{0x[0-9a-f]+, (\d+)\}", image)
    if text:
        return int(text[1])
    at = image.find(MARKER.to_bytes(8, "little"))
    return int.from_bytes(image[at + 8 : at + 16], "little") if at >= 0 else None
