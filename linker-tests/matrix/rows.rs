//! The rows of the matrix: every offload kind with every ABI that supports it, the expected output of the judge, and the
//! reference tool that confirms it.
//!
//! The names are repeated here, not taken from the program, so that a row that the program loses is missed. The trial
//! `matrix/rows` compares the two lists.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::images::Images;
use crate::harness::command::command;
use crate::harness::fatbin_program;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub kind: &'static str,
    pub abi: &'static str,
    /// File in `expected/`.
    pub log: &'static str,
    pub layout: Layout,
    /// Section of the host program's entries; `None` where host programs have no entries.
    pub section: Option<&'static str>,
    pub reference: Option<Reference>,
}

/// Layout of an offload entry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    Old,
    New,
}

/// Tool that writes the same object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// `clang-offload-wrapper` of this release, which Debian has for 14 and 15 only; 10 to 13 are compared with 14.
    ClangOffloadWrapper(&'static str),
    /// `llvm-offload-wrapper` of LLVM 22, the first release that has it; 21 writes the same sections.
    LlvmOffloadWrapper,
}

impl Reference {
    /// Returns the log of programs with the tool's objects. clang-offload-wrapper registers its files as they are; the objects of
    /// clang-linker-wrapper 15 to 17 register the offload binaries around them.
    pub fn log(self, row: &Row) -> &'static str {
        match self {
            Reference::ClangOffloadWrapper(_) => "openmp-old",
            Reference::LlvmOffloadWrapper => row.log,
        }
    }

    /// Returns the reason why the tool writes no object for a host, or `None` if it does.
    pub fn lacks(self, host: &str) -> Option<&'static str> {
        match self {
            Reference::ClangOffloadWrapper(_) if host == "loongarch64" => {
                Some("LLVM 14 and 15 do not support LoongArch")
            }
            _ => None,
        }
    }
}

use Layout::{New, Old};

const OMP: Option<&str> = Some("omp_offloading_entries");
const CUDA: Option<&str> = Some("cuda_offloading_entries");
const HIP: Option<&str> = Some("hip_offloading_entries");
const ALL: Option<&str> = Some("llvm_offload_entries");
const WRAPPER_14: Option<Reference> = Some(Reference::ClangOffloadWrapper("14"));
const WRAPPER_15: Option<Reference> = Some(Reference::ClangOffloadWrapper("15"));
const WRAPPER_22: Option<Reference> = Some(Reference::LlvmOffloadWrapper);

#[rustfmt::skip]
pub const ROWS: [Row; 43] = [
    row("openmp", "llvm10", "openmp-old",  Old, OMP,  WRAPPER_14),
    row("openmp", "llvm11", "openmp-old",  Old, OMP,  WRAPPER_14),
    row("openmp", "llvm12", "openmp-old",  Old, OMP,  WRAPPER_14),
    row("openmp", "llvm13", "openmp-old",  Old, OMP,  WRAPPER_14),
    row("openmp", "llvm14", "openmp-old",  Old, OMP,  WRAPPER_14),
    row("openmp", "llvm15", "openmp-binaries", Old, OMP,  WRAPPER_15),
    row("openmp", "llvm16", "openmp-binaries", Old, OMP,  None),
    row("openmp", "llvm17", "openmp-binaries", Old, OMP,  None),
    row("openmp", "llvm18", "openmp-old",  Old, OMP,  None),
    row("openmp", "llvm19", "openmp-old",  Old, OMP,  None),
    row("openmp", "llvm20", "openmp-new",  New, OMP,  None),
    row("openmp", "llvm21", "openmp-new",  New, ALL,  WRAPPER_22),
    row("openmp", "llvm22", "openmp-new",  New, ALL,  WRAPPER_22),
    row("openmp", "llvm23", "openmp-new",  New, ALL,  None),
    row("openmp", "llvm24", "openmp-new",  New, ALL,  None),
    row("openmp", "main",   "openmp-new",  New, ALL,  None),
    row("openmp", "aomp",   "openmp-aomp", Old, OMP,  None),
    row("cuda",   "llvm15", "cuda-word",   Old, CUDA, None),
    row("cuda",   "llvm16", "cuda-word",   Old, CUDA, None),
    row("cuda",   "llvm17", "cuda-word",   Old, CUDA, None),
    row("cuda",   "llvm18", "cuda-bits",   Old, CUDA, None),
    row("cuda",   "llvm19", "cuda-bits",   Old, CUDA, None),
    row("cuda",   "llvm20", "cuda-new",    New, CUDA, None),
    row("cuda",   "llvm21", "cuda-new",    New, ALL,  WRAPPER_22),
    row("cuda",   "llvm22", "cuda-new",    New, ALL,  WRAPPER_22),
    row("cuda",   "llvm23", "cuda-new",    New, ALL,  None),
    row("cuda",   "llvm24", "cuda-new",    New, ALL,  None),
    row("cuda",   "main",   "cuda-new",    New, ALL,  None),
    row("hip",    "llvm15", "hip-word",    Old, HIP,  None),
    row("hip",    "llvm16", "hip-word",    Old, HIP,  None),
    row("hip",    "llvm17", "hip-word",    Old, HIP,  None),
    row("hip",    "llvm18", "hip-bits",    Old, HIP,  None),
    row("hip",    "llvm19", "hip-bits",    Old, HIP,  None),
    row("hip",    "llvm20", "hip-new",     New, HIP,  None),
    row("hip",    "llvm21", "hip-new",     New, ALL,  WRAPPER_22),
    row("hip",    "llvm22", "hip-new",     New, ALL,  WRAPPER_22),
    row("hip",    "llvm23", "hip-new",     New, ALL,  None),
    row("hip",    "llvm24", "hip-new",     New, ALL,  None),
    row("hip",    "main",   "hip-new",     New, ALL,  None),
    row("sycl",   "llvm22", "sycl-22",     New, None, None),
    row("sycl",   "llvm23", "sycl-main",   New, None, None),
    row("sycl",   "llvm24", "sycl-main",   New, None, None),
    row("sycl",   "main",   "sycl-main",   New, None, None),
];

