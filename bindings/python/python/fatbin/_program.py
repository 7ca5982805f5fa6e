"""The program ``fatbin``, which the wheel installs next to the interpreter."""

import os
import sys
import sysconfig
from pathlib import Path

__all__ = ["main", "path"]


def path() -> Path:
    """Returns the path of the program."""
    name = "fatbin" + (sysconfig.get_config_var("EXE") or "")
    directories = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")),
        # pip install --target
        str(Path(__file__).parent.parent / "bin"),
    ]
    for directory in directories:
        program = Path(directory) / name
        if program.is_file():
            return program
    raise FileNotFoundError(f"{name}: not found in {', '.join(directories)}; reinstall the wheel")


def main() -> int:
    """Runs the program with the arguments of this process, and returns its exit status."""
    try:
        program = os.fspath(path())
    except FileNotFoundError as error:
        print(f"fatbin: {error}", file=sys.stderr)
        return 2
    arguments = [program, *sys.argv[1:]]
    if sys.platform == "win32":
        import subprocess

        return subprocess.run(arguments).returncode
    os.execv(program, arguments)
