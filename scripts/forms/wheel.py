"""The wheel for Python: the module of bindings/python, and the program for Linux as its command."""

import io
import os
import re
import sys
import tempfile
import zipfile
from pathlib import Path

from forms.builds import ZIG, output, remapping, run
from forms.dependencies import notices
from forms.table import NATIVE, PROGRAMS, ROOT, Failure

PACKAGE = ROOT / "bindings/python"
MATURIN = ROOT / "target/runtimes/maturin/maturin"

# Glibc of the oldest systems that the module is for. Zig links against its symbols.
POLICY = "manylinux_2_17"
TARGET = "x86_64-unknown-linux-gnu"


def build(source, program, profile, target_directory):
    if not MATURIN.exists():
        raise Failure(f"{MATURIN} is missing: run scripts/test --install-release")
    # A quick build shares what the tests compile, and has the tag of this machine.
    options = ["--profile", "dev"] if profile == "dev" else ["--release", "--zig", "--compatibility", POLICY]
    with tempfile.TemporaryDirectory() as temporary:
        licenses = Path(temporary) / "licenses"
        licenses.mkdir()
        (licenses / "THIRD-PARTY.txt").write_text(notices(PROGRAMS[NATIVE].target))
        (licenses / "THIRD-PARTY-MODULE.txt").write_text(notices(TARGET, PACKAGE))
        variables = environment(source, profile, licenses, target_directory)
        built = Path(temporary) / "built"
        run(ROOT / "scripts/wheel", program, built, "--quiet", *options, env=variables)
        [path] = built.iterdir()
        return path.name, path.read_bytes()


def environment(source, profile, licenses, target_directory):
    """Returns the variables for scripts/wheel. Paths of this machine are replaced in everything that the module contains."""
    result = {**os.environ, "MATURIN": str(MATURIN), "LICENSES": str(licenses), "SOURCE_DATE_EPOCH": str(source.epoch),
              "CARGO_TARGET_DIR": str(target_directory)}
    if profile != "dev":
        result |= {**remapping(), "PATH": f"{ZIG.parent}{os.pathsep}{result['PATH']}"}
    return result


def check(name, data, version, program, is_published):
    """Checks a wheel, and returns its description. Its command is `program`. pip compares the hashes in a wheel, and the trial
    `python/wheel` installs one."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
        information, script = f"fatbin-{version}.dist-info", f"fatbin-{version}.data/scripts/fatbin"
        if files[script] != program or modes[script] & 0o111 != 0o111:
            raise Failure(f"{name}: {script} is not the program of {NATIVE}")
        for file in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt", "THIRD-PARTY-MODULE.txt"]:
            if f"{information}/licenses/{file}" not in files:
                raise Failure(f"{name} lacks {file}")
        if is_published:
            without_paths(name, files)
        with tempfile.TemporaryDirectory() as temporary:
            archive.extractall(temporary)
            newest = newest_glibc(Path(temporary) / "fatbin/_fatbin.abi3.so")
            code = "import fatbin; print(fatbin.__version__)"
            found = output(sys.executable, "-c", code, env={**os.environ, "PYTHONPATH": temporary}).strip()
    tags = re.findall(r"manylinux_(\d+)_(\d+)_", name)
    if f"fatbin-{version}-cp311-abi3-" not in name or not tags:
        raise Failure(f"{name}: not for every release of Python since 3.11, or for one Linux only")
    if newest > min(tuple(map(int, pair)) for pair in tags):
        raise Failure(f"{name}: the module needs glibc {newest}")
    if found != version:
        raise Failure(f"{name}: version {found}")
    return f"glibc {newest[0]}.{newest[1]}, imported"


def without_paths(name, files):
    """Checks that no file of an archive contains a path of this machine."""
    for text in [str(ROOT), str(Path.home() / ".cargo")]:
        if found := [file for file, content in files.items() if text.encode() in content]:
            raise Failure(f"{name}: {', '.join(found)} contains {text}")


def newest_glibc(library):
    """Returns the newest release of glibc whose symbols a library needs."""
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output("readelf", "--version-info", "--wide", library))
    return max(tuple(map(int, pair)) for pair in versions)