const fn row(
    kind: &'static str,
    abi: &'static str,
    log: &'static str,
    layout: Layout,
    section: Option<&'static str>,
    reference: Option<Reference>,
) -> Row {
    Row { kind, abi, log, layout, section, reference }
}

/// Entries of `program.c` as options: name in the image and host symbol, other fields, and the pointer that only new entries
/// have.
const ENTRIES: [(&str, &str, &str); 7] = [
    ("answer_kernel=kernel_stub", "", ""),
    ("plain", ",size=16", ""),
    ("constant", ",size=12,flags=0x18", ""),
    ("managed", ",size=16,flags=1,data=32", ",aux=managed_pointer"),
    ("surface", ",size=8,flags=0x0a,data=3", ""),
    ("texture", ",size=8,flags=0x2b,data=2", ""),
    ("unknown_sort", ",size=8,flags=4", ""),
];

impl Row {
    pub fn name(&self) -> String {
        format!("{}/{}", self.kind, self.abi)
    }

    pub fn index(&self) -> usize {
        ROWS.iter().position(|row| row == self).unwrap_or_default()
    }

    /// Returns whether no earlier row has the same section and layout of entries.
    pub fn is_first_with_its_entries(&self) -> bool {
        let first = ROWS.iter().position(|row| (row.section, row.layout) == (self.section, self.layout));
        first == Some(self.index())
    }

    /// Returns the judge for this row.
    pub fn judge(&self) -> &'static str {
        match (self.kind, self.abi, self.layout) {
            ("sycl", "llvm23" | "llvm24" | "main", _) => "sycl-main",
            (_, _, Layout::Old) => "old",
            (_, _, Layout::New) => "new",
        }
    }

    /// Returns the kind as an entry records it.
    pub fn kind_number(&self) -> u32 {
        match (self.kind, self.abi) {
            ("openmp", _) => 1,
            ("cuda", _) => 2,
            // Kinds are bits since LLVM 21.
            ("hip", "llvm20") => 3,
            ("hip", _) => 4,
            _ => 8,
        }
    }

    /// Returns whether objects of this ABI can be linked for Windows: LLVM's cannot before release 19.
    pub fn has_windows_objects(&self) -> bool {
        match self.abi.strip_prefix("llvm") {
            Some(release) => release.parse().is_ok_and(|release: u32| release >= 19),
            None => self.abi == "main",
        }
    }

    /// Returns whether objects of this ABI can be linked for macOS: since LLVM 21 the entries of all kinds are in one section.
    pub fn has_mach_o_objects(&self) -> bool {
        self.has_windows_objects() && !["llvm19", "llvm20"].contains(&self.abi)
    }

    pub fn entry_options(&self) -> Vec<String> {
        let options = ENTRIES.iter().map(|(name, rest, aux)| match self.layout {
            Layout::Old => format!("--entry={name}{rest}"),
            Layout::New => format!("--entry={name}{rest}{aux}"),
        });
        std::iter::once("--allow-missing-kernels".to_owned()).chain(options).collect()
    }
}

/// Checks that the table lists the ABIs that `fatbin wrap` lists in its messages about an unsupported ABI.
pub fn match_the_program(directory: &Path) -> Result<()> {
    let images = Images::write(directory)?;
    for (kind, abi) in [("openmp", "none"), ("cuda", "llvm10"), ("hip", "llvm10"), ("sycl", "llvm10")] {
        let mut command = command(fatbin_program());
        command.args(["wrap", "--kind", kind, "--abi", abi, "-o"]).arg(directory.join("none.o")).args(images.of(kind));
        let message = String::from_utf8(command.output()?.stderr)?;
        let known = names(&message, abi)?;
        let listed: Vec<&str> = ROWS.iter().filter(|row| row.kind == kind).map(|row| row.abi).collect();
        ensure!(known == listed, "{kind}: the program lists {known:?}, the table {listed:?}\n{message}");
    }
    Ok(())
}

/// Returns the names in a message, without `refused`. `llvm10 to llvm24` stands for fifteen.
fn names(message: &str, refused: &str) -> Result<Vec<String>> {
    let words: Vec<&str> =
        message.split([' ', ',', ':', ';', ']', ')', '\n']).filter(|word| !word.is_empty()).collect();
    let mut names = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let release = |word: &str| word.strip_prefix("llvm").and_then(|number| number.parse::<u32>().ok());
        match (release(word), words.get(index + 1..index + 3)) {
            (Some(first), Some(["to", last])) => {
                let last = release(last).with_context(|| format!("no release after to: {message}"))?;
                names.extend((first..last).map(|number| format!("llvm{number}")));
            }
            (Some(_), _) => names.push((*word).to_owned()),
            _ if ["main", "aomp"].contains(word) => names.push((*word).to_owned()),
            _ => {}
        }
    }
    names.retain(|name| name != refused);
    Ok(names)
}
