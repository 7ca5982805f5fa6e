"""The program that the rules run: FATBIN_PROGRAM, or the first `fatbin` in PATH."""

def _program(ctx):
    program = ctx.os.environ.get("FATBIN_PROGRAM") or ctx.which("fatbin")
    if not program:
        fail("fatbin not found: add it to PATH or set FATBIN_PROGRAM")
    ctx.symlink(program, "fatbin")
    ctx.file("BUILD.bazel", 'exports_files(["fatbin"], visibility = ["//visibility:public"])\n')

fatbin_program = repository_rule(
    doc = "A repository with the installed program.",
    implementation = _program,
    environ = ["FATBIN_PROGRAM", "PATH"],
    local = True,
)
