"""Device code of any size from fixed seeds: the same bytes on every machine, without a compiler.

Real libraries differ in what their code means, which fatbin does not read: names are as long as the names of templates,
code compresses to a fifth, and cubins have the sections that ptxas writes."""

import hashlib

from trials.layout import AMD, NVIDIA, Section, aligned, elf, pack, symbol

# Attributes of `.nv.info`; src/core/image/cubin/info.rs describes them.
REGCOUNT, FRAME_SIZE, MIN_STACK_SIZE, MAXREG_COUNT, CBANK_PARAM_SIZE, KPARAM_INFO = 0x2F, 0x11, 0x12, 0x1B, 0x19, 0x17
GLOBAL_FUNCTION, ENTRY, PROGBITS, STRTAB, SYMTAB, NV_INFO = 0x12, 0x10, 1, 3, 2, 0x70000000
ALLOCATED, EXECUTABLE, INFO_LINK = 2, 4, 0x40
SHARED_LIBRARY = (62, 3, 0, 0, 0)


def random_bytes(seed, size):
    return hashlib.shake_128(seed.encode()).digest(size)


INSTRUCTIONS = [random_bytes("instructions", 14 * 256)[at:at + 14] for at in range(0, 14 * 256, 14)]


def code(seed, size):
    """Bytes that repeat as machine code does: 256 operations, with random operands."""
    numbers = random_bytes(seed, size // 16 * 3)
    return b"".join(INSTRUCTIONS[numbers[at]] + numbers[at + 1:at + 3] for at in range(0, len(numbers), 3))


def kernel_name(number):
    """Returns the mangled name of an instance of a function template."""
    functor = f"AddFunctor{number}"
    return (f"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIfffNS0_{len(functor)}{functor}IfEEEE"
            f"St5arrayIPcLm3EEEEviT0_T1_")


def attribute(number, value):
    return pack("BBH", 4, number, len(value)) + value


def kernel_sections(name, seed, code_size, text):
    """Returns the sections of a kernel, the code in section number `text`."""
    info = attribute(KPARAM_INFO, pack("III", 0, 1 | 8 << 16, 8 << 18)) + attribute(KPARAM_INFO, pack("III", 0, 0, 8 << 18))
    info += pack("BBH", 3, CBANK_PARAM_SIZE, 16) + pack("BBH", 3, MAXREG_COUNT, 0xFF)
    return [Section(b".text." + name, code(seed, code_size), PROGBITS, ALLOCATED | EXECUTABLE, 2, 0),
            Section(b".nv.info." + name, info, NV_INFO, INFO_LINK, 2, text),
            Section(b".nv.constant0." + name, bytes(544), PROGBITS, ALLOCATED | INFO_LINK, 0, text)]


def cubin(kernels, code_size=1024, seed="cubin", arch=90, first=0):
    """Returns a linked cubin with kernels of this code size, whose names have the numbers from `first` on."""
    names = [kernel_name(first + number).encode() for number in range(kernels)]
    sections, symbols, info, at = [], bytes(24), b"", 1
    for number, name in enumerate(names):
        text = 4 + 3 * number
        sections += kernel_sections(name, f"{seed} {number}", code_size, text)
        symbols += symbol(at, GLOBAL_FUNCTION, ENTRY, text, 0, code_size)
        at += len(name) + 1
        for kind, value in [(REGCOUNT, 8 + number % 200), (FRAME_SIZE, 0), (MIN_STACK_SIZE, 0)]:
            info += attribute(kind, pack("II", number + 1, value))
    strings = b"\0" + b"".join(name + b"\0" for name in names)
    tables = [Section(b".strtab", strings, STRTAB), Section(b".symtab", symbols, SYMTAB, 0, 1, 1, 24),
              Section(b".nv.info", info, NV_INFO, 0, 2)]
    machine, kind, _, os_abi, abi = NVIDIA
    return elf((machine, kind, arch << 16 | 0x500 | arch, os_abi, abi), tables + sections)


def ptx(kernels, arch=90, first=0):
    """Returns PTX with the same kernels, without code."""
    head = f".version 8.0\n.target sm_{arch}\n.address_size 64\n".encode()
    return head + b"".join(b".visible .entry %s(.param .u64 a)\n{\n\tret;\n}\n" % kernel_name(first + number).encode()
                           for number in range(kernels))


def images(archs, kernels, code_size, number=0):
    """Returns the images of source file number `number`, by arch: cubins, and at last PTX."""
    first = number * kernels
    cubins = [(arch, cubin(kernels, code_size, f"{number} {arch}", arch, first)) for arch in archs]
    return [*cubins, (archs[-1], ptx(kernels, archs[-1], first))]


# `EF_AMDGPU_MACH` of processors.
GFX = {"gfx90a": 0x3F, "gfx942": 0x4C}


def code_object(processor, code_size):
    """Returns a code object without kernels."""
    machine, kind, _, os_abi, abi = AMD
    text = Section(b".text", code(processor, code_size), PROGBITS, ALLOCATED | EXECUTABLE)
    return elf((machine, kind, GFX[processor], os_abi, abi), [text])


def library(section, content):
    return elf(SHARED_LIBRARY, [Section(section, aligned(content, 8), PROGBITS, ALLOCATED)])
