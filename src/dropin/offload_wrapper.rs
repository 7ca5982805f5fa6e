//! clang-offload-wrapper (LLVM 10 to 15, and AMD's variant) and llvm-offload-wrapper (since LLVM 21).
//!
//! The only divergence: the tools write LLVM bitcode, which must then be compiled. This program writes bitcode to a
//! file named `*.bc`, as clang names it, and text to a file named `*.ll`. Otherwise it writes the resulting object, and
//! a build omits the step.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use super::FAILED;
use super::diagnostics::{Diagnostics, print};
use super::llvm_options::{Line, LlvmOption, Occurs, Positional, Shown, Tool, ValueType};
use super::stand_in::StandIn;
use crate::access;
use fatbin_core::target::{OffloadKind, names_architecture};
use fatbin_ops::embed::llvm::Release;
use fatbin_ops::embed::wrap::files::{ImageFile, WrapOptions};
use fatbin_ops::embed::wrap::{EmbeddedForm, TargetOverride};

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

/// The tool of LLVM 21 and 22.
static LLVM: Tool = Tool {
    overview: "Generate runtime registration code for a device binary image\n",
    category: "llvm-offload-wrapper options",
    options: &[kind_of(&[OPENMP, CUDA, HIP]), OUTPUT, TRIPLE],
    positional: INPUT,
};

/// The tool since LLVM 23.
static LLVM_23: Tool = Tool {
    overview: LLVM.overview,
    category: LLVM.category,
    options: &[
        kind_of(&[OPENMP, CUDA, HIP, SYCL]),
        OUTPUT,
        option(
            "relocatable",
            ValueType::Flag,
            Occurs::Optional,
            "Wrap for a relocatable offloading application (OpenMP only)",
        ),
        TRIPLE,
    ],
    positional: INPUT,
};

const INPUT: Option<Positional> = Some(Positional { help: "Wrap input from <file>", at_least: 1, at_most: None });

const OPENMP: (&str, &str) = ("openmp", "Wrap OpenMP binaries");
const CUDA: (&str, &str) = ("cuda", "Wrap CUDA binaries");
const HIP: (&str, &str) = ("hip", "Wrap HIP binaries");
const SYCL: (&str, &str) = ("sycl", "Wrap SYCL binaries");

const OUTPUT: LlvmOption = option("o", ValueType::Text("file"), Occurs::Optional, "Write output to <file>.");
const TRIPLE: LlvmOption =
    option("triple", ValueType::Text("string"), Occurs::Optional, "Target triple for the wrapper module");

const fn kind_of(kinds: &'static [(&'static str, &'static str)]) -> LlvmOption {
    option("kind", ValueType::Choice(kinds), Occurs::Required, "Wrap for offload kind:")
}

const fn option(name: &'static str, value: ValueType, occurs: Occurs, help: &'static str) -> LlvmOption {
    LlvmOption { name, value, occurs, shown: Shown::Always, help }
}

/// Runs as clang-offload-wrapper.
pub fn clang(program: &OsStr, stand_in: StandIn, arguments: &[OsString]) -> u8 {
    run(
        program,
        stand_in,
        |_| &CLANG,
        arguments,
        |line, release| {
            let target_ids: Vec<String> =
                line.texts("offload-arch").map(|id| id.to_string_lossy().into_owned()).collect();
            if !target_ids.is_empty() && target_ids.len() != line.positional.len() {
                return Err(format!("{} --offload-arch for {} inputs", target_ids.len(), line.positional.len()));
            }
            // Only AMD's compiler supports target IDs here.
            let amd = if target_ids.is_empty() { None } else { Release::named("aomp") };
            let release = amd.unwrap_or_else(|| release.of_clang_offload_wrapper());
            let target = line.text("target");
            if let Some(triple) = target.map(OsStr::to_string_lossy).filter(|triple| !names_architecture(triple)) {
                return Err(format!("'{triple}': unsupported target triple"));
            }
            let options = options(line, OffloadKind::OpenMp, release, target, &target_ids)?;
            Ok(WrapOptions { any_host: true, ..options })
        },
    )
}

/// Runs as llvm-offload-wrapper.
pub fn llvm(program: &OsStr, stand_in: StandIn, arguments: &[OsString]) -> u8 {
    run(program, stand_in, llvm_tool, arguments, |line, release| {
        let kind = match line.text("kind").and_then(OsStr::to_str) {
            Some("cuda") => OffloadKind::Cuda,
            Some("hip") => OffloadKind::Hip,
            Some("sycl") => OffloadKind::Sycl,
            _ => OffloadKind::OpenMp,
        };
        if [OffloadKind::Cuda, OffloadKind::Hip].contains(&kind) && line.positional.len() > 1 {
            return Err("CUDA / HIP offloading uses a single fatbinary or offload bundle".to_owned());
        }
        let options = options(line, kind, release, line.text("triple"), &[])?;
        Ok(WrapOptions { relocatable: kind == OffloadKind::OpenMp && line.flag("relocatable"), ..options })
    })
}

fn llvm_tool(release: &Release) -> &'static Tool<'static> {
    if release.offload_wrapper.is_extended { &LLVM_23 } else { &LLVM }
}

fn run(
    program: &OsStr,
    stand_in: StandIn,
    tool: fn(&Release) -> &'static Tool<'static>,
    arguments: &[OsString],
    options: impl FnOnce(&Line, Release) -> Result<WrapOptions, String>,
) -> u8 {
    let (line, release) = match stand_in.parse(tool, program, arguments) {
        Ok(parsed) => parsed,
        Err(stop) => return stop.print(),
    };
    if line.flag("h") {
        return print(&tool(&release).short_help(program), 0);
    }
    let wrapped = options(&line, release)
        .and_then(|options| fatbin_ops::embed::wrap::files::wrap_updating(&options).map_err(|error| error.to_string()));
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
        let target = TargetOverride::new(None, target_ids.get(index).cloned());
        ImageFile { path: path.into(), target }
    });
    Ok(WrapOptions {
        release: Some(release),
        host: host.map(|host| host.to_string_lossy().into_owned()),
        // The tools embed any file unchanged.
        form: if line.flag("add-omp-offload-notes") { EmbeddedForm::RawWithNotes } else { EmbeddedForm::Raw },
        access: access::get(),
        ..WrapOptions::new(kind, images.collect(), output)
    })
}
