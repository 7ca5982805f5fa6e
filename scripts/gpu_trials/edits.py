"""Results of the commands that change files: they run as before, or as `select` predicts for fewer images."""

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


def edit(folder, replacement, path, is_program=False):
    """Yields the names of the edits and their outputs, next to the input."""
    for name, arguments in EDITS.items():
        if is_program and name in FILES_ONLY:
            continue
        output = f"{path}.{name}"
        command = [folder.fatbin, *(argument.replace("{replacement}", str(replacement)) for argument in arguments)]
        folder.run(*command, path, "-o", output)
        yield name, output
    parts, output = f"{path}.parts", f"{path}.joined"
    folder.run(folder.fatbin, "split", path, "-o", parts)
    folder.run(folder.fatbin, "join", parts, "-o", output)
    folder.run("rm", "-r", parts)
    yield "split-join", output
