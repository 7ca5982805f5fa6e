//! AMD GPUs: ld.lld, as clang 22.1.8 calls it. It links both bitcode and relocatable code objects.

use std::ffi::OsString;

use object::elf;

use super::{DeviceLinker, DeviceProgram, Find, Job, optimization, stated};
use crate::link::elf_type::elf_type;
use crate::link::error::Result;
use crate::link::programs::CommandLine;
use crate::link::words::joined;
use fatbin_core::base::bytes::View;
use fatbin_core::target::{InvalidTargetId, TargetId, target_id};

pub const LINKER: DeviceLinker = DeviceLinker {
    architectures: &["amdgcn"],
    check_processor,
    commands,
    extension: None,
    needs_clang: |_| false,
    is_complete,
    links_complete: false,
    assembles_text: false,
};

const LLD: DeviceProgram = DeviceProgram { name: "ld.lld", package: "lld" };

/// Option for the level of code generation, without its value. Linkers without it use the optimization level.
const CODEGEN_LEVEL: &str = "--lto-CGO";

/// Options of the compiler, joined with a value, and the linker's options with the same value.
const WITH_VALUE: [(&str, &[&str]); 4] = [
    ("-O", &["-plugin-opt=O", CODEGEN_LEVEL]),
    ("-Rpass=", &["-plugin-opt=-pass-remarks="]),
    ("-Rpass-missed=", &["-plugin-opt=-pass-remarks-missed="]),
    ("-Rpass-analysis=", &["-plugin-opt=-pass-remarks-analysis="]),
];

const PARTITIONS: &str = "-flto-partitions=";

fn commands(job: &Job<'_>, find: Find<'_>) -> Result<Vec<CommandLine>> {
    Ok(vec![CommandLine { program: find(LLD)?, arguments: arguments(job) }])
}

fn arguments(job: &Job<'_>) -> Vec<OsString> {
    let (processor, features) = target_id::cut(job.processor().unwrap_or_default());
    let mut words: Vec<OsString> = vec!["--no-undefined".into(), "-shared".into()];
    let options = || job.compiler_arguments().filter_map(|argument| argument.to_str());
    if let Some(number) = options().filter_map(|option| option.strip_prefix(PARTITIONS)).last() {
        words.push(format!("--lto-partitions={number}").into());
    }
    // Without the processor, the header of the result has the flags of the default processor.
    if !processor.is_empty() {
        words.push(format!("-plugin-opt=mcpu={processor}").into());
    }
    let translated = options().flat_map(translate);
    words.extend(
        translated.filter(|word| job.rules.has_codegen_level || !word.starts_with(CODEGEN_LEVEL)).map(OsString::from),
    );
    words.extend(job.arguments.llvm.iter().map(|option| joined("--plugin-opt=", &option.value)));
    words.extend(job.paths());
    let features: Vec<String> = features
        .filter_map(|feature| Some(format!("{}{}", feature.chars().last()?, feature.trim_end_matches(['+', '-']))))
        .collect();
    if !features.is_empty() {
        words.push(format!("-plugin-opt=-mattr={}", features.join(",")).into());
    }
    if job.keeps_files {
        words.push("--save-temps".into());
    }
    if job.arguments.emits_bitcode {
        words.push("--lto-emit-llvm".into());
    }
    words.extend(job.linker_arguments());
    words.extend(["-o".into(), job.output.into()]);
    words
}

/// Linker options for an option of the compiler; most have none.
fn translate(option: &str) -> Vec<String> {
    if option == "-flto=thin" {
        return vec!["-plugin-opt=thinlto".to_owned()];
    }
    let Some((value, to)) = WITH_VALUE.iter().find_map(|(from, to)| Some((option.strip_prefix(from)?, to))) else {
        return Vec::new();
    };
    let value = optimization::level(option).unwrap_or(value);
    to.iter().map(|option| format!("{option}{value}")).collect()
}

/// Checks that a processor is known. The linker treats an unknown processor as the default.
fn check_processor(arch: &str) -> Result<(), InvalidTargetId> {
    if stated(arch).is_some() { TargetId::parse(arch).map(drop) } else { Ok(()) }
}

/// A finished code object is a shared library.
fn is_complete(image: View<'_>) -> bool {
    elf_type(image) == Some(elf::ET_DYN)
}
