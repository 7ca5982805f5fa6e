"""Debian packages, from the files under packaging/deb."""

import hashlib
import os
import re
import tempfile
from email.utils import formatdate
from pathlib import Path

from forms.builds import output, required
from forms.packing import File, Link, write_tree
from forms.table import ROOT

TEMPLATES = ROOT / "packaging/deb"


def changelog(package, version, epoch):
    """Returns the changelog that Debian's tools read."""
    control = (TEMPLATES / package / "control").read_text()
    maintainer = re.search("^Maintainer: (.*)$", control, re.MULTILINE)[1]
    return (f"{package} ({version}) unstable; urgency=medium\n\n  * See CHANGELOG.md of the sources.\n\n"
            f" -- {maintainer}  {formatdate(epoch)}\n").encode()


def file_name(package, version, architecture):
    return f"{package}_{version}_{architecture}.deb"


def package(name, version, architecture, tree, epoch, level):
    required("dpkg-deb")
    # Debian counts an entry that is not a file as one KiB.
    size = sum(-(-len(entry.data) // 1024) if isinstance(entry, File) else 1 for entry in tree.values())
    control = (TEMPLATES / name / "control").read_text().format(version=version, architecture=architecture, size=size)
    sums = "".join(f"{hashlib.md5(entry.data).hexdigest()}  {path}\n" for path, entry in sorted(tree.items())
                   if not isinstance(entry, Link))
    tree = tree | {"DEBIAN/control": File(control.encode()), "DEBIAN/md5sums": File(sums.encode())}
    with tempfile.TemporaryDirectory() as temporary:
        directory, deb = Path(temporary) / "tree", Path(temporary) / "package.deb"
        directory.mkdir()
        write_tree(tree, directory, epoch)
        output("dpkg-deb", "--build", "--root-owner-group", "-Zxz", f"-z{level}", directory, deb,
               env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)})
        return deb.read_bytes()
