"""Programs of other systems: what they load, and how they run here."""

import os
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

from forms.builds import output, required
from forms.table import Failure

# Libraries that every Windows has.
WINDOWS = re.compile(r"(api-ms-win-.*|kernel32|ntdll|ws2_32|userenv|msvcrt|bcryptprimitives|advapi32|shell32|ole32)\.dll", re.I)

# Commands of Mach-O files. Source: mach-o/loader.h.
LC_LOAD_DYLIB, LC_CODE_SIGNATURE = 0xC, 0x1D

# Wine 8 lacks this library. Rust's standard library takes random numbers from it.
RANDOM_NUMBERS = """
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length) { return SystemFunction036(buffer, length); }
"""


def linkage(program, form):
    """Checks that a program needs only libraries of the system, and returns which."""
    if form.endswith("-linux"):
        if "NEEDED" in output("readelf", "--dynamic", program) or "INTERP" in output("readelf", "--program-headers", program):
            raise Failure(f"{form}: not linked statically")
        return "static"
    if form.endswith("-windows"):
        libraries = re.findall(r"DLL Name: (\S+)", output("x86_64-w64-mingw32-objdump", "--private-headers", program))
        if others := [library for library in libraries if not WINDOWS.fullmatch(library)]:
            raise Failure(f"{form}: loads {', '.join(others)}")
        return f"loads {', '.join(sorted(libraries))}"
    libraries, is_signed = mach_o(program.read_bytes())
    if others := [library for library in libraries if not library.startswith(("/usr/lib/", "/System/"))]:
        raise Failure(f"{form}: loads {', '.join(others)}")
    if not is_signed:
        raise Failure(f"{form}: macOS on AArch64 runs only signed programs, and this has no signature")
    return f"loads {', '.join(libraries)}"


def mach_o(data):
    """Returns the libraries that a program for macOS loads, and whether it has a signature."""
    magic, _, _, _, commands = struct.unpack_from("<5I", data)
    if magic != 0xFEEDFACF:
        raise Failure(f"magic {magic:#x} is not for a 64-bit Mach-O file")
    offset, libraries, is_signed = 32, [], False
    for _ in range(commands):
        command, size = struct.unpack_from("<2I", data, offset)
        if command == LC_LOAD_DYLIB:
            name = offset + struct.unpack_from("<I", data, offset + 8)[0]
            libraries.append(data[name:offset + size].split(b"\0")[0].decode())
        is_signed |= command == LC_CODE_SIGNATURE
        offset += size
    return libraries, is_signed


def version(runner, program):
    """Returns the line that a program prints for --version."""
    if runner == ("wine",):
        return version_under_wine(program)
    return output(*map(required, runner), program, "--version").strip()


def version_under_wine(program):
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        copy = shutil.copy(program, directory)
        source, library = directory / "random.c", directory / "bcryptprimitives.dll"
        source.write_text(RANDOM_NUMBERS)
        output("x86_64-w64-mingw32-gcc", "-shared", "-O1", source, "-o", library, "-ladvapi32")
        prefix = os.environ.get("WINEPREFIX", directory / "prefix")
        environment = {**os.environ, "WINEPREFIX": str(prefix), "WINEDEBUG": "-all"}
        printed = directory / "printed"
        # Services of Wine outlive the program and keep pipes open, but not files.
        for command in [[required("wineboot"), "--init"], ["wine", copy, "--version"]]:
            with open(printed, "wb") as file:
                status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=environment).returncode
            if status != 0:
                raise Failure(f"{' '.join(command)}: status {status}: {printed.read_text(errors='replace')}")
        subprocess.run(["wineserver", "-k"], env=environment, stderr=subprocess.DEVNULL)
        return printed.read_text().strip()
