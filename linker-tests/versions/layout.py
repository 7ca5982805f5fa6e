"""Reads an offload binary of version 2 or 3 as its specification describes it, without code of the program that wrote it:
integers with struct, streams with zlib and the zstd program. Prints one line per image."""

import hashlib
import struct
import subprocess
import sys
import zlib

ZSTD = b"\x28\xb5\x2f\xfd"


def decompressed(data):
    magic, version, size, offset, count = struct.unpack_from("<4sIQQQ", data)
    assert magic == b"\x10\xff\x10\xad" and version in (2, 3), (magic, version)
    assert len(data) % 8 == 0 and 0 <= len(data) - size < 8, (len(data), size)
    inflated = struct.unpack_from("<Q", data, 32)[0] if version == 3 else 0
    if inflated == 0:
        return data, offset, count
    stream = data[offset:size]
    if stream.startswith(ZSTD):
        body = subprocess.run(["zstd", "-dc"], input=stream, stdout=subprocess.PIPE, check=True).stdout
    else:
        body = zlib.decompress(stream)
    assert offset == 40 and offset + len(body) == inflated, (offset, len(body), inflated)
    return data[:offset] + body, offset, count


def main():
    data, offset, count = decompressed(open(sys.argv[1], "rb").read())
    version = data[4]
    for entry in range(offset, offset + 40 * count, 40):
        fields = struct.unpack_from("<HHIQQQQ", data, entry)
        image_kind, offload_kind, flags, string_offset, strings, image_offset, image_size = fields
        strings_read = []
        for string in range(string_offset, string_offset + 24 * strings, 24):
            key, value, size = struct.unpack_from("<QQQ", data, string)
            strings_read.append(f"{data[key:data.index(0, key)].decode()}={data[value:value + size].decode()}")
        image = data[image_offset:image_offset + image_size]
        assert len(image) == image_size and image_offset % 8 == 0, (image_offset, image_size)
        print(version, image_kind, offload_kind, flags, *sorted(strings_read), hashlib.sha256(image).hexdigest())


main()
