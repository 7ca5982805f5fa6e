"""Containers, hosts and archives as bytes, with every field open to abuse."""

import hashlib
import io
import struct
import tarfile
import zipfile
import zlib
from dataclasses import dataclass

HOST = b"host-x86_64-unknown-linux-gnu-"
GFX90A = b"hip-amdgcn-amd-amdhsa--gfx90a"
ZSTD_BLOCK = 128 << 10


def pack(form, *values):
    return struct.pack("<" + form, *values)


def aligned(data, alignment):
    return data + bytes(-len(data) % alignment)


# Codecs. Blocks are stored as they are, so that no encoder is needed.

def zstd_frame(data):
    parts = [data[at:at + ZSTD_BLOCK] for at in range(0, len(data), ZSTD_BLOCK)] or [b""]
    blocks = [(len(part) << 3 | (number == len(parts))).to_bytes(3, "little") + part
              for number, part in enumerate(parts, 1)]
    return b"\x28\xb5\x2f\xfd\xe0" + pack("Q", len(data)) + b"".join(blocks)


def deflated(size):
    """Returns a raw deflate stream of zeros: blocks that are flushed are independent, so that one is repeated."""
    block = 1 << 20
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    repeated = stream.compress(bytes(block)) + stream.flush(zlib.Z_FULL_FLUSH)
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    return repeated * (size // block) + stream.compress(bytes(size % block)) + stream.flush()


# Containers.

def bundle(entries):
    offset = 32 + sum(24 + len(name) for name, _ in entries)
    index = b"__CLANG_OFFLOAD_BUNDLE__" + pack("Q", len(entries))
    for name, data in entries:
        index += pack("QQQ", offset, len(data), len(name)) + name
        offset += len(data)
    return index + b"".join(data for _, data in entries)


def ccob_header(version, method, full_size, stored_size, digest=bytes(8)):
    size = {1: 20, 2: 24, 3: 32}[version] + stored_size
    sizes = {1: lambda: pack("I", full_size), 2: lambda: pack("II", size, full_size), 3: lambda: pack("QQ", size, full_size)}
    return b"CCOB" + pack("HH", version, method) + sizes[version]() + digest


def ccob(data, version=3, method="zstd"):
    stream = zstd_frame(data) if method == "zstd" else zlib.compress(data)
    return ccob_header(version, int(method == "zstd"), len(data), len(stream), hashlib.md5(data).digest()[:8]) + stream


FATBIN_FLAGS, LZ4 = 0x11, 0x2000


def fatbin_entry(kind=2, stored=0, compressed=0, flags=FATBIN_FLAGS, full=0, header=64, arch=90):
    return pack("HHIQIIHHIIIQQQ", kind, 0x101, header, stored, compressed, 0, 8, 1, arch, 0, 0, flags, 0, full)


def fatbin_image(payload, kind=2, arch=90):
    stored = aligned(payload, 8)
    return fatbin_entry(kind, len(stored), arch=arch) + stored


def fatbin_group(payload, rows):
    """Returns an entry whose payload holds images at the offsets and sizes of the rows."""
    table = pack("II", len(rows), 8 + 64 * len(rows)) + b"".join(fatbin_entry(2, size, header=at) for at, size in rows)
    stored = aligned(payload, 8)
    return fatbin_entry(0x100, len(payload), header=64 + len(table), flags=1, arch=0) + table + stored


def fatbin(entries, size=None):
    body = b"".join(entries)
    return b"\x50\xed\x55\xba" + pack("HHQ", 1, 16, len(body) if size is None else size) + body


# Hosts.

@dataclass
class Section:
    name: bytes
    data: bytes = b""
    kind: int = 1
    flags: int = 0
    link: int = 0
    info: int = 0
    entry_size: int = 0
    alignment: int = 8
    # Number of the section whose bytes this one shares.
    shares: int = 0


AMD, NVIDIA, X86_64 = (224, 3, 0x3F, 64, 2), (190, 2, 0x5A055A, 51, 7), (62, 1, 0, 0, 0)


def elf(target, sections):
    """Returns a 64-bit ELF file: sections 1, 2 and so on as given, and after them the section of names."""
    machine, kind, flags, os_abi, abi = target
    sections = [*sections, Section(b".shstrtab", kind=3)]
    places, names = {}, b"\0"
    for section in sections:
        if section.name not in places:
            places[section.name] = len(names)
            names += section.name + b"\0"
    sections[-1].data = names
    body, rows = bytearray(64), [bytes(64)]
    extents = [(0, 0)]
    for section in sections:
        extent = extents[section.shares]
        if not section.shares:
            body += bytes(-len(body) % 8)
            extent = len(body), len(section.data)
            body += section.data
        extents.append(extent)
        rows.append(pack("IIQQQQIIQQ", places[section.name], section.kind, section.flags, 0, *extent,
                         section.link, section.info, section.alignment, section.entry_size))
    body += bytes(-len(body) % 8)
    count = len(rows)
    short = count, count - 1
    if count >= 0xFF00:
        # The first section states the numbers that are too large for the header.
        rows[0] = pack("IIQQQQIIQQ", 0, 0, 0, 0, 0, count, count - 1, 0, 0, 0)
        short = 0, 0xFFFF
    header = b"\x7fELF\x02\x01\x01" + bytes([os_abi, abi]) + bytes(7)
    header += pack("HHIQQQIHHHHHH", kind, machine, 1, 0, 0, len(body), flags, 64, 0, 0, 64, *short)
    return header + bytes(body[64:]) + b"".join(rows)


def symbol(name, info, other, section, value, size):
    return pack("IBBHQQ", name, info, other, section, value, size)


def note(owner, kind, content):
    return pack("III", len(owner), len(content), kind) + aligned(owner, 4) + aligned(content, 4)


def universal(thin):
    return struct.pack(">8I", 0xCAFEBABE, 1, 0x01000007, 3, 32, len(thin), 3, 0) + thin


def pe(content):
    """Returns an executable for x86-64 with one section."""
    start = 0x200
    stored = aligned(content, 0x200)
    header = b"MZ" + bytes(58) + pack("I", 64) + b"PE\0\0" + pack("HHIIIHH", 0x8664, 1, 0, 0, 0, 240, 0x22)
    optional = pack("HBBIIIIIQIIHHHHHHIIIIHHQQQQII", 0x20B, 14, 0, 0, len(stored), 0, 0x1000, 0x1000, 0x140000000, 0x1000,
                    0x200, 6, 0, 0, 0, 6, 0, 0, 0x1000 + len(aligned(stored, 0x1000)), start, 0, 3, 0, 0, 0, 0, 0, 0, 16)
    section = pack("8sIIIIIIHHI", b".hip_fat", len(content), 0x1000, len(stored), start, 0, 0, 0, 0, 0x40000040)
    return aligned(header + optional + bytes(128) + section, start) + stored


# Archives.

def ar_member(name, size, data=b""):
    return b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name, 0, 0, 0, b"644", size) + aligned(data, 2)


