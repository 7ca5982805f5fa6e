"""Checks of finished files: checksums, provenance, and every form unpacked, run and packed again."""

import json
import os
import re
import tempfile
from pathlib import Path

from forms import debian, library, oci, runs, statements, wheel
from forms.builds import output
from forms.packing import archive, read_tree, unpacked, write_tree
from forms.table import NATIVE, PROGRAMS, ROOT, Failure, archive_directory, archive_name


class Check:
    """The files of a release."""

    def __init__(self, directory, source):
        self.directory = directory
        self.version, self.epoch = source.version, source.epoch
        self.level = self.profile = None
        self.files = {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}

    def all(self, forms):
        """Checks forms, and that there are no other files."""
        expected = {name for form in forms for name in self.names(form, forms)}
        others = {statements.SUMS, statements.sbom_name(self.version), statements.provenance_name(self.version)}
        must_be_equal(sorted(self.files), sorted(expected | others), f"the files of {self.directory}")
        self.statements()
        for form in forms:
            if form in PROGRAMS:
                self.archive(form)
            elif form == "deb":
                self.debian(forms)
            elif form == "oci":
                self.oci(forms)
            elif form == "wheel":
                self.wheel()
            elif form == "c-library":
                name = library.file_name(self.version)
                details = library.check(self.files[name], self.version, self.epoch, self.level, self.profile != "dev")
                print(f"c-library: {name}: {details}")

    def names(self, form, forms):
        """Returns the names of the files of a form, beside others."""
        if form in PROGRAMS:
            return [archive_name(self.version, form)]
        if form == "oci":
            return [oci.file_name(self.version)]
        if form == "c-library":
            return [library.file_name(self.version)]
        if form == "wheel":
            # Its name states the systems for which it is.
            return [name for name in self.files if re.fullmatch(f"fatbin-{re.escape(self.version)}-cp311-abi3-manylinux.*[.]whl", name)][:1]
        machines = [PROGRAMS[name].debian for name in forms if name in PROGRAMS and PROGRAMS[name].debian]
        return [*(debian.file_name("fatbin", self.version, machine) for machine in machines),
                debian.file_name("fatbin-links", self.version, "all")]

    def statements(self):
        listed = self.files[statements.SUMS]
        files = {name: data for name, data in self.files.items() if name != statements.SUMS}
        must_be_equal(listed, statements.sums(files), statements.SUMS)
        provenance = json.loads(files.pop(statements.provenance_name(self.version)))
        subjects = {subject["name"]: subject["digest"]["sha256"] for subject in provenance["subject"]}
        must_be_equal(subjects, {name: statements.digest(data) for name, data in files.items()}, "subjects of the provenance")
        definition = provenance["predicate"]["buildDefinition"]
        # Those of the build: the checkout may be at another commit since.
        self.epoch = definition["internalParameters"]["sourceDateEpoch"]
        self.profile = definition["externalParameters"]["profile"]
        self.level = statements.compression(self.profile)
        commit = definition["resolvedDependencies"][0]["digest"]["gitCommit"]
        if not re.fullmatch("[0-9a-f]{40}", commit):
            raise Failure(f"provenance: commit {commit}")
        bom = json.loads(self.files[statements.sbom_name(self.version)])
        must_be_equal(bom["metadata"]["component"]["version"], self.version, "version in the SBOM")
        materials = {material["uri"] for material in definition["resolvedDependencies"]}
        if missing := {component["purl"] for component in bom["components"]} - materials:
            raise Failure(f"provenance lacks {', '.join(sorted(missing))}")
        print(f"statements: {len(subjects)} files, commit {commit}, {len(bom['components'])} components")

    def archive(self, form):
        name = archive_name(self.version, form)
        data = self.files[name]
        tree = unpacked(data)
        must_be_equal(archive(name, tree, self.epoch, self.level), data, f"{name}, packed again")
        with tempfile.TemporaryDirectory() as temporary:
            directory = Path(temporary) / archive_directory(self.version, form)
            write_tree(tree, Path(temporary), self.epoch)
            must_be_equal(sorted(os.listdir(temporary)), [directory.name], f"{name}: directories")
            program = directory / f"fatbin{PROGRAMS[form].suffix}"
            linked = self.program(program, form)
            is_run = self.is_run(PROGRAMS[form].runner, program, form)
        print(f"{form}: {len(data):,} bytes, program {len(tree[f'{directory.name}/{program.name}'].data):,} bytes, {linked}, "
              f"{is_run}, reproducible archive")

    def program(self, path, form):
        """Checks that a program loads only libraries of the system, and contains no path of this machine."""
        for text in [str(ROOT), str(Path.home() / ".cargo")]:
            if text.encode() in path.read_bytes():
                raise Failure(f"{path.name} of {form} contains {text}")
        return runs.linkage(path, form)

    def is_run(self, runner, program, form):
        if runner is None:
            return "not run: this machine has no emulator for it"
        must_be_equal(runs.version(runner, program), f"fatbin {self.version}", f"{form} --version")
        return "runs"

    def debian(self, forms):
        for name in self.names("deb", forms):
            package, _, architecture = name.removesuffix(".deb").split("_")
            path = self.directory / name
            fields = dict(line.split(": ", 1) for line in output("dpkg-deb", "--field", path).splitlines() if ": " in line)
            must_be_equal([fields["Package"], fields["Version"], fields["Architecture"]],
                          [package, self.version, architecture], f"{name}: control")
            with tempfile.TemporaryDirectory() as temporary:
                tree = Path(temporary) / "tree"
                output("dpkg-deb", "--raw-extract", path, tree)
                files = {file: entry for file, entry in read_tree(tree).items() if not file.startswith("DEBIAN/")}
                packed = debian.package(package, self.version, architecture, files, self.epoch,
                                        self.level)
                must_be_equal(packed, self.files[name], f"{name}, packed again")
                details = f"{len(files)} files"
                if package == "fatbin":
                    form = next(form for form in forms if form in PROGRAMS and PROGRAMS[form].debian == architecture)
                    details = self.is_run(PROGRAMS[form].runner, tree / "usr/bin/fatbin", name)
            print(f"deb: {name}: {len(self.files[name]):,} bytes, {details}, reproducible")

    def wheel(self):
        names = self.names("wheel", [])
        if not names:
            raise Failure(f"{self.directory}: no wheel")
        program = unpacked(self.files[archive_name(self.version, NATIVE)])[f"{archive_directory(self.version, NATIVE)}/fatbin"]
        details = wheel.check(names[0], self.files[names[0]], self.version, program.data, self.profile != "dev")
        print(f"wheel: {names[0]}: {details}")

    def oci(self, forms):
        name = oci.file_name(self.version)
        image = oci.Image(self.files[name])
        trees = {}
        for form in forms:
            if form in PROGRAMS and PROGRAMS[form].oci:
                directory = archive_directory(self.version, form)
                files = unpacked(self.files[archive_name(self.version, form)])
                trees[PROGRAMS[form].oci] = {path.removeprefix(f"{directory}/"): file for path, file in files.items()}
        must_be_equal(sorted(image.manifests), sorted(trees), f"{name}: architectures")
        must_be_equal(oci.image(trees, self.version, self.epoch, self.level), self.files[name], f"{name}, packed again")
        [entrypoint] = image.configuration("amd64")["config"]["Entrypoint"]
        with tempfile.TemporaryDirectory() as temporary:
            write_tree(unpacked(image.layer("amd64")), Path(temporary), self.epoch)
            # Only root may change the root directory.
            runner = ("chroot", temporary) if os.geteuid() == 0 else ()
            program = entrypoint if runner else temporary + entrypoint
            is_run = self.is_run(runner, program, name)
        print(f"oci: {name}: {len(self.files[name]):,} bytes, {', '.join(sorted(trees))}, {is_run}, reproducible")


def must_be_equal(found, expected, what):
    if found != expected:
        details = f": {found!r}, expected {expected!r}" if len(repr(found)) < 2000 else ""
        raise Failure(f"{what}: differs{details}")
