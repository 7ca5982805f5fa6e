"""Results of the commands that change files: they run as before, or as `select` predicts for fewer images."""

import subprocess

# Images of the edited files, some with line tables.
IMAGES = "c75 c80! c90! c100 c120 p75 p90".split()

# Name, and arguments before the input.
EDITS = {
    "prune-devices": ["prune", "--device", "sm_80,sm_90"],
    "prune-drop": ["prune", "--drop", "sm_90,sm_120"],
    "prune-machine-code": ["prune", "--keep", "compute_75"],
    "transcode-none": ["transcode", "--to", "none"],
    "transcode-lz4": ["transcode", "--to", "lz4"],
    "transcode-zstd": ["transcode", "--to", "zstd"],
    "replace": ["replace", "--allow-other-target", "--image", "arch:sm_90,image:elf={replacement}"],
    "strip": ["strip", "--device-debug"],
}


# Containers in linked programs must not become larger.
FILES_ONLY = ["transcode-none"]


def edit(fatbin, directory, replacement, path, is_program=False):
    """Yields the names of the edits and their outputs, next to the input."""
    for name, arguments in EDITS.items():
        if is_program and name in FILES_ONLY:
            continue
        output = f"{path}.{name}"
        command = [fatbin, *(argument.replace("{replacement}", str(replacement)) for argument in arguments)]
        run([*command, path, "-o", output], directory)
        yield name, output
    parts, output = f"{path}.parts", f"{path}.joined"
    run([fatbin, "split", path, "-o", parts], directory)
    run([fatbin, "join", parts, "-o", output], directory)
    run(["rm", "-r", parts], directory)
    yield "split-join", output


def run(command, directory):
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(str(word) for word in command)}: {done.stderr}")
