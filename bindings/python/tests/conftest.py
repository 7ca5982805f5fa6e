"""Sample files: images from the fixtures of the repository, and a host object with two of them."""

from pathlib import Path

import pytest

import fatbin

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


@pytest.fixture
def fixtures() -> Path:
    return FIXTURES


@pytest.fixture
def host_object(tmp_path: Path) -> Path:
    """A host object with an uncompressed image for AMD's GPUs, and one for the host."""
    path = tmp_path / "images.o"
    images = [FIXTURES / "answer-gfx90a.hsaco", FIXTURES / "answer-x86_64.so"]
    fatbin.wrap(images, kind="openmp", host="x86_64-linux-gnu", output=path)
    return path
