"""The program that the rules run, for MODULE.bazel."""

load(":repositories.bzl", "fatbin_program")

def _fatbin(_):
    fatbin_program(name = "fatbin_program")

fatbin = module_extension(implementation = _fatbin)
