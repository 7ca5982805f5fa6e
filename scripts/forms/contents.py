"""The files of the archives, and their places in packages."""

import shutil
import tempfile
from pathlib import Path

from forms.builds import output, run
from forms.packing import File, Link, compressed, read_tree
from forms.table import LINKED_RELEASES, PROGRAMS, ROOT

# Completions by shell: the file in the archive, and the place where Debian's shells load it from.
COMPLETIONS = {
    "bash": ("fatbin.bash", "usr/share/bash-completion/completions/fatbin"),
    "zsh": ("_fatbin", "usr/share/zsh/vendor-completions/_fatbin"),
    "fish": ("fatbin.fish", "usr/share/fish/vendor_completions.d/fatbin.fish"),
    "elvish": ("fatbin.elv", None),
    "powershell": ("fatbin.ps1", None),
}
LINKS = "usr/lib/fatbin"


def documents(native):
    """Returns the manual pages and completions, which a program that runs here prints."""
    tree = {f"completions/{file}": File(output(native, "completions", shell).encode())
            for shell, (file, _) in COMPLETIONS.items()}
    with tempfile.TemporaryDirectory() as directory:
        run(native, "man", "-o", directory)
        return tree | {f"man/{name}": File(file.data) for name, file in read_tree(Path(directory)).items()}


def archive_tree(name, program, shared, notices):
    """Returns the files of an archive, without its directory."""
    tree = {f"fatbin{PROGRAMS[name].suffix}": File(program.read_bytes(), 0o755), "THIRD-PARTY.txt": File(notices.encode())}
    tree |= {file: File((ROOT / file).read_bytes()) for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"]}
    return tree | shared


def debian_tree(tree, changelog):
    """The files of the package fatbin, from the archive."""
    share, doc = "usr/share", "usr/share/doc/fatbin"
    result = {"usr/bin/fatbin": tree["fatbin"], f"{doc}/README.md": tree["README.md"]}
    for name, file in tree.items():
        if name.startswith("man/"):
            result[f"{share}/man/man1/{name[4:]}.gz"] = File(compressed(file.data))
    for file, place in COMPLETIONS.values():
        if place:
            result[place] = tree[f"completions/{file}"]
    # Debian has the text of the Apache license in usr/share/common-licenses. The file copyright refers to it.
    result[f"{doc}/copyright"] = File((ROOT / "packaging/deb/copyright").read_bytes())
    result[f"{share}/lintian/overrides/fatbin"] = File((ROOT / "packaging/deb/fatbin/lintian-overrides").read_bytes())
    result[f"{doc}/THIRD-PARTY.gz"] = File(compressed(tree["THIRD-PARTY.txt"].data))
    result[f"{doc}/changelog.gz"] = File(compressed(changelog))
    return result


def links_tree(native, changelog):
    """Returns the files of the package fatbin-links: those that `fatbin install-links` creates, with the path of the package."""
    tree = {"usr/share/doc/fatbin-links/copyright": File((ROOT / "packaging/deb/copyright").read_bytes()),
            "usr/share/doc/fatbin-links/changelog.gz": File(compressed(changelog))}
    directories = {"bin": ["--with", "cuobjdump,roc-obj"],
                   **{f"llvm-{release}": ["--llvm", str(release)] for release in LINKED_RELEASES}}
    for name, options in directories.items():
        temporary = Path(tempfile.mkdtemp())
        output(native, "install-links", *options, temporary)
        for file, entry in read_tree(temporary).items():
            tree[f"{LINKS}/{name}/{file}"] = Link("../../../bin/fatbin") if isinstance(entry, Link) else File(entry.data)
        shutil.rmtree(temporary)
    return tree
