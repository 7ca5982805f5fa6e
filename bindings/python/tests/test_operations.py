"""Extraction, policies, wrapping, inspection and selection."""

import subprocess
import sys
from pathlib import Path

import pytest

import fatbin

POLICY = """
[archs]
devices = ["gfx90a", "gfx942"]
"""


def test_extract_writes_the_images_that_filters_accept(host_object: Path, fixtures: Path, tmp_path: Path) -> None:
    output = tmp_path / "images"
    [path] = fatbin.extract(host_object, output=output, arch=["gfx90a"])
    assert path.parent == output
    assert path.read_bytes() == (fixtures / "answer-gfx90a.hsaco").read_bytes()
    assert len(fatbin.extract(host_object, output=output, kind=["openmp"], name="{number}.bin")) == 2
    assert sorted(path.name for path in output.glob("*.bin")) == ["0.bin", "1.bin"]
    with pytest.raises(fatbin.Error, match="no image matches arch gfx942; available: "):
        fatbin.extract(host_object, output=output, arch=["gfx942"])
    with pytest.raises(ValueError, match="unknown kind 'cude'|unknown kind \"cude\""):
        fatbin.extract(host_object, output=output, kind=["cude"])


def test_check_returns_findings(host_object: Path, tmp_path: Path) -> None:
    verdict = fatbin.check(fatbin.Policy(POLICY), host_object)
    assert (verdict.ok, verdict.outcome) == (False, "violated")
    [finding] = verdict.findings
    assert (finding.rule, finding.outcome, finding.path) == ("devices", "violated", str(host_object))
    assert finding.message == "no code that runs on gfx942"
    assert str(finding).startswith(f"{host_object}: no code that runs on gfx942; available: gfx90a")

    policy = tmp_path / "gpu.toml"
    policy.write_text(POLICY.replace(', "gfx942"', ""))
    verdict = fatbin.check(policy, host_object)
    assert (verdict.ok, verdict.findings) == (True, ())
    missing = fatbin.check(policy, tmp_path / "missing")
    assert (missing.ok, missing.outcome) == (False, "undecided")


def test_an_invalid_policy_is_an_error_with_its_place(tmp_path: Path) -> None:
    policy = tmp_path / "gpu.toml"
    policy.write_text("[archs]\ndevice = []\n")
    with pytest.raises(fatbin.Error, match=r"gpu.toml:2:1: unknown key \"device\"") as caught:
        fatbin.check(policy)
    assert caught.value.path == str(policy)
    with pytest.raises(fatbin.Error, match="cannot read"):
        fatbin.check(tmp_path / "missing.toml")


def test_wrap_returns_the_object_that_the_program_writes(fixtures: Path, tmp_path: Path) -> None:
    image = fixtures / "answer-gfx90a.hsaco"
    entry = fatbin.Entry("answer_kernel", "region")
    assert (entry.name, entry.host_symbol, entry.size) == ("answer_kernel", "region", 0)
    wrapped = fatbin.wrap([image], kind="openmp", host="aarch64-linux-gnu", entries=[entry])
    assert fatbin.wrap([image.read_bytes()], kind="openmp", host="aarch64-linux-gnu", entries=[entry]) == wrapped
    options = ["--kind", "openmp", "--host", "aarch64-linux-gnu", "--entry", "answer_kernel=region"]
    command = [sys.executable, "-m", "fatbin", "wrap", *options, "-o", str(tmp_path / "wrapped.o"), str(image)]
    subprocess.run(command, check=True)
    assert (tmp_path / "wrapped.o").read_bytes() == wrapped

    output = tmp_path / "again.o"
    fatbin.wrap([image], kind="openmp", host="aarch64-linux-gnu", entries=[entry], output=output)
    assert output.read_bytes() == wrapped
    text = tmp_path / "wrapped.ll"
    fatbin.wrap([(image, None, "gfx90a")], kind="openmp", host="x86_64-linux-gnu", output=text)
    assert "__tgt_register_lib" in text.read_text()


def test_errors_of_wrap(fixtures: Path, tmp_path: Path) -> None:
    image = fixtures / "answer-gfx90a.hsaco"
    with pytest.raises(fatbin.Error, match="arch=gfx942 contradicts the image's header: gfx90a"):
        fatbin.wrap([(image, None, "gfx942")], kind="openmp", host="x86_64-linux-gnu")
    with pytest.raises(fatbin.Error, match="unsupported host"):
        fatbin.wrap([image], kind="openmp", host="z80")
    with pytest.raises(fatbin.Error, match="cannot open") as caught:
        fatbin.wrap([tmp_path / "missing"], kind="openmp")
    assert caught.value.path == str(tmp_path / "missing")
    with pytest.raises(ValueError, match="unknown ABI"):
        fatbin.wrap([image], kind="openmp", abi="llvm1")
    with pytest.raises(ValueError, match="no images"):
        fatbin.wrap([], kind="openmp")


def test_inspect_returns_kernels_with_their_figures(fixtures: Path) -> None:
    [file] = fatbin.scan(fixtures / "answer-sm_90.cubin")
    [kernel] = file.images[0].inspect().kernels
    assert (kernel.name, kernel.demangled) == ("answer_kernel", "answer_kernel")
    assert kernel.figures["registers"] > 0
    [file] = fatbin.scan(fixtures / "answer-sm_90-debug.cubin")
    source = file.images[0].inspect().kernels[0].source
    assert source is not None
    assert source[0].endswith("answer.c")


def test_select_predicts_the_image_of_a_device(host_object: Path) -> None:
    [file] = fatbin.scan(host_object)
    [selection] = file.select("gfx90a:sramecc+:xnack-")
    assert selection.runtime == "libomptarget"
    assert selection.image is not None
    assert (selection.image.index, selection.is_undecided) == (0, False)
    assert [(image.index, verdict) for image, verdict, _ in selection.verdicts] == [(0, "selected"), (1, "rejected")]
    [selection] = file.select("gfx942:sramecc+:xnack-")
    assert selection.image is None
    with pytest.raises(ValueError, match="unknown device \"z80\""):
        file.select("z80")


def test_source_index_finds_the_source_of_instructions(fixtures: Path) -> None:
    [file] = fatbin.scan(fixtures / "answer-gfx90a-debug.hsaco")
    index = file.images[0].source_index()
    assert index.functions == ("answer_kernel",)
    address = index.address("answer_kernel", 0x10)
    assert address is not None
    [frame] = index.frames(address)
    assert (frame.function, frame.file, frame.line, frame.column) == ("answer_kernel", "/answer/answer.c", 16, 50)
    assert index.address("answer_kernel", 1 << 20) is None
    assert index.frames(0) == ()
