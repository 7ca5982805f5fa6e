"""A program whose container was moved while its wrapper still points to the old place: patchelf moves sections to make room."""

import shutil
import subprocess

from .images import RUNTIMES, MissingTool
from .programs import RUN_PATH

PATCHELF = RUNTIMES / "patchelf/patchelf"

# Places the container among the first sections, which patchelf moves.
SCRIPT = "SECTIONS { .nv_fatbin : { *(.nv_fatbin) } } INSERT AFTER .note.gnu.build-id;"


def build(programs):
    """Yields the trials."""
    if not PATCHELF.is_file():
        raise MissingTool("patchelf not found (scripts/test --install fetches it)")
    script = programs.directory / "lib/early.ld"
    script.write_text(SCRIPT + "\n")
    trial = programs.wrapped("moved/healthy", "llvm22", "13", programs.image_options(), [f"-Wl,-T,{script}"])
    script.unlink()
    yield trial
    healthy = programs.directory / trial["file"]
    for name, commands in {"patchelf": [], "patchelf-strip": [["strip"]]}.items():
        output = healthy.with_name(f"moved-{name}")
        shutil.copy2(healthy, output)
        for command in [[PATCHELF, "--set-rpath", f"{RUN_PATH}:" + "/none:" * 1000], *commands]:
            subprocess.run([*command, output], check=True)
        file = str(output.relative_to(programs.directory))
        yield {**trial, "name": f"moved/{name}", "program": [file], "file": file, "is_gpu_only": True}
