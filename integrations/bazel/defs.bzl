"""Device code as a part of the build.

fatbin_wrap writes an object that registers device images with their runtime, fatbin_embed one with files as named data. Both are
listed in `srcs` of a cc_binary or cc_library. fatbin_bundle writes a bundle of images, and fatbin_check_test checks files against
a policy.
"""

# All rules run the program of the repository fatbin_program; see repositories.bzl.
_PROGRAM = {
    "_program": attr.label(
        default = "@fatbin_program//:fatbin",
        allow_single_file = True,
        executable = True,
        cfg = "exec",
    ),
}

_OBJECT = {
    "host": attr.string(doc = "Triple of the host; by default the machine that fatbin was built for."),
}

def _only_file(target):
    files = target.files.to_list()
    if len(files) != 1:
        fail("%s: expected one file, found %d" % (target.label, len(files)))
    return files[0]

def _run(ctx, mnemonic, arguments, inputs, outputs):
    ctx.actions.run(
        executable = ctx.executable._program,
        arguments = [arguments],
        inputs = inputs,
        outputs = outputs,
        mnemonic = mnemonic,
    )
    return [DefaultInfo(files = depset(outputs))]

def _arguments(ctx, command, output):
    arguments = ctx.actions.args()
    arguments.add(command)
    arguments.add("--output", output)
    if getattr(ctx.attr, "host", ""):
        arguments.add("--host", ctx.attr.host)
    return arguments

def _wrap(ctx):
    output = ctx.actions.declare_file(ctx.label.name + ".o")
    arguments = _arguments(ctx, "wrap", output)
    arguments.add("--kind", ctx.attr.kind)
    if ctx.attr.abi:
        arguments.add("--abi", ctx.attr.abi)
    if ctx.attr.raw:
        arguments.add("--raw")
    arguments.add_all(ctx.attr.entries, before_each = "--entry")
    images = []
    for target, properties in ctx.attr.images.items():
        image = _only_file(target)
        images.append(image)
        arguments.add("--image", image, format = "file=%s" + ("," + properties if properties else ""))
    return _run(ctx, "FatbinWrap", arguments, images, [output])

fatbin_wrap = rule(
    doc = "Writes NAME.o, an object that registers device images when its program or library is loaded.",
    implementation = _wrap,
    attrs = dict(
        _PROGRAM,
        abi = attr.string(doc = "Release of LLVM, such as llvm22; by default the newest."),
        entries = attr.string_list(doc = "Offload entries, each as for `fatbin wrap --entry`."),
        images = attr.label_keyed_string_dict(
            doc = "Images, each with its properties, such as triple=T,arch=A, where its header lacks them, else an empty string.",
            allow_files = True,
            mandatory = True,
        ),
        kind = attr.string(doc = "Runtime.", values = ["openmp", "cuda", "hip", "sycl"], mandatory = True),
        raw = attr.bool(doc = "Embeds the images without an offload binary around each."),
        **_OBJECT
    ),
)

def _embed(ctx):
    output = ctx.actions.declare_file(ctx.label.name + ".o")
    outputs = [output]
    arguments = _arguments(ctx, "embed", output)
    if ctx.outputs.header:
        outputs.append(ctx.outputs.header)
        arguments.add("--header", ctx.outputs.header)
    if ctx.attr.index:
        arguments.add("--index", ctx.attr.index)
    files = []
    for target, symbol in ctx.attr.symbols.items():
        file = _only_file(target)
        files.append(file)
        arguments.add("--symbol", file, format = symbol + "=%s")
    return _run(ctx, "FatbinEmbed", arguments, files, outputs)

fatbin_embed = rule(
    doc = "Writes NAME.o, an object with the bytes of files and symbols that lead to them.",
    implementation = _embed,
    attrs = dict(
        _PROGRAM,
        header = attr.output(doc = "Header for C and C++."),
        index = attr.string(doc = "Name of a table of all files."),
        symbols = attr.label_keyed_string_dict(doc = "Files, each with its symbol.", allow_files = True, mandatory = True),
        **_OBJECT
    ),
)

def _bundle(ctx):
    arguments = _arguments(ctx, "bundle", ctx.outputs.out)
    arguments.add("--type", ctx.attr.type)
    if ctx.attr.compress:
        arguments.add("--compress")
    for host in ctx.attr.hosts:
        arguments.add("--target", "host-%s-=/dev/null" % host)
    files = []
    for target, entry in ctx.attr.targets.items():
        file = _only_file(target)
        files.append(file)
        arguments.add("--target", file, format = entry + "=%s")
    return _run(ctx, "FatbinBundle", arguments, files, [ctx.outputs.out])

fatbin_bundle = rule(
    doc = "Writes a bundle of device images.",
    implementation = _bundle,
    attrs = dict(
        _PROGRAM,
        compress = attr.bool(doc = "Compresses the bundle."),
        hosts = attr.string_list(doc = "Triples of hosts, whose entries are empty. HIP requires one."),
        out = attr.output(doc = "The bundle.", mandatory = True),
        targets = attr.label_keyed_string_dict(doc = "Files, each with its entry ID.", allow_files = True, mandatory = True),
        type = attr.string(doc = "Type of the files, as for `fatbin bundle --type`.", default = "o"),
    ),
)

def _check_test(ctx):
    words = [ctx.executable._program.short_path, "check", "--policy", ctx.file.policy.short_path, "--"]
    words += [file.short_path for file in ctx.files.files]
    quoted = ["'%s'" % word.replace("'", "'\\''") for word in words]
    script = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(script, "#!/bin/sh\nexec " + " ".join(quoted) + "\n", is_executable = True)
    inputs = [ctx.executable._program, ctx.file.policy] + ctx.files.files
    return [DefaultInfo(executable = script, runfiles = ctx.runfiles(files = inputs))]

fatbin_check_test = rule(
    doc = "Checks files against a policy, as `fatbin check` does.",
    implementation = _check_test,
    test = True,
    attrs = dict(
        _PROGRAM,
        files = attr.label_list(doc = "Programs, libraries and other files with device code.", allow_files = True, mandatory = True),
        policy = attr.label(doc = "The policy.", allow_single_file = [".toml"], mandatory = True),
    ),
)
