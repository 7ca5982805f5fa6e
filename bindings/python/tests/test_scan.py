"""Scans, and the bytes of images."""

import gc
import hashlib
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

import fatbin


def test_the_attributes_are_those_of_the_images(host_object: Path, fixtures: Path) -> None:
    [file] = fatbin.scan(host_object)
    assert (file.path, file.format, file.size) == (str(host_object), "elf", host_object.stat().st_size)
    assert [container.type for container in file.containers] == ["offload-binary"] * 2
    gpu, host = file.images
    assert (gpu.index, gpu.kind, gpu.triple, gpu.arch, gpu.image) == (0, "openmp", "amdgcn-amd-amdhsa", "gfx90a", "elf")
    assert (host.index, host.arch, host.compressed, host.codec) == (1, None, False, None)
    assert gpu.extension == "hsaco"
    for image, name in [(gpu, "answer-gfx90a.hsaco"), (host, "answer-x86_64.so")]:
        expected = (fixtures / name).read_bytes()
        assert image.data == expected
        assert image.size == len(expected)
        assert image.sha256 == hashlib.sha256(expected).hexdigest()
        assert image.offset is not None
        assert host_object.read_bytes()[image.offset :].startswith(expected)
    assert file.containers[0].images[0].index == 0
    assert file.errors == ()


def test_data_is_a_read_only_view_that_outlives_the_scan(host_object: Path, fixtures: Path) -> None:
    data = fatbin.scan(host_object)[0].images[0].data
    part = data[1:4]
    del data
    gc.collect()
    # The file is unlinked, and its mapping stays.
    host_object.unlink()
    assert bytes(part) == b"ELF"
    assert part.readonly
    with pytest.raises(TypeError):
        part[0] = 0


def test_data_is_not_copied(host_object: Path) -> None:
    image = fatbin.scan(host_object)[0].images[0]
    with Path("/proc/self/maps").open() as maps:
        mapped = [line for line in maps if str(host_object) in line]
    one, other = image.data, image.data
    with Path("/proc/self/maps").open() as maps:
        now = [line for line in maps if str(host_object) in line]
    assert (len(mapped), len(now)) == (0, 1)
    address = int(now[0].split("-")[0], 16)
    import ctypes

    for view in (one, other):
        buffer = (ctypes.c_char * len(view)).from_buffer_copy(view)
        assert buffer.raw == ctypes.string_at(address + (image.offset or 0), len(view))


def test_reading_instead_of_mapping(host_object: Path) -> None:
    image = fatbin.scan(host_object, map=False)[0].images[0]
    assert bytes(image.data[:4]) == b"\x7fELF"
    with Path("/proc/self/maps").open() as maps:
        assert not any(str(host_object) in line for line in maps)


def test_bytes_are_scanned_where_they_are(host_object: Path, fixtures: Path) -> None:
    expected = (fixtures / "answer-gfx90a.hsaco").read_bytes()
    contents = host_object.read_bytes()
    for source in (contents, bytearray(contents), memoryview(contents)):
        [file] = fatbin.scan(source)
        assert file.path == "<bytes>"
        assert file.images[0].data == expected
        assert file.images[0].sha256 == hashlib.sha256(expected).hexdigest()
    references = sys.getrefcount(contents)
    [file] = fatbin.scan(contents)
    assert sys.getrefcount(contents) > references


def test_members_of_archives_and_compressed_images(tmp_path: Path, fixtures: Path, host_object: Path) -> None:
    wheel = tmp_path / "package.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(host_object, "lib/images.so")
        archive.writestr("METADATA", "no device code")
    [file] = fatbin.scan(wheel)
    assert file.path == f"{wheel}!lib/images.so"
    assert file.images[0].data == (fixtures / "answer-gfx90a.hsaco").read_bytes()

    bundle = tmp_path / "bundle.ccob"
    target = "hip-amdgcn-amd-amdhsa--gfx90a"
    command = ["fatbin", "bundle", "--type", "bc", "--compress", "-o", str(bundle)]
    command += ["--target", f"host-x86_64-unknown-linux-gnu={host_object}"]
    command += ["--target", f"{target}={fixtures / 'answer-gfx90a.hsaco'}"]
    subprocess.run([sys.executable, "-m", *command], check=True)
    [file] = fatbin.scan(bundle)
    [container] = file.containers
    host, image = container.images
    assert (container.codec is not None, host.kind, host.index) == (True, "host", None)
    assert (image.compressed, image.offset, image.index) == (True, None, 0)
    for _ in range(200):
        assert image.data == (fixtures / "answer-gfx90a.hsaco").read_bytes()
    with pytest.raises(ValueError, match="not a device image"):
        host.data


def test_directories_are_searched(tmp_path: Path, host_object: Path) -> None:
    (tmp_path / "text").write_text("no device code")
    assert [file.path for file in fatbin.scan(tmp_path)] == [str(host_object)]


def test_errors_have_their_place(tmp_path: Path, fixtures: Path) -> None:
    with pytest.raises(fatbin.Error) as caught:
        fatbin.scan(tmp_path / "missing")
    assert caught.value.path == str(tmp_path / "missing")
    assert caught.value.offset is None
    assert caught.value.problem == "cannot open: no such file or directory"
    assert str(caught.value) == f"{caught.value.path}: {caught.value.problem}"

    bundle = tmp_path / "cut"
    wrapped = fatbin.wrap([fixtures / "answer-gfx90a.hsaco"], kind="openmp", host="x86_64-linux-gnu")
    start = wrapped.index(b"\x10\xff\x10\xad")
    bundle.write_bytes(wrapped[start : start + 100])
    [file] = fatbin.scan(bundle)
    [problem] = file.errors
    assert "truncated" in problem.cause or "out of bounds" in problem.cause
    assert str(problem) == problem.message == f"{problem.field} at {problem.offset:#x}: {problem.cause}"


def test_a_changed_file_is_an_error(host_object: Path) -> None:
    image = fatbin.scan(host_object)[0].images[0]
    host_object.write_bytes(b"something else")
    with pytest.raises(fatbin.Error, match="changed while it was being read"):
        image.data


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="expected a path, or bytes of a file"):
        fatbin.scan(1)  # type: ignore[arg-type]


def test_threads_scan_at_the_same_time(host_object: Path) -> None:
    """Scans in several threads share files and views without a lock."""
    found: list[str] = []

    def scan() -> None:
        for _ in range(20):
            [file] = fatbin.scan(host_object)
            found.append(file.images[0].sha256)

    threads = [threading.Thread(target=scan) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert len(set(found)) == 1
