"""Compares libfatbin with libnvfatbin: python3 nvfatbin.py LIBNVFATBIN LIBFATBIN, in a directory with the inputs.

Every function and option, then random sequences of calls: statuses and bytes must be equal.
"""

import ctypes
import itertools
import pathlib
import random
import sys

SEQUENCES = 100


class Library:
    def __init__(self, path):
        self.functions = ctypes.CDLL(path)
        self.functions.nvFatbinGetErrorString.restype = ctypes.c_char_p

    def container(self, options, count=None):
        return Container(self.functions, options, count)


class Container:
    """A container of one library. Each call returns what a program sees: the status, and bytes."""

    def __init__(self, functions, options, count):
        self.functions = functions
        self.handle = ctypes.c_void_p()
        array = None if options is None else (ctypes.c_char_p * max(len(options), 1))(*options)
        count = ctypes.c_size_t(len(options or []) if count is None else count)
        self.created = functions.nvFatbinCreate(ctypes.byref(self.handle), array, count)
        self.known = 0

    def call(self, name, *arguments):
        return getattr(self, name)(*arguments)

    def add(self, function, code, *strings, size=None, handle=True):
        size = ctypes.c_size_t(len(code or b"") if size is None else size)
        return getattr(self.functions, "nvFatbinAdd" + function)(self.handle if handle else None, code, size, *strings)

    def size(self):
        size = ctypes.c_size_t()
        status = self.functions.nvFatbinSize(self.handle, ctypes.byref(size))
        self.known = size.value if status == 0 else self.known
        return status, size.value

    def get(self):
        buffer = ctypes.create_string_buffer(max(self.known, 1))
        status = self.functions.nvFatbinGet(self.handle, buffer)
        return status, buffer.raw[: self.known] if status == 0 else b""

    def destroy(self):
        return self.functions.nvFatbinDestroy(ctypes.byref(self.handle)), self.handle.value


def file(name):
    return pathlib.Path(name).read_bytes()


class Comparison:
    def __init__(self, theirs, ours):
        self.libraries = [Library(theirs), Library(ours)]
        self.calls = 0
        self.statuses = set()
        self.bytes = 0

    def same(self, what, results):
        theirs, ours = results
        self.calls += 1
        if theirs != ours:
            sys.exit(f"{what}: nvFatbin: {short(theirs)}, fatbin: {short(ours)}")
        return theirs

    def run(self, options, calls, count=None):
        """Runs the calls on a container of each library, and then reads the container."""
        containers = [library.container(options, count) for library in self.libraries]
        what = f"{options}"
        self.same(what, [container.created for container in containers])
        self.statuses.add(containers[0].created)
        for call in [*calls, ("size",), ("get",), ("destroy",), ("destroy",)]:
            what += f"\n  {call[0]} " + " ".join(short(argument) for argument in call[1:])
            result = self.same(what, [container.call(*call) for container in containers])
            if call[0] == "add":
                self.statuses.add(result)
            if call[0] == "get":
                self.bytes += len(result[1])


def short(value):
    text = f"{len(value)} bytes" if isinstance(value, bytes) and len(value) > 80 else repr(value)
    if isinstance(value, tuple) and len(text) > 200:
        text = repr(tuple(short(part) for part in value))
    return text


PTX = b".version 8.8\n.target sm_90\n.address_size 64\n"
ODD_PTX = b"// .version 1.2\n/* a */ .version\t 8.8  // b\r\n.target  sm_75 \"x  y // z\"\n/*/ c */ \t d\n"
TILE_IR = b"\x7fTileIR\0\x0d\x01\x02\x03 instead of bytecode"

ARCHS = [b"90", b"90a", b"100f", b"", b"a", b"+90", b" 90", b"-0", b"sm_90", b"-1", b"9b"]
SWITCHES = [b"-32", b"-64", b"-c", b"-compress-all", b"-concat", b"-cuda", b"-g", b"-opencl"]
VALUES = [
    *(b"-compress=" + value for value in [b"true", b"false", b"maybe", b"", b"1"]),
    *(b"-compress-mode=" + value for value in [b"default", b"balance", b"size", b"speed", b"none", b"bogus", b""]),
    *(b"-compress-level=" + value for value in [b"1", b"0", b"-7", b"+3", b" 9", b"22", b"23", b"x", b""]),
    *(b"-host=" + value for value in [b"linux", b"mac", b"windows", b"bsd", b""]),
]
ODD = [b"", b"-", b"g", b"--g", b"-G", b"-g ", b"-g  ", b"-g=", b"-g=1", b"-bogus", b"-compress", b"-compress false",
       b"-compress-mode speed", b"-host", b"-help", b"-key=1", b"-compress-algorithm=1"]


# One entry each: the order of several in the output of nvFatbin depends on hashes of their names.
OBJECTS = ["one.o", "plain.o", "debug.o", "cubin.o", "whole.o", "library.a", "a.fatbin", "cut.o"]


