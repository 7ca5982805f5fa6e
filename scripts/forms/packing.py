"""Trees of files, and archives that depend on nothing but a tree and one time."""

import gzip
import io
import os
import tarfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class File:
    data: bytes
    mode: int = 0o644


@dataclass(frozen=True)
class Link:
    """A symbolic link."""
    target: str


def write_tree(tree, directory, epoch):
    """Writes a tree to a new directory, with the modes and times of a package."""
    for path, entry in tree.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(entry, Link):
            target.symlink_to(entry.target)
        else:
            target.write_bytes(entry.data)
            target.chmod(entry.mode)
    for path in [directory, *directory.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
        os.utime(path, (epoch, epoch), follow_symlinks=False)


def read_tree(directory):
    tree = {}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.is_symlink():
            tree[name] = Link(os.readlink(path))
        elif path.is_file():
            tree[name] = File(path.read_bytes(), path.stat().st_mode & 0o777)
    return tree


# Best compression, for what is published.
BEST = 9


def compressed(data, level=BEST):
    """Compresses with gzip, without a name and a time."""
    return gzip.compress(data, level, mtime=0)


def tar(tree, epoch, directories=()):
    """Returns a tar file: parents before their entries, sorted, owned by root. It may have further directories."""
    result = io.BytesIO()
    with tarfile.open(fileobj=result, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted({*tree, *parents(tree), *directories}):
            entry = tree.get(path)
            member = tarfile.TarInfo(path)
            member.mtime, member.mode = epoch, 0o755
            if isinstance(entry, File):
                member.size, member.mode = len(entry.data), entry.mode
                archive.addfile(member, io.BytesIO(entry.data))
                continue
            member.type, member.linkname = (tarfile.SYMTYPE, entry.target) if entry else (tarfile.DIRTYPE, "")
            archive.addfile(member)
    return result.getvalue()


def parents(tree):
    return {parent.as_posix() for path in tree for parent in Path(path).parents if parent != Path(".")}


def zipped(tree, epoch, level):
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for path, file in sorted(tree.items()):
            member = zipfile.ZipInfo(path, time.gmtime(max(epoch, 315532800))[:6])
            member.external_attr, member.compress_type = (0o100000 | file.mode) << 16, zipfile.ZIP_DEFLATED
            # The default is the system that packs.
            member.create_system = 3
            archive.writestr(member, file.data)
    return result.getvalue()


def unpacked(data):
    """Returns the tree of an archive that this module has written."""
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {member.filename: File(archive.read(member), member.external_attr >> 16 & 0o777)
                    for member in archive.infolist()}
    tree = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive.getmembers():
            if member.isfile():
                tree[member.name] = File(archive.extractfile(member).read(), member.mode)
            elif member.issym():
                tree[member.name] = Link(member.linkname)
    return tree


def archive(name, tree, epoch, level):
    return zipped(tree, epoch, level) if name.endswith(".zip") else compressed(tar(tree, epoch), level)
