//! Bitcode for targets other than AMD GPUs, up to LLVM 19. There, clang-linker-wrapper optimizes bitcode and passes
//! objects to the linkers.
//!
//! For CPUs, clang compiles each file separately, and the linker of the target links the results. Nothing is inlined
//! across files. For NVIDIA GPUs, clang compiles all files together, and only the used symbols of libraries: some
//! functions of OpenMP's device runtime cannot be compiled for these GPUs.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::{DeviceFile, DeviceLinker, Find, Job, clang};
use crate::link::error::Result;
use crate::link::programs::CommandLine;
use fatbin_core::format::ImageKind;
use fatbin_core::target::triple;

/// The tool's default optimization level.
const LEVEL: &str = "-O2";

/// Architectures whose code is assembled by another program.
const ASSEMBLED: [&str; 2] = ["nvptx", "nvptx64"];

/// File without code. clang up to LLVM 16 links bitcode only to source code.
const EMPTY: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };

/// Functions of OpenMP's device runtime whose calls the optimizer of LLVM 15 to 19 adds to kernels. It does not look
/// for their definitions.
const ADDED_CALLS: [&str; 7] = [
    "__kmpc_barrier_simple_generic",
    "__kmpc_barrier_simple_spmd",
    "__kmpc_get_hardware_num_threads_in_block",
    "__kmpc_get_hardware_thread_id_in_block",
    "__kmpc_get_warp_size",
    "__kmpc_kernel_end_parallel",
    "__kmpc_kernel_parallel",
];

/// Commands that compile the bitcode among the inputs, and link the results with the other inputs.
pub fn commands(job: &Job<'_>, linker: &DeviceLinker, find: Find<'_>) -> Result<Vec<CommandLine>> {
    let program = find(clang::PROGRAM)?;
    let is_bitcode = |input: &&DeviceFile| input.image_kind == ImageKind::Bitcode;
    let bitcode: Vec<&DeviceFile> = job.inputs.iter().filter(is_bitcode).collect();
    let mut steps = Vec::new();
    let mut inputs = Vec::new();
    if job.arguments.emits_bitcode && bitcode.len() == job.inputs.len() {
        steps.push(combination(job, &bitcode, job.output));
    } else if is_assembled(job.triple) {
        let code = DeviceFile { image_kind: ImageKind::Ptx, ..intermediate(job, "lto.s") };
        steps.extend(joint_compilation(job, &bitcode, &code.path));
        inputs.push(code);
        inputs.extend(job.inputs.iter().filter(|input| !is_bitcode(input)).cloned());
    } else {
        for (number, input) in job.inputs.iter().enumerate() {
            if is_bitcode(&input) {
                let code = intermediate(job, &format!("{number}.lto.o"));
                steps.push(compilation(job, &input.path, &code.path));
                inputs.push(code);
            } else {
                inputs.push(input.clone());
            }
        }
    }
    let mut commands: Vec<CommandLine> =
        steps.into_iter().map(|arguments| CommandLine { program: program.clone(), arguments }).collect();
    if !inputs.is_empty() {
        commands.extend(linker.commands(&Job { inputs: &inputs, ..*job }, find)?);
    }
    Ok(commands)
}

/// Source code that uses the functions of libraries whose calls the optimizer may add; empty if libraries define none.
/// Otherwise clang drops them before it optimizes.
pub fn source_with_uses(defined: &BTreeSet<String>) -> String {
    let used: Vec<&str> = ADDED_CALLS.into_iter().filter(|name| defined.contains(*name)).collect();
    if used.is_empty() {
        return String::new();
    }
    let declarations: String = used.iter().map(|name| format!("void {name}(void);\n")).collect();
    format!("{declarations}static void (*uses[])(void) = {{ {} }};\n", used.join(", "))
}

/// File between two steps. Its name begins with the output's, because one input may be in several links.
fn intermediate(job: &Job<'_>, extension: &str) -> DeviceFile {
    let mut name = job.output.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{extension}"));
    DeviceFile {
        path: job.output.with_file_name(name),
        image_kind: ImageKind::Elf,
        is_assembly: false,
        is_library: false,
    }
}

