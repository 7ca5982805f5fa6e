"""Checks of the files of a release: checksums, the provenance, and the program in every form. The trials `release` of the linker
tests install the forms with the tools of their users."""

import json
import os
import re
import tempfile
from pathlib import Path

from forms import debian, library, oci, runs, statements, wheel
from forms.builds import output
from forms.packing import unpacked, write_tree
from forms.table import NATIVE, PROGRAMS, ROOT, Failure, archive_directory, archive_name


class Check:
    """The files of a release."""

    def __init__(self, directory, source):
        self.directory = directory
        self.version = source.version
        self.files = {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}

    def all(self, forms):
        """Checks forms, and that there are no other files."""
        expected = {name for form in forms for name in self.names(form, forms)}
        others = {statements.SUMS, statements.sbom_name(self.version), statements.provenance_name(self.version)}
        must_be_equal(sorted(self.files), sorted(expected | others), f"the files of {self.directory}")
        is_published = self.statements() != "dev"
        native = unpacked(self.files[archive_name(self.version, NATIVE)])[f"{archive_directory(self.version, NATIVE)}/fatbin"]
        for form in forms:
            for name in self.names(form, forms):
                if form in PROGRAMS:
                    details = self.archive(name, form)
                elif name.startswith("fatbin_"):
                    details = self.debian(name)
                elif form == "wheel":
                    details = wheel.check(name, self.files[name], self.version, native.data, is_published)
                elif form == "c-library":
                    details = library.check(name, self.files[name], self.version, is_published)
                else:
                    details = "not run"
                print(f"{form}: {name}: {len(self.files[name]):,} bytes, {details}")

    def names(self, form, forms):
        """The names of the files of a form. Those of Debian packages depend on the other forms."""
        if form in PROGRAMS:
            return [archive_name(self.version, form)]
        if form == "oci":
            return [oci.file_name(self.version)]
        if form == "c-library":
            return [library.file_name(self.version)]
        if form == "wheel":
            # Its name states the systems that it supports.
            pattern = f"fatbin-{re.escape(self.version)}-cp311-abi3-manylinux.*[.]whl"
            return [name for name in self.files if re.fullmatch(pattern, name)][:1] or ["fatbin-*.whl"]
        machines = [PROGRAMS[name].debian for name in forms if name in PROGRAMS and PROGRAMS[name].debian]
        return [*(debian.file_name("fatbin", self.version, machine) for machine in machines),
                debian.file_name("fatbin-links", self.version, "all")]

    def statements(self):
        """Checks the checksums and the provenance, and returns the profile of the build."""
        listed = self.files[statements.SUMS]
        files = {name: data for name, data in self.files.items() if name != statements.SUMS}
        must_be_equal(listed, statements.sums(files), statements.SUMS)
        provenance = json.loads(files.pop(statements.provenance_name(self.version)))
        subjects = {subject["name"]: subject["digest"]["sha256"] for subject in provenance["subject"]}
        must_be_equal(subjects, {name: statements.digest(data) for name, data in files.items()}, "subjects of the provenance")
        definition = provenance["predicate"]["buildDefinition"]
        commit = definition["resolvedDependencies"][0]["digest"]["gitCommit"]
        bom = json.loads(self.files[statements.sbom_name(self.version)])
        materials = {material["uri"] for material in definition["resolvedDependencies"]}
        if missing := {component["purl"] for component in bom["components"]} - materials:
            raise Failure(f"provenance lacks {', '.join(sorted(missing))}")
        print(f"statements: {len(subjects)} files, commit {commit}, {len(bom['components'])} components")
        return definition["externalParameters"]["profile"]

    def archive(self, name, form):
        """Checks that a program loads only libraries of the system, contains no path of this machine, and runs."""
        with tempfile.TemporaryDirectory() as temporary:
            directory = Path(temporary) / archive_directory(self.version, form)
            write_tree(unpacked(self.files[name]), Path(temporary), 0)
            must_be_equal(os.listdir(temporary), [directory.name], f"{name}: directories")
            program = directory / f"fatbin{PROGRAMS[form].suffix}"
            for text in [str(ROOT), str(Path.home() / ".cargo")]:
                if text.encode() in program.read_bytes():
                    raise Failure(f"{program.name} of {form} contains {text}")
            return f"{runs.linkage(program, form)}, {self.is_run(PROGRAMS[form].runner, program, name)}"

    def debian(self, name):
        architecture = name.removesuffix(".deb").split("_")[-1]
        [runner] = [program.runner for program in PROGRAMS.values() if program.debian == architecture]
        with tempfile.TemporaryDirectory() as temporary:
            output("dpkg-deb", "--extract", self.directory / name, temporary)
            return self.is_run(runner, Path(temporary) / "usr/bin/fatbin", name)

    def is_run(self, runner, program, name):
        if runner is None:
            return "not run: this machine has no emulator for it"
        must_be_equal(runs.version(runner, program), f"fatbin {self.version}", f"{name} --version")
        return "runs"


def must_be_equal(found, expected, what):
    if found != expected:
        details = f": {found!r}, expected {expected!r}" if len(repr(found)) < 2000 else ""
        raise Failure(f"{what}: differs{details}")
