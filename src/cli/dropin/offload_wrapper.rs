//! clang-offload-wrapper (LLVM 10 to 15, and AMD's variant) and llvm-offload-wrapper (since LLVM 21).
//!
//! The only divergence: the tools write LLVM bitcode, which must then be compiled. This program writes bitcode to a file named
//! `*.bc`, as clang names it, and text to one named `*.ll`; elsewhere it writes the resulting object, and a build omits the
//! step.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::FAILED;
use super::diagnostics::{Diagnostics, print};
use super::llvm_options::{Line, LlvmOption, Occurs, Positional, Shown, Tool, ValueType, parse};
use super::stand_in::StandIn;
use crate::cli::access;
use crate::llvm::Release;
use crate::ops::{self, ImageFile, WrapOptions};
use crate::target::OffloadKind;
use crate::wrap::{EmbeddedForm, TargetOverride};

static CLANG: Tool = Tool {
    overview: "\
A tool to create a wrapper bitcode for offload target binaries. Takes offload
target binaries as input and produces bitcode file containing target binaries packaged
as data and initialization code which registers target binaries in offload runtime.
",
    category: "clang-offload-wrapper options",
    options: &[
        option("o", ValueType::Text("filename"), Occurs::Optional, "Output filename"),
        option("target", ValueType::Text("triple"), Occurs::Optional, "Target triple for the output module"),
        option(
            "offload-arch",
            ValueType::Text("target id"),
            Occurs::Optional,
            "Target id of an image, in the order of the inputs",
        ),
        LlvmOption {
            shown: Shown::InHelpHidden,
            ..option(
                "add-omp-offload-notes",
                ValueType::Flag,
                Occurs::Optional,
                "Add LLVMOMPOFFLOAD ELF notes to ELF device images.",
            )
        },
    ],
    positional: Some(Positional { help: "<input files>", at_least: 1, at_most: None }),
};

static LLVM: Tool = Tool {
    overview: "Generate runtime registration code for a device binary image\n",
    category: "llvm-offload-wrapper options",
    options: &[
        option("kind", ValueType::Choice(&KINDS), Occurs::Required, "Wrap for offload kind:"),
        option("o", ValueType::Text("file"), Occurs::Optional, "Write output to <file>."),
        option("triple", ValueType::Text("string"), Occurs::Optional, "Target triple for the wrapper module"),
    ],
    positional: Some(Positional { help: "Wrap input from <file>", at_least: 1, at_most: None }),
};

const KINDS: [(&str, &str); 3] =
    [("openmp", "Wrap OpenMP binaries"), ("cuda", "Wrap CUDA binaries"), ("hip", "Wrap HIP binaries")];

const fn option(name: &'static str, value: ValueType, occurs: Occurs, help: &'static str) -> LlvmOption {
    LlvmOption { name, value, occurs, shown: Shown::Always, help }
}

/// Runs as clang-offload-wrapper.
pub fn clang(program: &OsStr, stand_in: StandIn, arguments: &[OsString]) -> u8 {
    run(program, &CLANG, arguments, |line| {
        let target_ids: Vec<String> = line.texts("offload-arch").map(|id| id.to_string_lossy().into_owned()).collect();
        if !target_ids.is_empty() && target_ids.len() != line.positional.len() {
            return Err(format!("{} --offload-arch for {} inputs", target_ids.len(), line.positional.len()));
        }
        // Only AMD's compiler supports target IDs here.
        let amd = Release::named("aomp").filter(|_| !target_ids.is_empty());
        let release = amd.unwrap_or_else(|| stand_in.release.of_clang_offload_wrapper());
        options(line, OffloadKind::OpenMp, release, line.text("target"), &target_ids)
    })
}

/// Runs as llvm-offload-wrapper.
pub fn llvm(program: &OsStr, stand_in: StandIn, arguments: &[OsString]) -> u8 {
    run(program, &LLVM, arguments, |line| {
        let kind = match line.text("kind").and_then(OsStr::to_str) {
            Some("cuda") => OffloadKind::Cuda,
            Some("hip") => OffloadKind::Hip,
            _ => OffloadKind::OpenMp,
        };
        if kind != OffloadKind::OpenMp && line.positional.len() > 1 {
            return Err("CUDA / HIP offloading uses a single fatbinary or offload bundle".to_owned());
        }
        options(line, kind, stand_in.release, line.text("triple"), &[])
    })
}

fn run(
    program: &OsStr,
    tool: &Tool,
    arguments: &[OsString],
    options: impl FnOnce(&Line) -> Result<WrapOptions, String>,
) -> u8 {
    let line = match parse(tool, program, arguments) {
        Ok(line) => line,
        Err(stop) => return stop.print(),
    };
    if line.flag("h") {
        return print(&tool.short_help(program), 0);
    }
    let wrapped = options(&line).and_then(|options| ops::wrap(&options).map_err(|error| error.to_string()));
    match wrapped {
        Ok(_) => 0,
        Err(message) => {
            Diagnostics { program: Some(program), color: line.stated_flag("color") }.error(&message);
            FAILED
        }
    }
}

fn options(
    line: &Line,
    kind: OffloadKind,
    release: Release,
    host: Option<&OsStr>,
    target_ids: &[String],
) -> Result<WrapOptions, String> {
    let output = line.text("o").map(PathBuf::from).ok_or("no output file; name one with -o")?;
    let images = line.positional.iter().enumerate().map(|(index, path)| {
        let target = TargetOverride { triple: None, arch: target_ids.get(index).cloned() };
        ImageFile { path: path.into(), target }
    });
    Ok(WrapOptions {
        release: Some(release),
        host: host.map(|host| host.to_string_lossy().into_owned()),
        // The tools embed any file as it is.
        form: if line.flag("add-omp-offload-notes") { EmbeddedForm::RawWithNotes } else { EmbeddedForm::Raw },
        access: access::get(),
        ..WrapOptions::new(kind, images.collect(), output)
    })
}
