"""Reads the device images of ELF and PE files by the published layouts, sharing nothing with the program that is tested:
integers with struct, streams with the reference libraries of LZ4 and zstd. It goes by section names and sizes alone.

    reader.py FILE|WHEEL...             a line an image: file, container, its offset, id or arch, SHA-256
    reader.py --cut FOLDER FILE|WHEEL   writes each HIP bundle of the files into a file of its own
"""

import ctypes
import hashlib
import struct
import sys
import zipfile
import zlib
from pathlib import Path

LZ4 = ctypes.CDLL("liblz4.so.1")
ZSTD = ctypes.CDLL("libzstd.so.1")
for function in ["ZSTD_decompress", "ZSTD_findFrameCompressedSize", "ZSTD_isError"]:
    getattr(ZSTD, function).restype = ctypes.c_size_t
ZSTD.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def unzstd(stream, size):
    restored = ctypes.create_string_buffer(max(size, 1))
    length = ZSTD.ZSTD_decompress(restored, ctypes.c_size_t(size), stream, ctypes.c_size_t(len(stream)))
    assert length == size, (length, size)
    return restored.raw[:size]


def unlz4(block, size):
    restored = ctypes.create_string_buffer(max(size, 1))
    length = LZ4.LZ4_decompress_safe(block, restored, len(block), size)
    assert length == size, (length, size)
    return restored.raw[:size]


def sections(data):
    """Returns names, offsets and sizes of the sections of a file; of a PE file the used part."""
    if data[:5] == b"\x7fELF\x02":
        table, = struct.unpack_from("<Q", data, 40)
        entry_size, count, names = struct.unpack_from("<HHH", data, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + entry_size * index) for index in range(count)]
        for name, kind, _, _, offset, size, *_ in headers:
            start = headers[names][4] + name
            if kind != 8:  # SHT_NOBITS
                yield data[start:data.index(0, start)].decode(), offset, size
    elif data[:2] == b"MZ":
        start, = struct.unpack_from("<I", data, 60)
        assert data[start:start + 4] == b"PE\0\0"
        count, = struct.unpack_from("<H", data, start + 6)
        optional, = struct.unpack_from("<H", data, start + 20)
        for header in range(start + 24 + optional, start + 24 + optional + 40 * count, 40):
            name, used, _, stored, offset = struct.unpack_from("<8sIIII", data, header)
            yield name.rstrip(b"\0").decode(), offset, min(used, stored)


def containers(data, start, size, magics):
    """Returns offsets and sizes of containers that are back to back, with zeros between them."""
    at, end = start, start + size
    while at < end:
        if data[at] == 0:
            at += 1
            continue
        name, extent = next((magic for magic in magics if data.startswith(magic[0], at)), (None, None))
        assert name is not None, f"no container at {at:#x}"
        length = extent(data[at:end])
        assert 0 < length <= end - at, (at, length)
        yield at, length
        at += length


def frame_extent(data):
    length = ZSTD.ZSTD_findFrameCompressedSize(data, ctypes.c_size_t(len(data)))
    assert not ZSTD.ZSTD_isError(ctypes.c_size_t(length))
    return length


def bundle_entries(bundle):
    count, = struct.unpack_from("<Q", bundle, 24)
    at = 32
    for _ in range(count):
        offset, size, length = struct.unpack_from("<QQQ", bundle, at)
        yield bundle[at + 24:at + 24 + length].decode(), offset, size
        at += 24 + length


def bundle_extent(data):
    return max(offset + size for _, offset, size in bundle_entries(data))


def ccob_header(data):
    version, method = struct.unpack_from("<HH", data, 4)
    layout = {2: "<II", 3: "<QQ"}[version]
    total, uncompressed = struct.unpack_from(layout, data, 8)
    return method, 8 + struct.calcsize(layout) + 8, total, uncompressed


def restored(ccob):
    method, header, total, uncompressed = ccob_header(ccob)
    stream = ccob[header:total]
    return unzstd(stream, uncompressed) if method == 1 else zlib.decompress(stream)


