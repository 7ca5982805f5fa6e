//! Bitcode for targets other than AMD GPUs, up to LLVM 19. There, clang-linker-wrapper optimizes bitcode and passes
//! objects to the linkers.
//!
//! clang compiles each file separately, and the linker of the target links the results. Nothing is inlined across
//! files.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::{DeviceFile, DeviceLinker, Find, Job, clang};
use crate::format::ImageKind;
use crate::link::error::Result;
use crate::link::programs::CommandLine;
use crate::target::triple;

/// The tool's default optimization level.
const LEVEL: &str = "-O2";

/// Architectures whose code is assembled by another program.
const ASSEMBLED: [&str; 2] = ["nvptx", "nvptx64"];

/// Commands that compile the bitcode among the inputs, and link the results with the other inputs.
pub fn commands(job: &Job<'_>, linker: &DeviceLinker, find: Find<'_>) -> Result<Vec<CommandLine>> {
    let program = find(clang::PROGRAM)?;
    let is_bitcode = |input: &&DeviceFile| input.image_kind == ImageKind::Bitcode;
    if job.arguments.emits_bitcode && job.inputs.iter().all(|input| is_bitcode(&input)) {
        return Ok(vec![CommandLine { program, arguments: joined_bitcode(job) }]);
    }
    let (mut commands, mut inputs) = (Vec::new(), Vec::new());
    for (number, input) in job.inputs.iter().enumerate() {
        if !is_bitcode(&input) {
            inputs.push(input.clone());
            continue;
        }
        let file = compiled(job, number);
        commands.push(CommandLine { program: program.clone(), arguments: compilation(job, &input.path, &file.path) });
        inputs.push(file);
    }
    let linked = Job { inputs: &inputs, ..*job };
    commands.extend(linker.commands(&linked, find)?);
    Ok(commands)
}

/// File for the code of an input. Its name begins with the output's, because one input may be in several links.
fn compiled(job: &Job<'_>, number: usize) -> DeviceFile {
    let (extension, image_kind) =
        if is_assembled(job) { ("lto.ptx", ImageKind::Ptx) } else { ("lto.o", ImageKind::Elf) };
    let mut name = job.output.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{number}.{extension}"));
    DeviceFile { path: job.output.with_file_name(name), image_kind }
}

/// True if another program assembles clang's output for the target.
pub fn is_assembled(job: &Job<'_>) -> bool {
    triple::architecture(job.triple).is_some_and(|architecture| ASSEMBLED.contains(&architecture))
}

/// Arguments for clang to compile a file. The compiler proper writes PTX: the driver of LLVM 15 has no such target.
fn compilation(job: &Job<'_>, input: &Path, output: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    if is_assembled(job) {
        words.extend(["-cc1".into(), "-triple".into(), job.triple.into()]);
        if let Some(processor) = job.processor() {
            words.extend(["-target-cpu".into(), processor.into()]);
        }
        words.push("-S".into());
    } else {
        words.extend([format!("--target={}", job.triple).into(), "-c".into(), "-fPIC".into()]);
        if let Some(processor) = job.processor() {
            words.push(format!("-march={processor}").into());
        }
    }
    words.push(LEVEL.into());
    // The other options are for the driver.
    let is_passed = |word: &&OsString| [&b"-O"[..], b"-Rpass"].iter().any(|it| starts_with(word, it));
    words.extend(job.compiler_arguments().filter(is_passed).cloned());
    words.extend(job.arguments.llvm.iter().flat_map(|option| ["-mllvm".into(), option.value.clone()]));
    words.extend(["-Wno-override-module".into(), "-x".into(), "ir".into(), input.into(), "-o".into(), output.into()]);
    words
}

fn starts_with(word: &OsStr, start: &[u8]) -> bool {
    word.as_encoded_bytes().starts_with(start)
}

/// Arguments for clang to combine all inputs in one file of bitcode.
fn joined_bitcode(job: &Job<'_>) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["-cc1".into(), "-triple".into(), job.triple.into(), "-emit-llvm-bc".into()];
    let mut paths = job.inputs.iter().map(|input| PathBuf::as_path(&input.path));
    let first = paths.next().unwrap_or(Path::new(""));
    words.extend(paths.flat_map(|path| ["-mlink-bitcode-file".into(), OsString::from(path)]));
    words.extend(["-Wno-override-module".into(), "-x".into(), "ir".into(), first.into()]);
    words.extend(["-o".into(), job.output.into()]);
    words
}
