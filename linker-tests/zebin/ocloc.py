"""Runs Intel's offline compiler: ocloc.py DIRECTORY-OF-LIBRARIES ARGUMENT..."""

import ctypes
import sys

library = ctypes.CDLL(f"{sys.argv[1]}/libocloc.so")
arguments = [argument.encode() for argument in ["ocloc", *sys.argv[2:]]]
array = (ctypes.c_char_p * len(arguments))(*arguments)
# No sources and headers in memory, and no outputs there.
sys.exit(library.oclocInvoke(len(arguments), array, 0, None, None, None, 0, None, None, None, *[None] * 4) & 0xFF)
