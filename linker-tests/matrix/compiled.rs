//! LLVM IR of `fatbin wrap`, compiled to an object by the compiler of its release.

use anyhow::Result;

use super::cell::Cells;
use super::host::ProgramForm;
use super::images::Images;
use super::{once, wrap};
use crate::harness::step::Step;
use crate::harness::tools::{Linker, llvm_tool};

/// A form of IR, with the file name that selects it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ir {
    Bitcode,
    Text,
}

impl Ir {
    pub const ALL: [Ir; 2] = [Ir::Bitcode, Ir::Text];

    pub fn name(self) -> &'static str {
        match self {
            Ir::Bitcode => "bitcode",
            Ir::Text => "text",
        }
    }

    fn file_name(self) -> &'static str {
        match self {
            Ir::Bitcode => "wrapper.bc",
            Ir::Text => "wrapper.ll",
        }
    }

    /// Returns the form of the program; one takes the entries from `fatbin wrap --entry`, the other from the host program.
    pub fn program_form(self) -> ProgramForm {
        match self {
            Ir::Bitcode => ProgramForm::Pie,
            Ir::Text => ProgramForm::NoPie,
        }
    }
}

/// Checks a row with an object that the compiler makes of IR.
pub fn check(cells: &Cells, ir: Ir, images: &Images) -> Result<()> {
    let directory = cells.directory.join(ir.name());
    std::fs::create_dir(&directory)?;
    let cells = Cells { directory: &directory, ..*cells };
    let (row, form) = (cells.row, ir.program_form());
    let from_options = form.entries_from_options() || row.section.is_none();
    let entries = if from_options { row.entry_options() } else { Vec::new() };
    wrap(row, cells.host.triple, images, &entries, &directory.join(ir.file_name()))?;
    let release = compiler_release(row.abi, cells.host.name);
    let program = if from_options { cells.kit.program() } else { cells.kit.program_with_entries(row) };
    let module = std::fs::read(directory.join(ir.file_name()))?;
    let names = [release, cells.host.name, row.judge(), cells.expected].map(str::as_bytes);
    let inputs = [&names[..], &[&module, program.as_os_str().as_encoded_bytes()]].concat();
    once(&inputs, || {
        let compiler = llvm_tool("clang", release, &format!("clang-{release}"))?;
        let step = Step::new(&directory, compiler).arg(format!("--target={}", cells.host.triple));
        let step = step.args(cells.host.machine_flags()).args(["-O2", "-fPIC", "-Wno-override-module", "-Werror"]);
        step.args(["-c", ir.file_name(), "-o", "wrapper.o"]).run()?;
        cells.check(Linker::Lld, form, &directory.join("wrapper.o"), &program)
    })
}

/// Returns the compiler among the installed ones that is nearest to an ABI. LLVM has LoongArch since release 16.
fn compiler_release(abi: &str, host: &str) -> &'static str {
    let release = match abi {
        "aomp" => 14,
        _ => abi.strip_prefix("llvm").and_then(|number| number.parse().ok()).unwrap_or(22),
    };
    match release {
        _ if host == "loongarch64" => "22",
        ..=14 => "14",
        15 => "15",
        16 => "16",
        17..=19 => "19",
        _ => "22",
    }
}
