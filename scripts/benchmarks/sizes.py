"""Inputs of any number of images, containers, members, kernels, entries and files, and the commands that read or write them."""

import math
import shutil

from benchmarks import generate
from trials import layout
from trials.layout import Section, elf

HIP_FATBIN, NV_FATBIN = b".hip_fatbin", b".nv_fatbin"
DEVICE = "sm_90"
# Code of each kernel in bytes, as little as there can be: the cost of an item is that of its structures.
CODE_SIZE = 16

# Commands on a file or directory `in`.
READ = [["scan", "--json", "in"], ["scan", "--hash", "in"], ["inspect", "--json", "in"], ["inspect", "--matrix", "in"],
        ["verify", "in"], ["lock", "-o", "lock", "in"], ["diff", "in", "in"], ["size", "--by", "kernel", "in"],
        ["size", "--duplicates", "in"], ["requires", "in"], ["check", "--init", "in"], ["select", "--device", DEVICE, "in"],
        ["extract", "in", "-o", "out"]]
PRUNE = [["prune", "--drop", "sm_80", "in", "-o", "out"]]


def cubin(number):
    return generate.cubin(1, CODE_SIZE, first=number)


def code_object():
    return generate.code_object("gfx90a", 64)


def library(section, parts):
    return generate.library(section, b"".join(parts))


def images(count):
    return library(NV_FATBIN, [layout.fatbin([layout.fatbin_image(cubin(number)) for number in range(count)])])


def ptx_images(count):
    return library(NV_FATBIN, [layout.fatbin([layout.fatbin_image(generate.ptx(1, 90, number), kind=1)
                                              for number in range(count)])])


def container(number):
    return layout.fatbin([layout.fatbin_image(cubin(number))])


def bundle():
    return layout.bundle([(layout.HOST, b""), (layout.GFX90A, code_object())])


def offload_binary():
    return layout.offload_binary([(b"arch", b"gfx90a"), (b"triple", b"amdgcn-amd-amdhsa")], code_object())


def damaged(count):
    """Returns code objects that are cut, each beside a compressed bundle whose stored hash is wrong."""
    bundle = bytearray(layout.ccob(layout.bundle([(layout.HOST, b"")])))
    bundle[24] ^= 1
    return (layout.offload_binary([], code_object()[:100]) + layout.aligned(bytes(bundle), 8)) * count


def cells(count):
    """Returns PTX for as many devices as kernels, each kernel in one image: every cell of the table of kernels by device differs."""
    size = math.isqrt(count)
    return layout.fatbin([layout.fatbin_image(generate.ptx(1, 100 + number, number), kind=1, arch=100 + number)
                          for number in range(size)])


def sections(count):
    """Returns a library with each container in a section."""
    content = [layout.aligned(container(number), 8) for number in range(count)]
    return elf(generate.SHARED_LIBRARY, [Section(NV_FATBIN, data, generate.PROGBITS, generate.ALLOCATED) for data in content])


def members(count):
    return [(f"member-{number}.o", library(NV_FATBIN, [container(number)])) for number in range(count)]


def zip_of_two(count):
    """Returns a zip file of fat binaries with two images."""
    content = layout.fatbin([layout.fatbin_image(cubin(0), arch=arch) for arch in (80, 90)])
    return layout.zip_file([(f"member-{number}.fatbin", content) for number in range(count)], 8)


def archive(count):
    return layout.ar([(b"%d.o" % number, data) for number, (_, data) in enumerate(members(count))])


def write(make):
    return lambda directory, count: directory.joinpath("in").write_bytes(make(count))


def write_files(directory, count):
    shutil.rmtree(directory / "in", ignore_errors=True)
    directory.joinpath("in").mkdir()
    for name, data in members(count):
        directory.joinpath("in", name).write_bytes(data)


def write_entries(directory, count):
    directory.joinpath("entries").write_text("".join(f"kernel_{number}\n" for number in range(count)))
    directory.joinpath("image").write_bytes(cubin(0))


def write_images(directory, count):
    """Writes images as files of their own, and a list of their paths."""
    shutil.rmtree(directory / "images", ignore_errors=True)
    directory.joinpath("images").mkdir()
    for number in range(count):
        directory.joinpath("images", f"{number}").write_bytes(cubin(number))


class Dimension:
    """A number that grows: the writer of an input of that size, the commands with their exit statuses, and the largest size."""

    def __init__(self, unit, largest, write, commands, statuses=(0, 1), quick=1600):
        self.unit = unit
        self.largest = largest
        # The largest size of quick runs still shows a square beside the linear part.
        self.quick = quick
        self.write = write
        self.commands = commands
        self.statuses = statuses


def listed(*words):
    """Returns a command that ends with the paths of all images."""
    return lambda directory, count: [*words, *(f"images/{number}" for number in range(count))]


ALL = READ + PRUNE
TABLE = [["inspect", "--matrix", "in"], ["inspect", "--matrix", "--json", "in"], ["inspect", "--html", "out", "in"],
         ["prune", "--drop", "sm_101", "in", "-o", "out"]]
KEEP = [["prune", "--drop", "sm_90", "in", "-o", "out"]]
PAGE = [["inspect", "--html", "out", "in"]]
DIMENSIONS = {
    "images": Dimension("image", 100_000, write(images), ALL),
    "ptx": Dimension("image", 100_000, write(ptx_images), ALL),
    "containers": Dimension("container", 100_000, write(lambda count: library(NV_FATBIN, map(container, range(count)))), ALL),
    "bundles": Dimension("bundle", 100_000, write(lambda count: library(HIP_FATBIN, [bundle()] * count)), ALL),
    "compressed": Dimension("bundle", 40_000, write(lambda count: library(HIP_FATBIN, [layout.ccob(bundle())] * count)), ALL),
    "offload": Dimension("binary", 100_000, write(lambda count: library(b".llvm.offloading", [offload_binary()] * count)), ALL),
    "unnamed": Dimension("bundle", 100_000, write(lambda count: bundle() * count), ALL),
    "damaged": Dimension("image", 100_000, write(damaged), [["inspect", "--json", "in"], ["verify", "in"], ["lock", "-o", "lock", "in"]],
                         statuses=(2,)),
    "ar": Dimension("member", 40_000, write(archive), ALL),
    "zip": Dimension("member", 16_000, write(lambda count: layout.zip_file(members(count), 8)), READ + PAGE),
    "zip-edits": Dimension("member", 16_000, write(zip_of_two), KEEP),
    "cells": Dimension("cell", 640_000, write(cells), TABLE, quick=160_000),
    "sections": Dimension("container", 20_000, write(sections), [["scan", "in"], *KEEP]),
    "tar": Dimension("member", 16_000, write(lambda count: layout.tar_file(members(count))), READ),
    "files": Dimension("file", 16_000, write_files, READ),
    "kernels": Dimension("kernel", 20_000, write(lambda count: generate.cubin(count, CODE_SIZE)), ALL),
    "ptx-kernels": Dimension("kernel", 100_000, write(generate.ptx), READ),
    "bytes": Dimension("byte", 1 << 28, write(lambda count: generate.cubin(1, count)), ALL),
    "entries": Dimension("entry", 100_000, write_entries, [["wrap", "--kind", "cuda", "--entries", "entries", "-o", "out",
                                                           "image"]]),
    "written": Dimension("image", 16_000, write_images, [listed("pack", "-o", "out"), listed("pack", "--kind", "cuda", "-o", "out"),
                                                        listed("wrap", "--kind", "openmp", "-o", "out")]),
}
