"""Producers: containers, objects and changed files in memory."""

import mmap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import fatbin


@pytest.fixture
def cubin(fixtures: Path) -> Path:
    return fixtures / "answer-sm_90.cubin"


@pytest.fixture
def hsaco(fixtures: Path) -> Path:
    return fixtures / "answer-gfx90a.hsaco"


def images(data: bytes) -> list[bytes]:
    [file] = fatbin.scan(data)
    assert file.errors == ()
    return [image.data.tobytes() for image in file.images]


def test_pack_returns_an_offload_binary(hsaco: Path) -> None:
    plain = fatbin.pack([hsaco, (hsaco.read_bytes(), None, "gfx90a")], kind="hip")
    smaller = fatbin.pack([hsaco, hsaco], kind="hip", compress="zstd")
    assert images(plain) == images(smaller) == [hsaco.read_bytes()] * 2
    assert len(fatbin.pack([hsaco], kind="hip", compress="zstd", level=19)) < len(
        fatbin.pack([hsaco], kind="hip", compress="zstd", level=1)
    )
    with pytest.raises(fatbin.Error, match="zlib has levels 1 to 9"):
        fatbin.pack([hsaco], kind="hip", compress="zlib", level=10)
    with pytest.raises(fatbin.Error, match="not supported before LLVM 21"):
        fatbin.pack([hsaco], kind="sycl", abi="llvm20")
    with pytest.raises(ValueError, match="unknown codec"):
        fatbin.pack([hsaco], kind="hip", compress="xz")  # type: ignore[arg-type]


def test_pack_cuda_returns_a_fat_binary(cubin: Path, fixtures: Path) -> None:
    ptx = fixtures / "answer-sm_80.ptx"
    packed = fatbin.pack_cuda([cubin, (ptx, None, "a.cu", "-v"), cubin], compress="lz4", concat=True)
    found = images(packed)
    assert found.count(cubin.read_bytes()) == 2
    assert any(image.startswith(ptx.read_bytes()) for image in found)
    assert images(fatbin.pack_cuda([cubin], compress="lz4", level=12)) == [cubin.read_bytes()]
    with pytest.raises(fatbin.Error, match="nothing is compressed"):
        fatbin.pack_cuda([cubin], level=3)
    with pytest.raises(fatbin.Error, match="CUDA fat binaries use zstd or lz4"):
        fatbin.pack_cuda([cubin], compress="zlib")  # type: ignore[arg-type]


def test_nvfatbin_stores_what_pack_cuda_stores(cubin: Path) -> None:
    container = fatbin.NvFatbin("-compress=false")
    container.add_cubin(cubin, "90")
    assert container.build() == fatbin.pack_cuda([cubin])
    container.add_ptx(b".version 8.8\n// comment\n", "90a", "a.cu", "-v")
    assert images(container.build())[1] == b".version 8.8\n\n"
    with pytest.raises(fatbin.Error, match="elf arch does not match"):
        container.add_cubin(cubin, "80")
    with pytest.raises(fatbin.Error, match="unknown option"):
        fatbin.NvFatbin("-bogus")


def test_bundles_round_trip(hsaco: Path) -> None:
    entries: dict[str, Path | bytes] = {
        "host-x86_64-unknown-linux-gnu": b"host",
        "hip-amdgcn-amd-amdhsa--gfx90a": hsaco,
    }
    for version in (2, 3):
        bundled = fatbin.bundle(entries, compress="zstd", level=9, version=version)
        assert bundled.startswith(b"CCOB")
        assert fatbin.unbundle(bundled) == {
            "host-x86_64-unknown-linux-gnu": b"host",
            "hip-amdgcn-amd-amdhsa--gfx90a": hsaco.read_bytes(),
        }
    with pytest.raises(fatbin.Error, match="not a bundle"):
        fatbin.unbundle(b"text")


def test_embed_returns_an_object(cubin: Path) -> None:
    assert images(fatbin.embed({"kernel": cubin}, host="aarch64-linux-gnu")) == [cubin.read_bytes()]


def test_prune_drops_the_images_of_other_devices(cubin: Path, hsaco: Path, tmp_path: Path) -> None:
    packed = fatbin.pack([cubin], kind="cuda") + fatbin.pack([hsaco], kind="hip")
    path = tmp_path / "packed"
    path.write_bytes(packed)
    for source in (packed, path, bytearray(packed), memoryview(packed)):
        assert images(fatbin.prune(source, ["H100"])) == [cubin.read_bytes()]
    with pytest.raises(fatbin.Error, match="packed: no device images|no device images"):
        fatbin.prune(b"text", ["H100"])


def test_drop_archs_goes_by_name(cubin: Path, hsaco: Path) -> None:
    packed = fatbin.pack([cubin], kind="cuda") + fatbin.pack([hsaco], kind="hip")
    assert images(fatbin.drop_archs(packed, ["sm_90"])) == [hsaco.read_bytes()]
    with pytest.raises(fatbin.Error, match="nothing would be left"):
        fatbin.drop_archs(packed, ["sm_90", "gfx90a"])


def test_transcode_changes_the_form(cubin: Path) -> None:
    plain = fatbin.pack_cuda([cubin, cubin])
    smaller = fatbin.transcode(plain, "zstd")
    assert len(smaller) < len(plain)
    assert images(smaller) == images(plain)
    assert fatbin.transcode(smaller, "none") == plain
    assert len(fatbin.transcode(plain, "zstd", best=True)) < len(fatbin.transcode(plain, "zstd", level=1))
    with pytest.raises(fatbin.Error, match="level 23"):
        fatbin.transcode(plain, "zstd", level=23)
    with pytest.raises(fatbin.Error, match="several forms"):
        fatbin.transcode(plain, "v2", "v3")


def test_replace_changes_one_image(cubin: Path, fixtures: Path) -> None:
    new = fixtures / "answer-sm_90-debug.cubin"
    replaced = fatbin.replace(fatbin.pack_cuda([cubin, cubin]), {1: new})
    assert images(replaced) == [cubin.read_bytes(), new.read_bytes()]
    with pytest.raises(fatbin.Error, match="number 7|no image 7|image 7"):
        fatbin.replace(fatbin.pack_cuda([cubin]), {7: new})


def test_buffers_are_sources(cubin: Path) -> None:
    expected = fatbin.pack_cuda([cubin])
    with cubin.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert fatbin.pack_cuda([mapped]) == expected
        assert fatbin.pack_cuda([memoryview(mapped)]) == expected
    with pytest.raises(TypeError, match="expected a path, or bytes"):
        fatbin.pack_cuda([3])  # type: ignore[list-item]


def test_equal_requests_give_equal_bytes_in_threads(cubin: Path) -> None:
    results: list[bytes] = []
    work: Callable[[], None] = lambda: results.append(fatbin.pack_cuda([cubin] * 8, compress="zstd", concat=True))
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and len(set(results)) == 1