/// True if another program assembles clang's output for the target, and some inputs are not bitcode. These may use any
/// symbol of a library.
pub fn is_mixed(job: &Job<'_>) -> bool {
    is_assembled(job.triple) && job.inputs.iter().any(|input| input.image_kind != ImageKind::Bitcode)
}

/// True if another program assembles clang's output for the target.
pub fn is_assembled(triple: &str) -> bool {
    triple::architecture(triple).is_some_and(|architecture| ASSEMBLED.contains(&architecture))
}

/// Arguments for clang to compile all files of bitcode to one file of PTX. Libraries are combined first, because they
/// use one another.
fn joint_compilation(job: &Job<'_>, bitcode: &[&DeviceFile], output: &Path) -> Vec<Vec<OsString>> {
    let (libraries, others): (Vec<&DeviceFile>, Vec<&DeviceFile>) = bitcode.iter().partition(|file| file.is_library);
    let mut steps = Vec::new();
    let mut words = proper(job, "-S");
    // ptxas reads a directory and a file as one string.
    words.push("-fno-dwarf-directory-asm".into());
    words.extend(options(job));
    words.extend(linked("-mlink-bitcode-file", others));
    if !libraries.is_empty() {
        let combined = intermediate(job, "lib.bc");
        steps.push(combination(job, &libraries, &combined.path));
        words.extend(linked("-mlink-builtin-bitcode", [&combined]));
    }
    if job.source.is_some() {
        words.push("-femit-all-decls".into());
    }
    words.extend(of_source(job.source.unwrap_or(Path::new(EMPTY)), output));
    steps.push(words);
    steps
}

/// Arguments for clang to combine files of bitcode.
fn combination(job: &Job<'_>, bitcode: &[&DeviceFile], output: &Path) -> Vec<OsString> {
    let mut words = proper(job, "-emit-llvm-bc");
    words.push("-disable-llvm-passes".into());
    words.extend(linked("-mlink-bitcode-file", bitcode.iter().copied()));
    words.extend(of_source(Path::new(EMPTY), output));
    words
}

/// First arguments of the compiler proper. The driver of LLVM 15 does not write PTX.
fn proper(job: &Job<'_>, action: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["-cc1".into(), "-triple".into(), job.triple.into(), action.into()];
    if let Some(processor) = job.processor() {
        words.extend(["-target-cpu".into(), processor.into()]);
    }
    words.extend(job.features.iter().flat_map(|feature| ["-target-feature".into(), OsString::from(feature)]));
    words
}

fn linked<'a>(option: &'static str, files: impl IntoIterator<Item = &'a DeviceFile>) -> impl Iterator<Item = OsString> {
    files.into_iter().flat_map(move |file| [option.into(), file.path.clone().into()])
}

fn of_source(source: &Path, output: &Path) -> [OsString; 5] {
    ["-x".into(), "c".into(), source.into(), "-o".into(), output.into()]
}

/// Arguments for clang to compile a file.
fn compilation(job: &Job<'_>, input: &Path, output: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![format!("--target={}", job.triple).into(), "-c".into(), "-fPIC".into()];
    if let Some(processor) = job.processor() {
        words.push(format!("-march={processor}").into());
    }
    words.extend(options(job));
    words.extend(["-x".into(), "ir".into(), input.into(), "-o".into(), output.into()]);
    words
}

/// Options that the driver and the compiler proper have.
fn options(job: &Job<'_>) -> Vec<OsString> {
    let is_common = |word: &&OsString| [&b"-O"[..], b"-Rpass"].iter().any(|it| starts_with(word, it));
    let mut words: Vec<OsString> = vec![LEVEL.into()];
    words.extend(job.compiler_arguments().filter(is_common).cloned());
    words.extend(job.arguments.llvm.iter().flat_map(|option| ["-mllvm".into(), option.value.clone()]));
    words.push("-Wno-override-module".into());
    words
}

fn starts_with(word: &OsStr, start: &[u8]) -> bool {
    word.as_encoded_bytes().starts_with(start)
}
