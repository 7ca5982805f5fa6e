"""Inputs that ask for far more work or memory than their size suggests. At these sizes, an unbounded reader takes
seconds or gigabytes. Unit tests have those of names, patterns, offload binaries and single streams."""

import bz2
import lzma
import sqlite3

from benchmarks.contest import ROOT
from trials import layout
from trials.layout import AMD, GFX90A, HOST, NVIDIA, X86_64, Section, pack, symbol
from trials.limits import Tally, run, violations


def run_bomb(setting, name, directory):
    command, make = BOMBS[name]
    path = directory / name
    path.write_bytes(make())
    command = command.replace("POLICY", str(setting.scratch / "seeds/policy"))
    outcome = run([setting.program, *command.split(), path])
    tally = Tally(inputs=1, runs=1)
    reasons = violations(outcome, directory)
    if outcome.status == 2 and not outcome.errors:
        reasons.append("exit status 2 without an error")
    if reasons:
        tally.fail(name, setting.keep("bombs", path, outcome.command), reasons)
    return tally


def cubin():
    return (ROOT / "fixtures/answer-sm_90.cubin").read_bytes()


def nested(wrap, content, depth):
    for _ in range(depth):
        content = wrap(content)
    return content


def debug_sections():
    size = 400 << 20
    shared = pack("IIQQ", 1, 0, size, 1) + b"\x78\xda" + layout.deflated(size)
    names = [b"abbrev", b"addr", b"info", b"line", b"line_str", b"str", b"str_offsets", b"ranges", b"rnglists"]
    return layout.elf(AMD, [Section(b".debug_" + name, shared, flags=0x800, shares=bool(number))
                            for number, name in enumerate(names)])


def streams_in_streams_zlib():
    header = layout.ccob_header(1, 0, 0xFFFFFFFF, 0) + b"\x78\x01"
    stored = b"\0" + pack("HH", len(header), len(header) ^ 0xFFFF)
    return (header + stored) * 9_999 + header + layout.deflated(1 << 28) + bytes(4)


def streams_in_streams_zstd():
    header = layout.ccob_header(1, 1, 0x7FFFFFFF, 0) + b"\x28\xb5\x2f\xfd\0\x50"
    return (header + (len(header) << 3).to_bytes(3, "little")) * 19_999 + header + bytes(3_000_000)


def bundles_in_bundles():
    content = layout.ccob(layout.bundle([(HOST, b""), (GFX90A, bytes(1 << 20))]), method="zlib")
    targets = [b"hip-amdgcn-amd-amdhsa--gfx%x" % (0x1000 + number) for number in range(300)]
    return nested(lambda data: layout.ccob(layout.bundle([(target, data) for target in targets]), method="zlib"), content, 2)


def amd_notes():
    metadata = b"\x81\xaeamdhsa.kernels\xdd" + (10_000).to_bytes(4, "big") + b"\x81\xa5.name\xa0" * 10_000
    shared = layout.note(b"AMDGPU\0", 32, metadata)
    return layout.elf(AMD, [Section(b".note", shared, 7, 2, alignment=4, shares=bool(number)) for number in range(5000)])


def cubin_parameters():
    parameter = b"\x04\x17\x0c\0" + pack("III", 0, 0, 0x10 << 14)
    return layout.elf(NVIDIA, [
        Section(b".text.k", bytes(16), 1, 6), Section(b".strtab", b"\0k\0", 3),
        Section(b".symtab", symbol(0, 0, 0, 0, 0, 0) + symbol(1, 0x12, 0x10, 1, 0, 16) * 20_000, 2, 0, 2, 1, 24),
        Section(b".nv.info.k", parameter * 6500, 0x70000000)])


# A symbol that another file defines.
SYMBOL = symbol(0, 0, 0, 0, 0, 0) + symbol(1, 0x10, 0, 0, 0, 0)
STRINGS = Section(b".strtab", b"\0x\0", 3)


def wrappers():
    relocations = b"".join(pack("QQq", 24 * number + 8, (1 << 32) | 1, 0) for number in range(60_000))
    registering = Section(b".nvFatBinSegment", pack("IIQQ", 0x466243B1, 1, 0, 0) * 60_000, 1, 2)
    return layout.elf(X86_64, [registering, STRINGS, Section(b".symtab", SYMBOL, 2, 0, 2, 1, 24),
                               Section(b".rela.nvFatBinSegment", relocations, 4, 0, 3, 1, 24)])