BUNDLE, CCOB, FATBIN = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB", b"\x50\xed\x55\xba"
HIP = [(BUNDLE, bundle_extent), (CCOB, lambda data: ccob_header(data)[2])]
CUDA = [(FATBIN, lambda data: 16 + struct.unpack_from("<Q", data, 8)[0])]
SYCL = [(ZSTD_MAGIC, frame_extent)]


def hip_images(data):
    kind, bundle = ("ccob", restored(data)) if data.startswith(CCOB) else ("bundle", data)
    return kind, [(entry, bundle[offset:offset + size]) for entry, offset, size in bundle_entries(bundle)]


def sycl_images(data):
    size = ZSTD.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    return "sycl-image", [("-", unzstd(data, size))]


def cuda_images(data):
    images, at = [], 16
    while at < len(data):
        kind, _, header, stored, compressed, _, _, _, sm = struct.unpack_from("<HHIQIIHHI", data, at)
        flags, = struct.unpack_from("<Q", data, at + 0x28)
        size, = struct.unpack_from("<Q", data, at + 0x38)
        assert kind in (1, 2), f"an entry of kind {kind}"
        payload = data[at + header:at + header + stored]
        if flags & 0x2000:
            payload = unlz4(payload[:compressed], size)
        elif flags & 0x8000:
            payload = unzstd(payload[:compressed], size)
        suffix = "a" if flags & 0x100000 else "f" if flags & 0x200000 else ""
        # A cubin is padded, and the text of PTX ends with a zero byte; it is cuobjdump that writes neither into its files.
        image = payload[:elf_size(payload)] if kind == 2 else payload[:payload.index(0)]
        images.append((f"sm_{sm}{suffix}", image))
        at += header + stored
    return "cuda-fatbin", images


def elf_size(data):
    """Where the last of headers, tables and sections ends; entries are padded behind it."""
    assert data[:5] == b"\x7fELF\x02"
    programs, table = struct.unpack_from("<QQ", data, 32)
    program_size, program_count, entry_size, count = struct.unpack_from("<HHHH", data, 54)
    ends = [64, programs + program_size * program_count, table + entry_size * count]
    for index in range(count):
        _, kind, _, _, offset, size, *_ = struct.unpack_from("<IIQQQQIIQQ", data, table + entry_size * index)
        ends.append(offset + size if kind != 8 else 0)
    return max(ends)


def found(data):
    """Each container as its offset, its bytes and what reads it."""
    for name, start, size in sections(data):
        for prefixes, magics, read in [((".nv_fatb", "__nv_rel"), CUDA, cuda_images), ((".hip_fat",), HIP, hip_images),
                                       (("__CLANG_",), SYCL, sycl_images)]:
            # Wrapper structs have a name that begins the same.
            if name.startswith(prefixes) and "Segment" not in name:
                for at, length in containers(data, start, size, magics):
                    yield at, data[at:at + length], read


def files(path):
    """The file itself, or what is in a wheel."""
    if not path.endswith(".whl"):
        yield path, Path(path).read_bytes()
        return
    with zipfile.ZipFile(path) as wheel:
        for member in wheel.namelist():
            yield f"{path}!{member}", wheel.read(member)


def main(arguments):
    if arguments[0] == "--cut":
        _, folder, path = arguments
        for name, data in files(path):
            for at, bytes_, read in found(data):
                if read is hip_images:
                    (Path(folder) / f"{name.split('/')[-1]}@{at}").write_bytes(bytes_)
        return
    for path in arguments:
        for name, data in files(path):
            for at, bytes_, read in found(data):
                kind, images = read(bytes_)
                for target, image in images:
                    # fatbin reports the members of an archive, and no hash for all of it.
                    digest = "" if image.startswith(b"!<arch>\n") else hashlib.sha256(image).hexdigest()
                    print(name, kind, at, target, digest, sep="\t")


main(sys.argv[1:])