def ar(members, magic=b"!<arch>\n"):
    return magic + b"".join(ar_member(name + b"/", len(data), data) for name, data in members)


def cpio_file(members):
    """A cpio archive in the format newc."""
    packed = b""
    for name, content in [*members, ("TRAILER!!!", b"")]:
        fields = [0, 0o100644, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
        packed += aligned(b"070701" + b"".join(b"%08x" % field for field in fields) + name.encode() + b"\0", 4)
        packed += aligned(content, 4)
    return packed


def rpm_file(payload):
    """An RPM package without tags."""
    header = b"\x8e\xad\xe8\x01" + bytes(12)
    return b"\xed\xab\xee\xdb" + bytes(92) + header + header + payload


def zip_file(members, method=zipfile.ZIP_STORED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return file.getvalue()


def tar_file(members):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


def zip_aliases(stored, count, method=0, size=None, checksum=None):
    """Returns a zip file whose directory lists one local file under many names."""
    size = len(stored) if size is None else size
    checksum = zlib.crc32(stored) if checksum is None else checksum
    local = b"PK\3\4" + pack("HHHHHIIIHH", 20, 0, method, 0, 0, checksum, len(stored), size, 1, 0) + b"a" + stored
    names = [b"a%d" % number for number in range(count)]
    directory = b"".join(
        b"PK\1\2" + pack("HHHHHHIIIHHHHHII", 20, 20, 0, method, 0, 0, checksum, len(stored), size, len(name), 0, 0, 0, 0, 0, 0)
        + name for name in names)
    return local + directory + b"PK\5\6" + pack("HHHHIIH", 0, 0, count, count, len(directory), len(local), 0)


# Images.

def ptx(body):
    return b".version 7.0\n.target sm_80\n.address_size 64\n" + body


def spirv_instruction(opcode, operands):
    operands = aligned(operands, 4)
    return pack("I", (len(operands) // 4 + 1) << 16 | opcode) + operands


def spirv(instructions):
    """Returns a module of (opcode, operands), with a function."""
    parts = [spirv_instruction(opcode, operands) for opcode, operands in instructions]
    ends = [spirv_instruction(54, pack("IIII", 20, 1, 0, 21)), spirv_instruction(56, b"")]
    return pack("IIIII", 0x07230203, 0x10400, 0, 100, 0) + b"".join(parts + ends)
