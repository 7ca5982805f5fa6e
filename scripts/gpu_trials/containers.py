"""The fat binaries of the trials, as a table.

Columns: name, writer, compression, images in their order. The writer `fatbinary` is NVIDIA's, of CUDA 13.5; `pack` is `fatbin pack`,
and `group` is `fatbin pack --concat`. `fatbinary` has its --compress-mode in the second column.
"""

from .images import RUNTIMES, fetched, run

FATBINARY = RUNTIMES / "cuda-tools/fatbinary"

SELECT = """
    # Machine code of the same, lower and other versions.
    same-75             pack  -  c75
    same-80             pack  -  c80
    same-86             pack  -  c86
    same-89             pack  -  c89
    same-90             pack  -  c90
    same-100            pack  -  c100
    same-120            pack  -  c120
    nearest-lower       pack  -  c80 c86 c89
    nearest-reversed    pack  -  c89 c86 c80
    embedded-among-8    pack  -  c87 c80
    every-major         pack  -  c75 c80 c90 c100 c120
    other-majors-only   pack  -  c75 c80 c100 c120
    higher-only         pack  -  c121 c103
    sooner-than-9       pack  -  c75 c80 c86 c89
    one-major-later     pack  -  c100 c103

    # Of equal images the first.
    equal-cubins        pack  -  c90 c90#b c90#c
    equal-cubins-80     pack  -  c80 c80#b
    equal-ptx           pack  -  p75 p75#b p75#c
    equal-ptx-versions  pack  -  p75@6.3 p75@7.0
    equal-ptx-newer     pack  -  p75@7.0 p75@6.3
    equal-by-tools      pack  -  c90/11.8 c90/12.0 c90/12.9 c90/13.0
    equal-tools-swapped pack  -  c90/13.0 c90/12.9 c90/12.0 c90/11.8

    # Suffixes.
    suffix-a            pack  -  c90a
    suffix-a-first      pack  -  c90a c90
    suffix-a-last       pack  -  c90 c90a
    suffix-a-of-100     pack  -  c100a c103a c120a c121a
    suffix-f            pack  -  c100f c120f
    suffix-f-and-plain  pack  -  c100 c100f c120 c120f
    suffix-all          pack  -  c100 c100f c100a c120 c120f c120a
    suffix-a-ptx        pack  -  p90a
    suffix-a-ptx-plain  pack  -  p90a p90
    suffix-f-ptx        pack  -  p100f p120f
    suffix-other-a      pack  -  c90a c100a p75

    # PTX: older, equal and newer targets and versions.
    ptx-older           pack  -  p75
    ptx-80              pack  -  p80
    ptx-equal-90        pack  -  p90
    ptx-newer           pack  -  p120 p121
    ptx-several         pack  -  p75 p80 p90 p100
    ptx-several-swapped pack  -  p100 p90 p80 p75
    ptx-or-cubin        pack  -  p90 c90
    ptx-closer-than-cubin pack -  p90 p89 p86 c80
    ptx-beside-others   pack  -  c75 c120 p75
    ptx-isa-9.5         pack  -  p75@9.5
    ptx-too-new-nearer  pack  -  p75 p90@9.5
    ptx-too-new-first   pack  -  p75@9.5 p75#b
    ptx-too-new-cubin   pack  -  c90 p90@9.5

    # Compression.
    lz4-cubin           pack  lz4   c75 c80 c90 c100 c120
    lz4-ptx             pack  lz4   p75
    zstd-cubin          pack  zstd  c75 c80 c90 c100 c120
    zstd-ptx            pack  zstd  p75
    mixed-codecs        pack  mixed c75 c80 c90 c100 c120 p75
    mode-none           fatbinary none     c75 c80 c90 c100 c120 p75
    mode-speed          fatbinary speed    c75 c80 c90 c100 c120 p75
    mode-balance        fatbinary balance  c75 c80 c90 c100 c120 p75
    mode-size           fatbinary size     c75 c80 c90 c100 c120 p75
    mode-size-suffixes  fatbinary size     c90 c90a c100f c100a c120f p90
    mode-size-ptx       fatbinary size     p75 p90
    grouped             group zstd  c75 c80 c90 c100 c120 p75
    grouped-by-13.5     fatbinary concat   c75 c80 c90 c100 c120 p75

    grouped-cubins      group zstd  c75 c80 c90 c120
    grouped-ptx         group zstd  p75 p80
    grouped-and-ptx     group zstd  c75 c80 c90 c120 p75

    # The order of the entries.
    order-ptx-first     pack  -  p75 c120 c100 c90 c80 c75
    order-ptx-between   pack  -  c80 p75 c90 p80 c120
    order-descending    pack  -  c120 c100 c90 c89 c86 c80 c75
"""

# One image each, for the oldest driver: releases of PTX, and of the assembler by target.
PTX_RELEASES = "6.3 7.0 7.8 8.0 8.4 8.5 8.6 8.7 8.8 9.0 9.1 9.2 9.3 9.4 9.5".split()
ASSEMBLERS = {
    "80": "11.8 12.0 12.9 13.0 13.5", "90": "11.8 12.9 13.0 13.5", "90a": "12.0 13.5", "100": "12.9 13.0 13.5", "120": "12.9 13.5",
}  # fmt: skip
FLOORS = "\n".join([
    *(f"isa-{release} pack - p75@{release}" for release in PTX_RELEASES),
    *(f"cubin-{arch}-{tool} pack - c{arch}/{tool}" for arch, tools in ASSEMBLERS.items() for tool in tools.split()),
    "codec-lz4 pack lz4 c90/11.8", "codec-zstd pack zstd c90/11.8", "codec-zstd-ptx pack zstd p75@6.3",
    "codec-group group zstd c90/11.8 p75@6.3",
])  # fmt: skip


def rows(table):
    """Returns the rows of a table: name, writer, compression, images."""
    lines = (line.split() for line in table.splitlines() if line.strip() and not line.strip().startswith("#"))
    return [(words[0], words[1], words[2], words[3:]) for words in lines]


def write(fatbin, images, row, output):
    """Writes the fat binary of a row."""
    _, writer, codec, specifications = row
    if writer == "fatbinary":
        command = by_fatbinary(images, codec, specifications, output)
    else:
        command = by_pack(fatbin, images, row, output)
    run(None, *command)


def by_pack(fatbin, images, row, output):
    _, writer, codec, specifications = row
    command = [fatbin, "pack", "--kind", "cuda", "-o", output]
    command += ["--concat", f"--compress={codec}"] * (writer == "group")
    for index, specification in enumerate(specifications):
        each = ("none", "lz4", "zstd")[index % 3] if codec == "mixed" else codec
        compression = "" if each == "-" or writer == "group" else f",compress={each}"
        command.append(f"--image=file={images.path(specification)},arch={images.arch(specification)}{compression}")
    return command


def by_fatbinary(images, mode, specifications, output):
    command = [fetched(FATBINARY), "-64", f"--create={output}"]
    command += ["--concat"] if mode == "concat" else [f"--compress-mode={mode}"]
    for specification in specifications:
        kind = "ptx" if specification.startswith("p") else "elf"
        sm = images.arch(specification).removeprefix("sm_")
        command.append(f"--image3=kind={kind},sm={sm},file={images.path(specification)}")
    return command
