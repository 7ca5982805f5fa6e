"""Writes containers from their published layouts alone, and prints the SHA-256 of each image in the order of the file.

containers.py KIND OUTPUT IMAGE...
"""

import hashlib
import struct
import sys
import zipfile

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def low_first(data):
    """Base64 whose first letter has the lowest bits."""
    bits = int.from_bytes(data, "little")
    return "".join(LETTERS[bits >> 6 * index & 63] for index in range((len(data) * 8 + 5) // 6))


def text_property(key, text):
    return f"{key}=2|{low_first(struct.pack('<Q', 8 * len(text)) + text.encode())}\n"


def syclbin(images):
    metadata, code, records = b"[SYCLBIN/global metadata]\nstate=1|2\n", b"", b""
    header = len(metadata)
    for number, image in enumerate(images):
        name = "ir module" if number == 0 else "native device code image"
        own = f"[SYCLBIN/{name} metadata]\n"
        own += "type=1|0\n" if number == 0 else text_property("arch", "dg2")
        own += text_property("target", "spir64-unknown-unknown" if number == 0 else "spir64_gen-unknown-unknown")
        records += struct.pack("<4Q", len(metadata), len(own), len(code), len(image))
        metadata += own.encode()
        code += image
    head = b"IBYS" + struct.pack("<4I", 1, 1, 1, len(images) - 1) + b"\0" * 4
    head += struct.pack("<4Q", len(metadata), len(code), 0, header)
    head += struct.pack("<QQ4I", 0, header, 1, 0, len(images) - 1, 0)
    body = head + records + metadata
    return body + b"\0" * (-len(body) % 8) + code, images


def dxbc(images):
    files = []
    for image in images:
        parts = [(b"SFI0", bytes(8)), (b"DXIL", image)]
        at, offsets, data = 32 + 4 * len(parts), b"", b""
        for name, content in parts:
            offsets += struct.pack("<I", at)
            data += name + struct.pack("<I", len(content)) + content
            at += 8 + len(content)
        digest = hashlib.md5(data).digest()
        files.append(b"DXBC" + digest + struct.pack("<HHII", 1, 0, at, len(parts)) + offsets + data)
    return b"".join(files), files


def hcf(images):
    text, appendix = "object-id=9876543210\ngenerator=AdaptiveCpp SSCP\n{.images\n", b""
    for number, image in enumerate(images):
        text += f"{{.image{number}\nvariant=global-module\nformat=llvm-ir\n{{.__binary\n"
        text += f"start={len(appendix)}\nsize={len(image)}\n}}.__binary\n}}.image{number}\n"
        appendix += image
    text += "}.images\n{.kernels\n{._Z6kernelPi\n{.image-providers\n{.image0\n}.image0\n}.image-providers\n}._Z6kernelPi\n}.kernels\n"
    return text.encode() + b"__acpp_hcf_binary_appendix" + appendix, images


def table(data):
    """A FlatBuffer of one table with one vector of bytes."""
    vector = struct.pack("<I", len(data)) + data + b"\0" * (1 + -(len(data) + 1) % 4)
    # Root offset, vtable (size, size of the table, offset of the field), table.
    return struct.pack("<I4xHHHHiI", 16, 6, 8, 4, 0, 8, 4) + vector


def iree(images):
    files = []
    for image in images:
        content = table(image)
        magic = b"HIP1" if image.startswith(b"\x7fELF") else b"CDA1"
        files.append(magic + struct.pack("<IQ", 0, len(content)) + content)
    return files, images


def musa(images):
    identities = [b"host-x86_64-unknown-linux-gnu-"] + [b"musa-mtgpu-mt-musa--mp_%d" % (21 + index) for index in range(len(images))]
    size = 32 + sum(24 + len(name) for name in identities)
    at, head, data = -(-size // 4096) * 4096, b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(identities)), b""
    start = at
    for name, image in zip(identities, [b""] + images):
        head += struct.pack("<3Q", start + len(data), len(image), len(name)) + name
        data += image
    return head.ljust(at, b"\0") + data, images


def symbols(images):
    """An offload binary of version 2 whose kernels are in a table, as in LLVM 23."""
    names = [b"_ZTS6kernel%d" % number for number in range(200)]
    places, text = [], b""
    for name in names:
        places.append(4 + 4 * len(names) + len(text))
        text += name + b"\0"
    kernels = struct.pack(f"<{1 + len(names)}I", len(names), *places) + text
    pairs = [(b"triple", b"spirv64"), (b"symbols", kernels)]
    strings, at = b"", 32 + 40 + 24 * len(pairs)
    rows = b""
    for key, value in pairs:
        rows += struct.pack("<3Q", at + len(strings), at + len(strings) + len(key) + 1, len(value))
        strings += key + b"\0" + value + b"\0"
    front = at + len(strings)
    front += -front % 8
    image = images[0]
    size = front + len(image) + -len(image) % 8
    entry = struct.pack("<HHI4Q", 6, 8, 0, 72, len(pairs), front, len(image))
    head = b"\x10\xff\x10\xad" + struct.pack("<I3Q", 2, size, 32, 1)
    return (head + entry + rows + strings).ljust(front, b"\0") + image.ljust(size - front, b"\0"), images[:1]


def main():
    kind, output, *paths = sys.argv[1:]
    contents, images = globals()[kind]([open(path, "rb").read() for path in paths])
    if kind == "iree":
        with zipfile.ZipFile(output, "w") as archive:
            archive.writestr("module.fb", struct.pack("<I", 8) + b"\x08\0\0\0IREE")
            for number, content in enumerate(contents):
                archive.writestr(f"executable{number}.fb", content)
    else:
        # The container is between other data, as in a program.
        open(output, "wb").write(contents)
        open(output + ".data", "wb").write(b"data\0" + contents + b"\0other data")
    for image in images:
        print(hashlib.sha256(image).hexdigest())


main()