def relocations():
    shared = pack("QQq", 8, (1 << 32) | 1, 0) * 40_000
    sections = [Section(b".rela", shared, 4, 0, 20_003, 20_001, 24, shares=bool(number)) for number in range(20_000)]
    return layout.elf(X86_64, [*sections, Section(b".nvFatBinSegment", bytes(24), 1, 2), STRINGS,
                               Section(b".symtab", SYMBOL, 2, 0, 20_002, 1, 24)])


def archive_names():
    names = layout.aligned(b"x" * 1_000_000 + b"/\n", 2)
    return b"!<arch>\n" + layout.ar_member(b"//", len(names), names) + layout.ar_member(b"/0", 0) * 20_000


def offload_headers():
    count, size, strings = 4000, 1_000_000, 8064
    entry = 32 * count
    pairs = entry + 40
    text = pairs + 16 * strings
    end = text + size + 1
    headers = b"".join(b"\x10\xff\x10\xad" + pack("IQQQ", 1, end - 32 * number, entry - 32 * number, 40)
                       for number in range(count))
    return (headers + pack("HHIQQQQ", 1, 2, 0, pairs, 64, 0, 1 << 40) + pack("QQ", text, text) * strings
            + b"a" * size + b"\0")


def cuda_headers():
    count = 20_000
    tail = layout.fatbin_entry() * 60_000 + b"\xff" * 64
    size = 80 * count + len(tail)
    headers = [layout.fatbin([], size - 80 * number - 16) + layout.fatbin_entry(263, 16 if number < count - 1 else 0)
               for number in range(count)]
    return b"".join(headers) + tail


