"""Writes and reads kpack archives by their published layout, sharing nothing with the program that is tested.

    archive.py write OUT none|zstd ARCHES KEY=ARCH=FILE...   writes an archive; ARCHES are separated by commas
    archive.py read ARCHIVE...                               a line a code object: key, arch, SHA-256
"""

import ctypes
import hashlib
import struct
import sys
from pathlib import Path


def zstd():
    library = ctypes.CDLL("libzstd.so.1")
    for function in ["ZSTD_compress", "ZSTD_decompress", "ZSTD_compressBound"]:
        getattr(library, function).restype = ctypes.c_size_t
    return library


def compressed(data):
    library = zstd()
    room = library.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    frame = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(frame, ctypes.c_size_t(room), data, ctypes.c_size_t(len(data)), 3)
    assert size <= room
    return frame.raw[:size]


def decompressed(frame, size):
    data = ctypes.create_string_buffer(max(size, 1))
    length = zstd().ZSTD_decompress(data, ctypes.c_size_t(size), frame, ctypes.c_size_t(len(frame)))
    assert length == size, (length, size)
    return data.raw[:size]


def encoded(value):
    if isinstance(value, int):
        for limit, form in [(0x80, "B"), (1 << 8, "BB"), (1 << 16, "BH"), (1 << 32, "BI"), (1 << 64, "BQ")]:
            if value < limit:
                marker = {"BB": 0xcc, "BH": 0xcd, "BI": 0xce, "BQ": 0xcf}.get(form)
                return struct.pack(">" + form, *([value] if marker is None else [marker, value]))
    if isinstance(value, str):
        data = value.encode()
        start = bytes([0xa0 | len(data)]) if len(data) < 32 else b"\xd9" + bytes([len(data)])
        return start + data
    assert len(value) < 1 << 16
    short, long = (0x90, 0xdc) if isinstance(value, list) else (0x80, 0xde)
    start = bytes([short | len(value)]) if len(value) < 16 else struct.pack(">BH", long, len(value))
    items = value if isinstance(value, list) else [part for pair in value.items() for part in pair]
    return start + b"".join(map(encoded, items))


def decoded(data, at):
    """Returns the value at an offset and the offset after it."""
    def number(form):
        return struct.unpack_from(">" + form, data, at + 1)[0], at + 1 + struct.calcsize(form)

    def items(count, start):
        values = []
        for _ in range(count):
            value, start = decoded(data, start)
            values.append(value)
        return values, start

    marker = data[at]
    if marker < 0x80:
        return marker, at + 1
    if 0xcc <= marker <= 0xcf:
        return number("BHIQ"[marker - 0xcc])
    if 0xa0 <= marker <= 0xbf or 0xd9 <= marker <= 0xdb:
        size, start = (marker & 0x1f, at + 1) if marker < 0xc0 else number("BHI"[marker - 0xd9])
        return data[start:start + size].decode(), start + size
    if 0x90 <= marker <= 0x9f or marker in (0xdc, 0xdd):
        count, start = (marker & 0xf, at + 1) if marker < 0xa0 else number("HI"[marker - 0xdc])
        return items(count, start)
    if 0x80 <= marker <= 0x8f or marker in (0xde, 0xdf):
        count, start = (marker & 0xf, at + 1) if marker < 0x90 else number("HI"[marker - 0xde])
        values, end = items(2 * count, start)
        return dict(zip(values[::2], values[1::2])), end
    raise AssertionError(f"marker {marker:#x}")


def write(out, scheme, arches, members):
    data, blobs, toc, frames = bytearray(64), [], {}, []
    for ordinal, (key, arch, name) in enumerate(members):
        image = Path(name).read_bytes()
        toc.setdefault(key, {})[arch] = {"type": "hsaco", "ordinal": ordinal, "original_size": len(image)}
        if scheme == "none":
            blobs.append({"offset": len(data), "size": len(image)})
            data += image
        else:
            frames.append(compressed(image))
    if scheme != "none":
        data += struct.pack("<I", len(frames))
        for frame in frames:
            data += struct.pack("<I", len(frame)) + frame
    index = {"format_version": 1, "group_name": "test", "gfx_arch_family": arches[0], "gfx_arches": arches, "toc": toc}
    if scheme == "none":
        index |= {"compression_scheme": "none", "blobs": blobs}
    else:
        index |= {"compression_scheme": "zstd-per-kernel", "zstd_size": len(data) - 64, "zstd_offset": 64}
    struct.pack_into("<4sIQ", data, 0, b"KPAK", 1, len(data))
    Path(out).write_bytes(data + encoded(index))


def read(path):
    data = Path(path).read_bytes()
    magic, version, start = struct.unpack_from("<4sIQ", data)
    assert (magic, version) == (b"KPAK", 1)
    index, end = decoded(data, start)
    assert end == len(data), "bytes after the table of contents"
    if index["compression_scheme"] == "none":
        blobs = [data[blob["offset"]:blob["offset"] + blob["size"]] for blob in index["blobs"]]
    else:
        at, blobs = index["zstd_offset"], []
        count, = struct.unpack_from("<I", data, at)
        at += 4
        for _ in range(count):
            size, = struct.unpack_from("<I", data, at)
            blobs.append(data[at + 4:at + 4 + size])
            at += 4 + size
        assert at == index["zstd_offset"] + index["zstd_size"]
    for key, versions in index["toc"].items():
        for arch, entry in versions.items():
            assert arch in index["gfx_arches"] and entry["type"] == "hsaco"
            image = blobs[entry["ordinal"]]
            if index["compression_scheme"] != "none":
                image = decompressed(image, entry["original_size"])
            assert len(image) == entry["original_size"]
            print(key, arch, hashlib.sha256(image).hexdigest())


if sys.argv[1] == "write":
    write(sys.argv[2], sys.argv[3], sys.argv[4].split(","), [member.split("=") for member in sys.argv[5:]])
else:
    for archive in sys.argv[2:]:
        read(archive)
