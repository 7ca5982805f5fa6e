"""The program of the wheel, and its results beside those of the module."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fatbin
from fatbin import _program


def run(*arguments: str) -> str:
    return subprocess.run(arguments, check=True, capture_output=True, text=True).stdout


def test_the_command_is_the_native_program() -> None:
    version = f"fatbin {fatbin.__version__}"
    program = _program.path()
    assert program.read_bytes()[:4] == b"\x7fELF"
    assert run(str(program), "--version").startswith(version)
    assert run(sys.executable, "-m", "fatbin", "--version").startswith(version)


def test_the_exit_status_is_that_of_the_program(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "fatbin", "scan", str(tmp_path / "missing")], capture_output=True)
    assert done.returncode == 2
    assert b"cannot open" in done.stderr


def image_fields(image: fatbin.Image) -> dict[str, Any]:
    names = ["kind", "image", "triple", "arch", "own_arch", "id", "symbol", "offset", "size", "address", "full_size"]
    names += ["codec", "producer", "format_version", "sha256"]
    found = {name: getattr(image, name) for name in names if name != "sha256" or image.index is not None}
    fields = {name: value for name, value in found.items() if value is not None}
    if image.strings:
        fields["strings"] = image.strings
    if image.size_is_estimated:
        fields["size_is_estimated"] = True
    if image.entries:
        fields["entries"] = [{"kind": kind, "name": name} for kind, name in image.entries]
    if image.containers:
        fields["containers"] = [container_fields(container) for container in image.containers]
    return fields


def container_fields(container: fatbin.Container) -> dict[str, Any]:
    names = ["type", "version", "section", "offset", "size"]
    found = {name: getattr(container, name) for name in names}
    images = [image_fields(image) for image in container.images]
    return {name: value for name, value in found.items() if value is not None} | {"images": images}


def equals_the_program(paths: list[Path]) -> int:
    """Compares the records with the document of the program; returns the number of images."""
    document = json.loads(run(str(_program.path()), "scan", "--json", "--hash", *map(str, paths)))
    files = fatbin.scan(*paths, hash=True)
    assert [file.path for file in files] == [file["path"] for file in document["files"]]
    for file, expected in zip(files, document["files"], strict=True):
        assert (file.format, file.size) == (expected["format"], expected["size"])
        containers = [container_fields(container) for container in file.containers]
        for container in expected["containers"]:
            remove_unlisted(container)
        assert containers == expected["containers"]
        assert [error.message for error in file.errors] == [error["message"] for error in expected["errors"]]
    return sum(len(file.images) for file in files)


def remove_unlisted(container: dict[str, Any]) -> None:
    """Removes what the records do not have: hashes of host code, and values without a name."""
    for image in container["images"]:
        image.pop("unknown", None)
        if image.get("kind") == "host" or "containers" in image:
            image.pop("sha256", None)
        for inner in image.get("containers", []):
            remove_unlisted(inner)


def test_records_equal_the_document_of_the_program(host_object: Path, fixtures: Path) -> None:
    assert equals_the_program([host_object, *sorted(fixtures.glob("answer*"))]) > 10


@pytest.mark.skipif("FATBIN_TEST_WHEEL" not in os.environ, reason="FATBIN_TEST_WHEEL is not the path of a wheel")
def test_records_of_a_real_wheel_equal_the_document() -> None:
    assert equals_the_program([Path(os.environ["FATBIN_TEST_WHEEL"])]) > 10