def embedded_elf():
    count, sections = 40_000, 60_000
    headers = b"".join(b"\x7fELF\x02\x01\x01\x41\x08" + bytes(7)
                       + pack("HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64 * (count - number), 0x06005A04, 64, 0, 0, 64, sections, 1)
                       for number in range(count))
    return bytes(8) + headers + bytes(64) + pack("IIQQQQIIQQ", 0, 3, 0, 0, 0, 0, 0, 0, 1, 0) + bytes(64 * sections)


def kernel_store():
    blob, store = bz2.compress(bytes(50_000_000)), sqlite3.connect(":memory:")
    store.execute("CREATE TABLE kern_db (id INTEGER PRIMARY KEY, kernel_name TEXT, kernel_args TEXT, kernel_blob BLOB, "
                  "kernel_hash TEXT, uncompressed_size INT)")
    store.executemany("INSERT INTO kern_db VALUES (?, 'k', '', ?, '', 50000000)", [(row, blob) for row in range(3000)])
    return store.serialize()


# Commands and functions by the name of the file.
BOMBS = {
    # 88 bytes that state 4 GiB.
    "lz4-88-bytes.fatbin": ("verify", lambda: layout.fatbin([
        layout.fatbin_entry(2, 8, 8, layout.FATBIN_FLAGS | layout.LZ4, 0xFFFFFFFF) + b"\x10a" + bytes(6)])),
    # Nine debug sections that share one compressed stream.
    "debug-9x.hsaco": ("inspect", debug_sections),
    # Compressed bundles of version 1: each continues as the next one. With Zstandard, a tail of empty blocks.
    "ccob-v1-zlib": ("scan", streams_in_streams_zlib),
    "ccob-v1-zstd": ("scan", streams_in_streams_zstd),
    # 40,000 compressed bundles without content.
    "ccob-empty.so": ("scan", lambda: layout.elf(
        (62, 3, 0, 0, 0), [Section(b".hip_fatbin", layout.ccob(b"") * 40_000, flags=2)])),
    # A thin archive that lists itself 40 times.
    "thin.a": ("scan", lambda: b"!<thin>\n" + layout.ar_member(b"thin.a/", 1) * 40),
    # Groups of 100 images that are the whole payload, three deep.
    "group.fatbin": ("scan", lambda: nested(
        lambda payload: layout.fatbin([layout.fatbin_group(payload, [(0, len(payload))] * 100)]), cubin(), 3)),
    # Zip files of 40 members that share their bytes, four deep.
    "zip-nest.zip": ("scan", lambda: nested(lambda data: layout.zip_aliases(data, 40), cubin(), 4)),
    # 10,000 members that share a stream of 100 MB of zeros.
    "zip-deflate.zip": ("scan", lambda: layout.zip_aliases(layout.deflated(100_000_000), 10_000, 8, 100_000_000, 0)),
    # 200 and 100 MB of zeros, compressed twice.
    "nested.xz": ("scan", lambda: nested(lambda data: lzma.compress(data, preset=0), bytes(200_000_000), 2)),
    "nested.bz2": ("scan", lambda: nested(lambda data: bz2.compress(data, 1), bytes(100_000_000), 2)),
    # An RPM package of 1,000,000 members without content.
    "members.rpm": ("scan", lambda: layout.rpm_file(lzma.compress(layout.cpio_file([("a", b"")])[:112] * 1_000_000))),
    # A storage of kernels with 200 MB of zeros as its directory, and 3,000 kernels of 50 MB of zeros.
    "kernels.aks2": ("scan", lambda: b"AKS2" + pack("III", 200_000_000, 1 << 20, 1 << 27)
                     + lzma.compress(bytes(200_000_000), preset=0)),
    "kernels.kdb": ("scan", kernel_store),
    # 1,000,000 kernels without a name, and 100,000 nodes, each in the one before.
    "kernels.dat": ("check --policy POLICY", lambda: b"\x81\xa9solutions\xdd" + (1_000_000).to_bytes(4, "big")
                    + b"\x81\xaakernelName\xa0" * 1_000_000),
    "nodes.hcf": ("scan", lambda: b"object-id=1\ngenerator=AdaptiveCpp SSCP\n" + b"{.a\n" * 100_000),
    # Compressed bundles of 300 compressed bundles, three deep.
    "ccob-nested": ("scan", bundles_in_bundles),
    # 5,000 sections that share one note with 10,000 kernels.
    "amd-notes.hsaco": ("inspect", amd_notes),
    # 20,000 kernels that share 6,500 parameters.
    "cubin-params.cubin": ("inspect", cubin_parameters),
    # 60,000 wrappers that refer to one symbol.
    "wrappers.o": ("scan -v", wrappers),
    # 20,000 sections that share 40,000 relocations.
    "relocations.o": ("scan", relocations),
    # 20,000 empty members that share a name of 1 MB.
    "ar-names.a": ("scan", archive_names),
    # 20,000 kernels in a file with a path of 500 kB, and in one of 259 kB.
    "ptx-file.ptx": ("inspect", lambda: layout.ptx(b'.file 1 "' + b"p" * 500_000 + b'"\n' + b"".join(
        b".entry k%d(){.loc 1 1 1;}" % number for number in range(20_000)))),
    "spirv-file.spv": ("inspect", lambda: layout.spirv([
        (7, pack("I", 9) + b"p" * 259_000 + b"\0"), *[(15, pack("II", 6, 1) + b"k\0\0\0")] * 20_000,
        (8, pack("III", 9, 7, 1))])),
    # 4,000 offload binaries that end at the same offset and share their strings.
    "offload-headers": ("scan", offload_headers),
    # 20,000 CUDA fat binaries: each contains all that follow.
    "cuda-headers": ("scan", cuda_headers),
    # 40,000 headers of cubins that share a table of 60,000 sections.
    "embedded-elf": ("scan", embedded_elf),
    # A function without an end, and 200,000 beginnings of modules in it.
    "embedded-ptx.o": ("scan", lambda: layout.elf(X86_64, [Section(
        b".rodata", layout.ptx(b".entry k() {") + b".version 7.0\n.target sm_80\n" * 200_000, 1, 2)])),
    # 200,000 modules: each contains all that follow as operands of its instructions.
    "embedded-spirv": ("scan", lambda: bytes(8) + 200_000 * (
        pack("IIIII", 0x07230203, 0x10400, 0, 24, 0) + pack("II", 0x20011, 4) + pack("I", 8 << 16 | 7))),
    # 20,000 kernels that call the first of 20,000 functions: each calls the next.
    "ptx-calls.ptx": ("inspect", lambda: layout.ptx(b"".join(
        [b".func f%d(){f%d;}" % (number, number + 1) for number in range(20_000)]
        + [b".entry k%d(){f0;}" % number for number in range(20_000)]))),
}
