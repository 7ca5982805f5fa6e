"""The wheel for Python: the module of bindings/python, and the program for Linux as its command."""

import base64
import csv
import hashlib
import io
import os
import re
import sys
import tempfile
import zipfile
from pathlib import Path

from forms.builds import ZIG, c_flags, encoded, output, run
from forms.dependencies import notices
from forms.table import NATIVE, PROGRAMS, ROOT, Failure

PACKAGE = ROOT / "bindings/python"
MATURIN = ROOT / "target/runtimes/maturin/maturin"

# Glibc of the oldest systems that the module is for. Zig links against its symbols.
POLICY = "manylinux_2_17"
TARGET = "x86_64-unknown-linux-gnu"


def build(source, program, profile, target_directory):
    """Returns the wheel with a program, packed twice: its name and its bytes."""
    if not MATURIN.exists():
        raise Failure(f"{MATURIN} is missing: run scripts/test --install-release")
    # A quick build shares what the tests compile, and has the tag of this machine.
    options = [] if profile == "dev" else ["--release", "--zig", "--compatibility", POLICY]
    with tempfile.TemporaryDirectory() as temporary:
        licenses = Path(temporary) / "licenses"
        licenses.mkdir()
        (licenses / "THIRD-PARTY.txt").write_text(notices(PROGRAMS[NATIVE].target))
        (licenses / "THIRD-PARTY-MODULE.txt").write_text(notices(TARGET, PACKAGE))
        variables = environment(source, profile, licenses, target_directory)
        files = []
        for attempt in ["one", "other"]:
            directory = Path(temporary) / attempt
            run(ROOT / "scripts/wheel", program, directory, "--quiet", *options, env=variables)
            [path] = directory.iterdir()
            files.append((path.name, path.read_bytes()))
    if files[0] != files[1]:
        raise Failure("wheel: two wheels of one build differ")
    return files[0]


def environment(source, profile, licenses, target_directory):
    """Returns the variables for scripts/wheel. Paths of this machine are replaced in everything that the module contains."""
    result = {**os.environ, "MATURIN": str(MATURIN), "LICENSES": str(licenses), "SOURCE_DATE_EPOCH": str(source.epoch),
              "CARGO_TARGET_DIR": str(target_directory)}
    if profile != "dev":
        prefixes = [(ROOT, "/fatbin"), (os.environ.get("CARGO_HOME", Path.home() / ".cargo"), "/cargo")]
        result["PATH"] = f"{ZIG.parent}{os.pathsep}{result['PATH']}"
        result["CARGO_ENCODED_RUSTFLAGS"] = encoded(f"--remap-path-prefix={path}={name}" for path, name in prefixes)
        result |= {"CFLAGS": c_flags(prefixes), "CC_SHELL_ESCAPED_FLAGS": "1"}
    return result


def check(name, data, version, program, is_published):
    """Checks a wheel, and returns its description. Its command is `program`."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        files = {entry.filename: archive.read(entry) for entry in archive.infolist()}
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    information, script = f"fatbin-{version}.dist-info", f"fatbin-{version}.data/scripts/fatbin"
    check_record(name, files, information)
    tags = set(re.findall(r"^Tag: (.+)$", files[f"{information}/WHEEL"].decode(), re.MULTILINE))
    python, abi, platforms = name.removesuffix(".whl").split("-")[2:]
    if tags != {f"{python}-{abi}-{platform}" for platform in platforms.split(".")}:
        raise Failure(f"{name}: tags {sorted(tags)}")
    if files[script] != program or modes[script] & 0o111 != 0o111:
        raise Failure(f"{name}: {script} is not the program of {NATIVE}")
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt", "THIRD-PARTY-MODULE.txt"]:
        if f"{information}/licenses/{file}" not in files:
            raise Failure(f"{name} lacks {file}")
    module = files["fatbin/_fatbin.abi3.so"]
    for text in [str(ROOT), str(Path.home() / ".cargo")] if is_published else []:
        if found := [file for file, content in files.items() if text.encode() in content]:
            raise Failure(f"{name}: {', '.join(found)} contains {text}")
    with tempfile.TemporaryDirectory() as temporary:
        for path, content in files.items():
            target = Path(temporary) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        newest = newest_glibc(Path(temporary) / "fatbin/_fatbin.abi3.so")
        oldest = min(tuple(map(int, pair)) for pair in re.findall(r"manylinux_(\d+)_(\d+)_", platforms))
        if newest > oldest:
            raise Failure(f"{name}: the module needs glibc {newest}")
        code = "import fatbin; print(fatbin.__version__)"
        found = output(sys.executable, "-c", code, env={**os.environ, "PYTHONPATH": temporary}).strip()
        if found != version:
            raise Failure(f"{name}: version {found}")
    return f"{len(data):,} bytes, module {len(module):,} bytes, glibc {newest[0]}.{newest[1]}, imported, reproducible archive"


def check_record(name, files, information):
    """Compares all files with the hashes in the wheel."""
    record = f"{information}/RECORD"
    rows = {row[0]: row[1:] for row in csv.reader(files[record].decode().splitlines())}
    for file, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        if file != record and rows.get(file) != [f"sha256={digest}", str(len(content))]:
            raise Failure(f"{name}: RECORD has no entry or another hash of {file}")


def newest_glibc(library):
    """Returns the newest release of glibc whose symbols a library needs."""
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output("readelf", "--version-info", "--wide", library))
    return max(tuple(map(int, pair)) for pair in versions)
