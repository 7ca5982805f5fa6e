"""Systematic damage to a seed. A family of mutants is a sequence, so that a sample of it is a list of numbers."""

import random
import re

from trials.seeds import BINARY, COLUMNS

SEED = 22
# Bits of a byte, and the bytes that replace it.
BITS, REPLACEMENTS = 8, [0x00, 0xFF]
WIDTHS = [2, 4, 8]
NUMBER = re.compile(rb"[0-9]+")


class Prefixes:
    """Every proper prefix."""

    def __init__(self, seed):
        self.data = seed.data

    def __len__(self):
        return len(self.data)

    def __getitem__(self, number):
        return f"prefix-{number:#x}", self.data[:number]


class Flips:
    """Every flipped bit, and every byte replaced by all zeros and all ones."""

    def __init__(self, seed):
        self.data = seed.data

    def __len__(self):
        return len(self.data) * (BITS + len(REPLACEMENTS))

    def __getitem__(self, number):
        at, change = divmod(number, BITS + len(REPLACEMENTS))
        data = bytearray(self.data)
        data[at] = data[at] ^ (1 << change) if change < BITS else REPLACEMENTS[change - BITS]
        return f"flip-{at:#x}-{change}", bytes(data)


def extremes(width, size, at):
    """Returns the extremes of an integer field: they concern counts, offsets and sizes alike."""
    highest = (1 << 8 * width) - 1
    return [min(value, highest) for value in (0, 1, highest, highest >> 1, size, size + 1, max(size - at, 0))]


class BinaryFields:
    """Every aligned integer of 2, 4 and 8 bytes at its extremes, in both byte orders."""

    def __init__(self, seed):
        self.data = seed.data
        self.places = [(at, width) for width in WIDTHS for at in range(0, len(self.data) - width + 1, min(width, 4))]
        self.values = len(extremes(2, 0, 0))

    def __len__(self):
        return len(self.places) * self.values * 2

    def __getitem__(self, number):
        place, change = divmod(number, self.values * 2)
        at, width = self.places[place]
        order = ["little", "big"][change % 2]
        value = extremes(width, len(self.data), at)[change // 2]
        return (f"field-{at:#x}-{width}-{order}-{value:#x}",
                self.data[:at] + value.to_bytes(width, order) + self.data[at + width:])


class TextFields:
    """Every number of a text at its extremes; in columns, with the width of the number."""

    def __init__(self, seed):
        self.data = seed.data
        self.in_columns = seed.numbers == COLUMNS
        self.places = [match.span() for match in NUMBER.finditer(seed.data)]
        self.values = len(self.extremes(1))

    def extremes(self, width):
        size = len(self.data)
        if self.in_columns:
            texts = ["0", "1", "7" * width, "9" * width, str(size), f"{size:o}", "-1"]
            return [text[:width].rjust(width, "0").encode() for text in texts]
        numbers = [0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 10**40, -1, size]
        return [str(number).encode() for number in numbers]

    def __len__(self):
        return len(self.places) * self.values

    def __getitem__(self, number):
        place, change = divmod(number, self.values)
        start, end = self.places[place]
        value = self.extremes(end - start)[change]
        return f"field-{start:#x}-{value.decode()[:24]}", self.data[:start] + value + self.data[end:]


def fields(seed):
    return BinaryFields(seed) if seed.numbers == BINARY else TextFields(seed)


FAMILIES = {"prefixes": Prefixes, "flips": Flips, "fields": fields}


def sample(family, seed, most):
    """Returns numbers of at most `most` mutants of a seed, the same ones on every run."""
    length = len(FAMILIES[family](seed))
    if length <= most:
        return list(range(length))
    return sorted(random.Random(f"{SEED} {family} {seed.name}").sample(range(length), most))


def can_be_whole(seed, mutant):
    """Returns whether a prefix may lack only padding: zeros or line feeds at its end."""
    return len(mutant) >= len(seed.data.rstrip(b"\0\n"))
