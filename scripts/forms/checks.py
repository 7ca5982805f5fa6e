"""Checks of the files of a release: checksums, the provenance, and the program in every form. The trials `release` of the linker
tests install the forms with the tools of their users."""

import json
import os
import tempfile
from pathlib import Path

from forms import library, runs, statements, wheel
from forms.builds import output
from forms.packing import unpacked, write_tree
from forms.table import NATIVE, PROGRAMS, Failure, archive_directory, archive_name


class Check:
    """The files of a release."""

    def __init__(self, directory, version):
        self.directory = directory
        self.version = version
        self.files = {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}

    def all(self, forms):
        """Checks all files, and that these forms are among them."""
        parameters = self.statements()
        if missing := set(forms) - set(parameters["forms"]):
            raise Failure(f"the files of {self.directory}: no {', '.join(sorted(missing))}")
        is_published = parameters["profile"] != "dev"
        archives = {archive_name(self.version, form): form for form in PROGRAMS}
        native = unpacked(self.files[archive_name(self.version, NATIVE)])[f"{archive_directory(self.version, NATIVE)}/fatbin"]
        for name, data in self.files.items():
            if name in archives:
                details = self.archive(name, archives[name], is_published)
            elif name.startswith("fatbin_"):
                details = self.debian(name)
            elif name.endswith(".whl"):
                details = wheel.check(name, data, self.version, native.data, is_published)
            elif name == library.file_name(self.version):
                details = library.check(name, data, self.version, is_published)
            else:
                details = "not run"
            print(f"{name}: {len(data):,} bytes, {details}")

    def statements(self):
        """Checks the checksums and the provenance, and returns the parameters of the build."""
        files = {name: data for name, data in self.files.items() if name != statements.SUMS}
        if statements.SUMS not in self.files:
            raise Failure(f"the files of {self.directory}: no {statements.SUMS}")
        listed = self.files[statements.SUMS]
        names = [line.partition("  ")[2] for line in listed.decode().splitlines()]
        must_be_equal(sorted(files), sorted(names), f"the files of {self.directory}")
        must_be_equal(listed, statements.sums(files), statements.SUMS)
        provenance = json.loads(files.pop(f"fatbin-{self.version}.provenance.json"))
        subjects = {subject["name"]: subject["digest"]["sha256"] for subject in provenance["subject"]}
        must_be_equal(subjects, {name: statements.digest(data) for name, data in files.items()}, "subjects of the provenance")
        definition = provenance["predicate"]["buildDefinition"]
        commit = definition["resolvedDependencies"][0]["digest"]["gitCommit"]
        bom = json.loads(self.files[f"fatbin-{self.version}.cdx.json"])
        materials = {material["uri"] for material in definition["resolvedDependencies"]}
        # Members of the workspace are in the commit.
        if missing := {component["purl"] for component in bom["components"] if "hashes" in component} - materials:
            raise Failure(f"provenance lacks {', '.join(sorted(missing))}")
        print(f"statements: {len(subjects)} files, commit {commit}, {len(bom['components'])} components")
        return definition["externalParameters"]

    def archive(self, name, form, is_published):
        """Checks that a program loads only libraries of the system, contains no path of this machine if it is published, and
        runs. The trial `release/paths` checks the paths of a small program."""
        with tempfile.TemporaryDirectory() as temporary:
            directory = Path(temporary) / archive_directory(self.version, form)
            write_tree(unpacked(self.files[name]), Path(temporary), 0)
            must_be_equal(os.listdir(temporary), [directory.name], f"{name}: directories")
            program = directory / f"fatbin{PROGRAMS[form].suffix}"
            if is_published:
                wheel.without_paths(name, {program.name: program.read_bytes()})
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
