"""Programs of several objects (nvcc -rdc=true), which the driver links again where it has no linked cubin for the device.

The targets of an object are written `s80` (relocatable cubin for sm_80), `p80` (PTX) and `l80` (LTO-IR).
"""

from .images import RUNTIMES, SOURCES, fetched

TOOLKITS = {"13.0": RUNTIMES / "cuda-nvcc-13.0/nvidia/cu13", "13.5": RUNTIMES / "cuda-nvcc/nvidia/cu13"}
RUNTIME = RUNTIMES / "cuda-13/nvidia/cu13/lib/libcudart.so.13"

# Columns: name, release of nvcc, targets of the device link, then an object in each column with its targets. Only the last
# release of nvcc writes PTX that is too new for the drivers before it.
PROGRAMS = """
    ptx-in-all           13.0  s80      linked:s80+p80   part:s80+p80
    ptx-only             13.0  p80      linked:p80       part:p80
    ptx-in-all-but-one   13.0  s80      linked:s80+p80   part:s80
    ptx-in-none          13.0  s80      linked:s80       part:s80
    ptx-and-cubin        13.0  s80      linked:s80+p80   part:s80+s90
    cubin-and-ptx        13.0  s80      linked:s80+s90   part:s80+p80
    cubins-not-linked    13.0  s80      linked:s80+s90   part:s80+s90
    linked-90            13.0  s90      linked:s90       part:s90
    linked-80-90         13.0  s80+s90  linked:s80+s90   part:s80+s90
    ptx-too-new-target   13.0  s80      linked:s80+p120  part:s80+p80
    ptx-with-suffix      13.0  s80      linked:s80+p90a  part:s80+p90
    lto-ir               13.0  s80      linked:s80+l80   part:s80+l80
    unused-without-code  13.0  s80      linked:s80+p80   part:s80+p80  unused:s80
    unused-with-ptx      13.0  s80      linked:s80+p80   part:s80+p80  unused:s80+p80
    ptx-too-new          13.5  s80      linked:s80+p80   part:s80+p80
"""

# Programs without the relocatable code that linking has left in them.
PRUNED = ["linked-90", "ptx-in-all"]

# The driver skips objects without code for the device, and links the others if no symbol is missing. `select` does not resolve
# symbols: it answers that the device is not served.
WITHOUT_PREDICTION = ["unused-without-code"]

FILES = {"linked": "linked.cu", "part": "linked_part.cu", "unused": "linked_unused.cu"}


def trials(folder, temporary):
    """Yields the trials. An object is compiled once."""
    objects = {}
    for line in PROGRAMS.strip().splitlines():
        name, release, targets, *words = line.split()
        nvcc = fetched(TOOLKITS[release] / "bin/nvcc")
        library = f"-L{TOOLKITS[release]}/lib"
        for word in words:
            if (release, word) not in objects:
                file, codes = word.split(":")
                output = objects[release, word] = temporary / f"{release}-{word.replace(':', '-')}.o"
                folder.run(nvcc, "-w", "-std=c++17", "-dc", *options(codes), SOURCES / FILES[file], "-o", output)
        inputs = [objects[release, word] for word in words]
        linked = temporary / "linked.o"
        output = f"bin/device-link-{name}"
        folder.run(nvcc, "-w", "-dlink", *options(targets), *inputs, library, "-lcudadevrt", "-o", linked)
        run_path = "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib"
        folder.run("c++", *inputs, linked, library, "-lcudadevrt", RUNTIME, run_path, "-o", output)
        yield trial(name, output)
        if name in PRUNED:
            folder.run(folder.fatbin, "prune", "--quiet", "--relocatable", output, "-o", f"{output}-pruned")
            yield trial(f"{name}-pruned", f"{output}-pruned")


def trial(name, output):
    expects = "unknown" if name in WITHOUT_PREDICTION else "success"
    return {"name": f"device-link/{name}", "program": [output], "file": output, "expects": expects, "is_gpu_only": True}


def options(targets):
    codes = {"s": "sm", "p": "compute", "l": "lto"}
    words = targets.split("+")
    return [f"-gencode=arch=compute_{word[1:]},code={codes[word[0]]}_{word[1:]}" for word in words]
