"""The program that the rules run: FATBIN_PROGRAM, else the program of the installation with these rules, else the first `fatbin` in PATH."""

def _program(ctx):
    # The rules are in share/fatbin/bazel of an installation or of an unpacked archive.
    prefix = ctx.path(ctx.attr._rules).realpath.dirname
    for _ in range(3):
        prefix = prefix.dirname or prefix
    installed = prefix.get_child("bin").get_child("fatbin")
    program = ctx.os.environ.get("FATBIN_PROGRAM") or (installed if installed.exists else ctx.which("fatbin"))
    if not program:
        fail("fatbin not found: add it to PATH or set FATBIN_PROGRAM")
    ctx.symlink(program, "fatbin")
    ctx.file("BUILD.bazel", 'exports_files(["fatbin"], visibility = ["//visibility:public"])\n')

fatbin_program = repository_rule(
    doc = "A repository with the installed program.",
    implementation = _program,
    attrs = {"_rules": attr.label(default = ":BUILD.bazel")},
    environ = ["FATBIN_PROGRAM", "PATH"],
    local = True,
)