def images():
    """Kinds of images with those that both libraries must treat alike, the good ones first."""
    cubin, mercury = file("sm_90.cubin"), file("sm_100.cubin")
    return {
        "Cubin": [cubin, mercury, file("sm_90a.cubin"), file("sm_120.cubin"), cubin + b"abc", PTX, b"\x7fELF", b""],
        "PTX": [PTX, PTX + b"\0", file("sm_75.ptx"), ODD_PTX, PTX + b"\0\0\0", b"x", b"\0", b"no version", b""],
        "TileIR": [file("answer.tilebc"), TILE_IR, TILE_IR[:14], TILE_IR[:13], PTX, b""],
        "Reloc": [*(file(name) for name in OBJECTS), cubin, PTX, b"x" * 15, b""],
        "Index": [PTX, b""],
        # nvFatbin reads the header of what it compresses only.
        "LTOIR": [file("sm_90.ltoir"), file("sm_90.ltoir")[:7], b""],
    }


def arguments(kind, code, arch, identifier, options):
    strings = {
        "Cubin": [arch, identifier],
        "PTX": [arch, identifier, options],
        "LTOIR": [arch, identifier, options],
        "TileIR": [identifier, options],
        "Index": [identifier],
        "Reloc": [],
    }
    return ("add", kind, code, *strings[kind])


def functions(comparison, inputs):
    """Every function with every kind of argument."""
    for status in range(20):
        messages = [library.functions.nvFatbinGetErrorString(status) for library in comparison.libraries]
        comparison.same(f"message {status}", messages)
    for major, minor in itertools.product([True, False], repeat=2):
        results = []
        for library in comparison.libraries:
            release = ctypes.c_uint(), ctypes.c_uint()
            pointers = [ctypes.byref(part) if given else None for part, given in zip(release, [major, minor])]
            status = library.functions.nvFatbinVersion(*pointers)
            results.append((status, release[0].value if major and minor else None))
        comparison.same("version", results)
    null = ctypes.c_void_p()
    nulls = [("Create", [None, None, 0]), ("Destroy", [None]), ("Destroy", [ctypes.byref(null)])]
    for name, parameters in [*nulls, ("Size", [None, None]), ("Get", [None, None])]:
        functions = [getattr(library.functions, "nvFatbin" + name) for library in comparison.libraries]
        comparison.same(f"{name} of NULL", [function(*parameters) for function in functions])
    for pointer in ["Size", "Get"]:
        containers = [library.container([]) for library in comparison.libraries]
        sizes = [container.size() for container in containers]
        statuses = [getattr(it.functions, "nvFatbin" + pointer)(it.handle, None) for it in containers]
        comparison.same(f"{pointer} to NULL", list(zip(sizes, statuses)))
    for kind, codes in inputs.items():
        for call in [arguments(kind, None, b"90", b"", b""), arguments(kind, codes[0], None, None, None)]:
            comparison.run([b"-compress=false"], [call])
        containers = [library.container([]) for library in comparison.libraries]
        call = arguments(kind, codes[0], b"90", b"", b"")[1:]
        comparison.same(f"{kind} without a handle", [it.add(*call, handle=False) for it in containers])
        for code, arch in itertools.product(codes, ARCHS):
            comparison.run([b"-compress=false"], [arguments(kind, code, arch, b"a.cu", b"-v")])
    comparison.run([], [("get",), ("size",), ("get",), arguments("PTX", PTX, b"90", b"", b""), ("get",)])


def options(comparison, inputs):
    calls = [arguments("Cubin", inputs["Cubin"][0], b"90", b"", b""), arguments("PTX", PTX, b"90", b"", b""),
             arguments("TileIR", TILE_IR, b"", b"", b""), arguments("Cubin", inputs["Cubin"][1], b"100", b"", b"")]
    every = [*SWITCHES, *VALUES, *ODD]
    for option in every:
        comparison.run([option], calls)
    for pair in itertools.permutations([*SWITCHES, *VALUES], 2):
        comparison.run(list(pair), calls)
    comparison.run(None, calls)
    comparison.run(None, calls, count=1)
    comparison.run([b"-g", None], calls)


def sequence(comparison, inputs, number):
    chance = random.Random(number)
    given = [option for option in SWITCHES[1:] if chance.random() < 0.2]
    given += chance.sample(VALUES, chance.choice([0, 0, 1, 1, 2]))
    if chance.random() < 0.3:
        given.append(b"-compress=false")
    # nvFatbin scrambles LTO-IR that it compresses.
    kinds = [kind for kind in inputs if kind != "LTOIR" or given == [b"-compress=false"]]
    calls = []
    relocatable = chance.choice(inputs["Reloc"])
    for _ in range(chance.randint(1, 12)):
        if chance.random() < 0.2:
            calls.append((chance.choice(["size", "get"]),))
            continue
        kind = chance.choice(kinds)
        code = chance.choice(inputs[kind][:3] if chance.random() < 0.8 else inputs[kind])
        code = relocatable if kind == "Reloc" else code
        arch = chance.choice([b"90", b"90", b"90a", b"100", b"75", b"sm_90"])
        if kind == "Cubin" and chance.random() < 0.7:
            arch = b"100" if code == inputs[kind][1] else b"90"
        identifier, options = chance.choice([b"", b"a.cu", None]), chance.choice([b"", b"-O3 -v", None])
        calls.append(arguments(kind, code, arch, identifier, options))
    comparison.run(given, calls)


def main():
    comparison = Comparison(*sys.argv[1:])
    inputs = images()
    functions(comparison, inputs)
    options(comparison, inputs)
    for number in range(SEQUENCES):
        sequence(comparison, inputs, number)
    statuses = " ".join(map(str, sorted(comparison.statuses)))
    print(f"{SEQUENCES} sequences, {comparison.calls} calls, {comparison.bytes} bytes, statuses {statuses}")


main()
