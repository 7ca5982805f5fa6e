"""Builds of the program with cargo, and what they were built from."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from forms.table import NATIVE, PROGRAMS, ROOT, Failure

# The Python package ziglang.
ZIG = ROOT / "target/runtimes/zig/ziglang/zig"
# Programs that call it as build scripts expect.
WRAPPERS = ROOT / "target/cross"


@dataclass
class Source:
    """The commit that is built."""
    version: str
    commit: str
    # Whether tracked files differ from the commit.
    is_changed: bool
    # Time of the commit, or SOURCE_DATE_EPOCH; the time of all files in archives.
    epoch: int

    @staticmethod
    def read():
        manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
        epoch = os.environ.get("SOURCE_DATE_EPOCH") or output("git", "log", "-1", "--format=%ct").strip()
        return Source(manifest["workspace"]["package"]["version"], output("git", "rev-parse", "HEAD").strip(),
                      bool(output("git", "status", "--porcelain", "--untracked-files=no")), int(epoch))


def build(name, profile, target_directory):
    """Builds a program, and returns its path."""
    program = PROGRAMS[name]
    if profile == "dev" and name == NATIVE:
        return link(program, target_directory)
    run("cargo", "build", "--locked", "--quiet", "--bin", "fatbin", "--profile", profile, "--target", program.target,
        "--target-dir", target_directory, env=environment(program, profile))
    return target_directory / program.target / ("debug" if profile == "dev" else profile) / f"fatbin{program.suffix}"


# Crates that the main file of the program names.
CRATES = ["fatbin_cli", "fatbin_core"]


def link(program, target_directory):
    """Links the crates of the test build as a release is linked, and returns the path of the program. Only the main file is
    compiled, so paths of this machine are in the program."""
    # The unit of a test selects the features of the test build.
    build = ["cargo", "build", "--locked", "--quiet", "--workspace", "--lib", "--test", "tidy", "--message-format=json"]
    messages = [json.loads(line) for line in output(*build, "--target-dir", target_directory).splitlines()]
    crates = {message["target"]["name"]: message["filenames"][0] for message in messages
              if message["reason"] == "compiler-artifact" and "lib" in message["target"]["crate_types"]}
    libraries = [path for message in messages if message["reason"] == "build-script-executed"
                 for path in message["linked_paths"]]
    options = [word for crate in CRATES for word in ["--extern", f"{crate}={crates[crate]}"]]
    options += [word for path in [f"dependency={target_directory / 'debug/deps'}", *libraries] for word in ["-L", path]]
    result = target_directory / program.target / "debug/fatbin"
    result.parent.mkdir(parents=True, exist_ok=True)
    run("rustc", "--edition=2024", "--crate-name=fatbin", ROOT / "src/cli/main.rs", *options, *program.flags, *DEVELOPMENT,
        f"-Clinker={program.cc}", "-o", result)
    return result


# A quick build, without what takes most of the space. Flags, because a separate profile would share no build script.
DEVELOPMENT = ["-Cdebuginfo=0", "-Cstrip=symbols"]


def environment(program, profile):
    """Returns the variables for cargo. Paths of this machine are replaced in everything that the program contains."""
    variable = program.target.replace("-", "_")
    # The linker as a flag: cargo would compile the crates of build scripts again for another value of its variable.
    flags = [*program.flags, f"-Clinker={c_compiler(program)}", *(DEVELOPMENT if profile == "dev" else [])]
    if program.cc != "zig":
        required(program.cc)
    return {**os.environ, **remapping(flags, f"_{variable}"), f"CC_{variable}": c_compiler(program),
            f"AR_{variable}": archiver(program)}


def remapping(flags=(), suffix=""):
    """Returns the variables that replace paths of this machine, which may have spaces."""
    prefixes = [(ROOT, "/fatbin"), (os.environ.get("CARGO_HOME", Path.home() / ".cargo"), "/cargo")]
    flags = [*flags, *(f"--remap-path-prefix={path}={name}" for path, name in prefixes)]
    return {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags), "CC_SHELL_ESCAPED_FLAGS": "1",
            f"CFLAGS{suffix}": shlex.join(f"-ffile-prefix-map={path}={name}" for path, name in prefixes)}


def c_compiler(program):
    return zig_tool("cc", program.zig) if program.cc == "zig" else program.cc


def archiver(program):
    return zig_tool("ar") if program.cc == "zig" else "ar"


def zig_tool(tool, target=""):
    """Returns a program that runs a tool of zig. The names of targets are zig's, not those that build scripts pass, and so is the
    library that unwinds."""
    if not ZIG.exists():
        raise Failure(f"{ZIG} is missing: run scripts/test --install-release")
    WRAPPERS.mkdir(parents=True, exist_ok=True)
    script = WRAPPERS / f"{tool}-{target}" if target else WRAPPERS / tool
    options = f" -target {target} -fno-sanitize=undefined" if target else ""
    if "macos" in target:
        options += " " + shlex.quote(f"-L{ROOT / 'packaging/macos'}")
    script.write_text(f"""#!/bin/bash
arguments=()
for argument; do
    case $argument in
    --target=*) ;;
    -lgcc_s) arguments+=(-lunwind) ;;
    *) arguments+=("$argument") ;;
    esac
done
exec {shlex.quote(str(ZIG))} {tool}{options} "${{arguments[@]}}"
""")
    script.chmod(0o755)
    return str(script)


def required(tool):
    path = shutil.which(tool)
    if path is None:
        raise Failure(f"{tool} not found: run scripts/test --install-release")
    return path


def toolchain():
    """Returns the releases of the compilers and linkers that took part."""
    return {"rustc": output("rustc", "--version").strip(), "cargo": output("cargo", "--version").strip()}


def output(*command, **options):
    """Runs a command in the checkout, and returns what it prints."""
    options = {"cwd": ROOT, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run([str(word) for word in command], **options)
    if done.returncode != 0:
        errors = (done.stderr or b"").decode(errors="replace")
        raise Failure(f"{' '.join(map(str, command))}: status {done.returncode}: {errors}")
    return (done.stdout or b"").decode()


def run(*command, **options):
    """Runs a command in the checkout, with the output of this program."""
    sys.stdout.flush()
    output(*command, stdout=None, stderr=None, **options)
