//! Real libraries cut at several places, like the remains of a download. Without an error, such a library would be one with
//! less device code, or without any.
//!
//! Each library is cut at percentages of its size and at the ends of sections or members, a sample where there are
//! many. The commands that must reject the cuts take turns; unit tests cut small files at every byte. With
//! `FATBIN_ALL_CUTS=1`, all commands must reject the cuts at all starts and ends, and there are more and larger
//! libraries (about fifteen minutes of processor time).

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Cursor;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};

use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::tools::{fetched, find_in, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// Name for the trials, directory of fetched files, and stem of the file name: a library with device code, and one without.
const LIBRARIES: [(&str, &str, &str); 2] =
    [("rocrand", "real-files", "librocrand.so"), ("cudart", "cuda-13", "libcudart.so")];

/// A file with device code: name for the trials, directory of fetched files, stem of the file name, and name of the member if
/// the file is a wheel.
struct Library {
    name: &'static str,
    package: &'static str,
    stem: &'static str,
    member: Option<&'static str>,
}

const BITSANDBYTES: &str = "bitsandbytes-0.50.2-py3-none-manylinux_2_24_x86_64";
const BITSANDBYTES_WINDOWS: &str = "bitsandbytes-0.50.2-py3-none-win_amd64";
const PENNYLANE: &str = "pennylane_lightning_amdgpu-0.45.0-cp312-cp312-manylinux_2_28_x86_64";
const NVJPEG: &str = "nvidia_nvjpeg_cu12-12.4.0.76-py3-none-manylinux2014_x86_64";

/// Shared libraries and DLLs with ROCm, CUDA and SYCL, static libraries, bitcode, and a wheel: the smallest of each.
const SMALL_LIBRARIES: [Library; 12] = [
    in_wheel("rocm-6.4", BITSANDBYTES, "bitsandbytes/libbitsandbytes_rocm64.so"),
    in_wheel("rocm-7.14", BITSANDBYTES, "bitsandbytes/libbitsandbytes_rocm714.so"),
    in_wheel("sycl-2025", BITSANDBYTES, "bitsandbytes/libbitsandbytes_xpu2025.so"),
    in_wheel("rocm-7.2-windows", BITSANDBYTES_WINDOWS, "bitsandbytes/libbitsandbytes_rocm72.dll"),
    in_wheel("rocm-7.14-windows", BITSANDBYTES_WINDOWS, "bitsandbytes/libbitsandbytes_rocm714.dll"),
    in_wheel("cuda-13.0-windows", BITSANDBYTES_WINDOWS, "bitsandbytes/libbitsandbytes_cuda130.dll"),
    in_wheel("sycl-2026-windows", BITSANDBYTES_WINDOWS, "bitsandbytes/libbitsandbytes_xpu2026.dll"),
    on_its_own("wheel", "real-files", PENNYLANE),
    on_its_own("archive-16", "openmp-16", "libomptarget.devicertl.a"),
    on_its_own("archive-19", "openmp-19", "libomptarget.devicertl.a"),
    on_its_own("bitcode-nvptx", "openmp-19", "libomptarget-nvptx-sm_90.bc"),
    on_its_own("bitcode-amdgpu", "openmp-15", "libomptarget-amdgpu-gfx90a.bc"),
];

const LARGE_LIBRARIES: [Library; 3] = [
    in_wheel("cuda-13.0", BITSANDBYTES, "bitsandbytes/libbitsandbytes_cuda130.so"),
    in_wheel("nvjpeg", NVJPEG, "nvidia/nvjpeg/lib/libnvjpeg.so.12"),
    in_wheel("pennylane", PENNYLANE, "pennylane_lightning/lightning_amdgpu_ops.cpython-312-x86_64-linux-gnu.so"),
];

const fn in_wheel(name: &'static str, stem: &'static str, member: &'static str) -> Library {
    Library { name, package: "real-files", stem, member: Some(member) }
}

const fn on_its_own(name: &'static str, package: &'static str, stem: &'static str) -> Library {
    Library { name, package, stem, member: None }
}

/// Cuts, in percent of the size.
const PERCENT: [u64; 11] = [1, 10, 20, 30, 40, 50, 60, 70, 80, 90, 99];

/// Borders of a library where it is truncated.
const BORDERS: usize = 16;

/// Commands that accept a whole library and reject a cut one.
const COMMANDS: [&[&str]; 4] = [&["scan"], &["verify"], &["lock", "-o", "lock"], &["check", "--policy", "policy"]];

pub fn trials() -> Vec<Trial> {
    let trial = |(name, fetched, stem)| {
        Trial::ignorable_test(format!("truncated/{name}"), move || completion(library(name, fetched, stem)))
    };
    let all = std::env::var_os("FATBIN_ALL_CUTS").is_some_and(|value| value == "1");
    let large = if all { &LARGE_LIBRARIES[..] } else { &[] };
    let cuts = SMALL_LIBRARIES.iter().chain(large).map(|library| {
        Trial::ignorable_test(format!("truncated/cuts/{}", library.name), move || {
            completion(rejects_cuts(library, all))
        })
    });
    LIBRARIES.into_iter().map(trial).chain(cuts).collect()
}

fn rejects_cuts(library: &Library, all: bool) -> Result<()> {
    let directory = fresh_directory("truncated", &format!("cuts-{}", library.name))?;
    let path = directory.join("library");
    let bytes = library.bytes()?;
    std::fs::write(&path, &bytes)?;
    std::fs::write(directory.join("policy"), "")?;
    for arguments in COMMANDS {
        requires_status(&directory, arguments, 0).context("the whole library")?;
    }
    std::fs::remove_file(directory.join("lock"))?;
    let size = bytes.len() as u64;
    let percentages = BTreeSet::from(PERCENT.map(|percent| size * percent / 100));
    let parts = parts(&bytes)?;
    let step = if all { 1 } else { parts.len().div_ceil(BORDERS).max(1) };
    let borders =
        parts.into_iter().step_by(step).flat_map(|Range { start, end }| if all { vec![start, end] } else { vec![end] });
    let cuts: BTreeSet<u64> = borders.chain(percentages).filter(|cut| (1..size).contains(cut)).collect();
    // From the end, so that one copy is cut again and again.
    for (number, &cut) in cuts.iter().rev().enumerate() {
        OpenOptions::new().write(true).open(&path)?.set_len(cut)?;
        let turn = number % COMMANDS.len();
        let commands = if all { &COMMANDS[..] } else { &COMMANDS[turn..=turn] };
        for arguments in commands {
            requires_status(&directory, arguments, 2).with_context(|| format!("cut to {cut} of {size} bytes"))?;
        }
        ensure!(!directory.join("lock").exists(), "cut to {cut} of {size} bytes: a lock was written");
    }
    Ok(std::fs::remove_dir_all(&directory)?)
}

impl Library {
    fn bytes(&self) -> Result<Vec<u8>> {
        let file = find_in(&fetched(self.package), self.stem).ok_or_else(|| not_fetched(self.stem))?;
        let bytes = std::fs::read(file)?;
        let Some(member) = self.member else { return Ok(bytes) };
        let mut extracted = Vec::new();
        std::io::copy(&mut zip::ZipArchive::new(Cursor::new(bytes))?.by_name(member)?, &mut extracted)?;
        Ok(extracted)
    }
}

/// Returns the sections of a host file or the members of an archive. Bitcode has neither.
fn parts(bytes: &[u8]) -> Result<Vec<Range<u64>>> {
    let ranges: Vec<(u64, u64)> = if bytes.starts_with(b"!<arch>\n") {
        ArchiveFile::parse(bytes)?.members().map(|member| Ok(member?.file_range())).collect::<Result<_>>()?
    } else if bytes.starts_with(b"PK") {
        let mut wheel = zip::ZipArchive::new(Cursor::new(bytes))?;
        let indices = 0..wheel.len();
        indices.map(|index| wheel_member(&mut wheel, index)).collect::<Result<_>>()?
    } else if bytes.starts_with(b"BC\xc0\xde") {
        Vec::new()
    } else {
        object::File::parse(bytes)?.sections().filter_map(|section| section.file_range()).collect()
    };
    Ok(ranges.into_iter().map(|(offset, size)| offset..offset + size).collect())
}

fn wheel_member(wheel: &mut zip::ZipArchive<Cursor<&[u8]>>, index: usize) -> Result<(u64, u64)> {
    let member = wheel.by_index_raw(index)?;
    Ok((member.data_start().context("a member without an offset")?, member.compressed_size()))
}

/// Runs a command on the library and checks its exit status.
fn requires_status(directory: &Path, arguments: &[&str], status: i32) -> Result<()> {
    let run = command(fatbin_program()).args(arguments).arg("library").current_dir(directory).output()?;
    let error = String::from_utf8_lossy(&run.stderr);
    ensure!(
        run.status.code() == Some(status),
        "fatbin {arguments:?}: {}, expected status {status}\n{error}",
        run.status
    );
    Ok(())
}

fn library(name: &str, package: &str, stem: &str) -> Result<()> {
    let original: PathBuf = find_in(&fetched(package), stem).ok_or_else(|| not_fetched(stem))?;
    let directory = fresh_directory("truncated", name)?;
    let path = directory.join("lib.so");
    std::fs::copy(original, &path)?;
    let bytes = std::fs::read(&path)?;
    let offset = u64::from_le_bytes(*bytes[40..].first_chunk().context("a header")?);
    let (size, needed) = (bytes.len() as u64, u64::from(bytes[60]) * 64);
    ensure!(size == offset + needed, "the section headers are not at the end");
    // From the end, so that one copy is cut again and again.
    let cuts = [size - 1, offset + 64, offset + 1, offset, offset - 1, size / 2, size / 100, 4096, 64];
    for cut in cuts {
        OpenOptions::new().write(true).open(&path)?.set_len(cut)?;
        let available = cut.saturating_sub(offset);
        let message = format!("section headers at {offset:#x}: truncated: need {needed} bytes, {available} available");
        for subcommand in ["scan", "verify"] {
            reports(&directory, subcommand, &message).with_context(|| format!("cut to {cut} bytes"))?;
        }
    }
    OpenOptions::new().write(true).open(&path)?.set_len(63)?;
    reports(&directory, "scan", "ELF header at 0x0: truncated: need 64 bytes, 63 available")
}

/// Checks that a command ends with status 2 and prints this message once. Containers that were cut are further errors.
fn reports(directory: &Path, subcommand: &str, message: &str) -> Result<()> {
    let run = command(fatbin_program()).args([subcommand, "lib.so"]).current_dir(directory).output()?;
    let error = String::from_utf8_lossy(&run.stderr);
    let line = format!("fatbin: lib.so: {message}");
    let count = error.lines().filter(|&found| found == line).count();
    ensure!(run.status.code() == Some(2) && count == 1, "fatbin {subcommand}: {}\n{error}expected: {line}", run.status);
    Ok(())
}
