"""The packages that the program is built from, and their licenses."""

import hashlib
import json
import re
import subprocess
import tomllib
from pathlib import Path

from forms.table import ROOT

LICENSE_FILE = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)", re.IGNORECASE)


class Dependencies:
    """The packages of a Cargo.lock that a build with default features uses, without those of tests."""

    def __init__(self, target=None, directory=ROOT):
        command = ["cargo", "metadata", "--locked", "--format-version=1"]
        command += ["--filter-platform", target] if target else []
        metadata = json.loads(subprocess.run(command, cwd=directory, check=True, stdout=subprocess.PIPE).stdout)
        self.packages = {package["id"]: package for package in metadata["packages"]}
        self._nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        self.root = metadata["resolve"]["root"]
        used, waiting = set(), [self.root]
        while waiting:
            package = waiting.pop()
            if package not in used:
                used.add(package)
                waiting += self.of(package)
        # All but the program itself, sorted by name.
        self.others = sorted(used - {self.root}, key=lambda package: (self.packages[package]["name"],
                                                                      self.packages[package]["version"]))

    def of(self, package):
        """The packages that a package is linked with or built by, without its tests' packages."""
        return {dependency["pkg"] for dependency in self._nodes[package]["deps"]
                if any(kind["kind"] in (None, "build") for kind in dependency["dep_kinds"])}


def checksums(directory=ROOT):
    packages = tomllib.loads((directory / "Cargo.lock").read_text())["package"]
    return {(package["name"], package["version"]): package["checksum"] for package in packages if "checksum" in package}


def notices(target, directory=ROOT):
    """Returns the licenses of everything that the program for a target, or another package, contains, each text once."""
    dependencies = Dependencies(target, directory)
    parts = [path.read_text() for path in sorted((ROOT / "packaging/notices").iterdir())]
    texts, users = {}, {}
    for package in (dependencies.packages[other] for other in dependencies.others):
        name = f"{package['name']} {package['version']}"
        found = False
        # fatbin itself, whose licenses are in the same directory as this text.
        if package["source"] is None:
            continue
        # A package's C sources have separate licenses.
        for path in sorted(Path(package["manifest_path"]).parent.rglob("*")):
            if path.is_file() and LICENSE_FILE.match(path.name):
                text = path.read_text(errors="replace").strip()
                digest = hashlib.sha256(" ".join(text.split()).encode()).hexdigest()
                texts.setdefault(digest, text)
                users.setdefault(digest, []).append(name)
                found = True
        if not found:
            parts.append(f"{name}: {package['license']}, without a file of it\n")
    parts += [f"{', '.join(users[digest])}:\n\n{text}\n" for digest, text in texts.items()]
    return f"\n{'-' * 80}\n\n".join(parts)
