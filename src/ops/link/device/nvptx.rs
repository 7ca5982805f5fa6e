//! NVIDIA GPUs: ptxas assembles PTX, and nvlink links cubins.

use std::ffi::OsString;

use object::elf;

use super::{DeviceFile, DeviceLinker, DeviceProgram, Find, Job, optimization};
use crate::link::elf_type::elf_type;
use crate::link::error::Result;
use crate::link::programs::CommandLine;
use fatbin_core::base::bytes::View;
use fatbin_core::format::ImageKind;

pub const LINKER: DeviceLinker = DeviceLinker {
    architectures: &["nvptx", "nvptx64"],
    check_processor: |_| Ok(()),
    commands,
    extension: Some(EXTENSION),
    needs_clang: |kind| kind == ImageKind::Bitcode,
    is_complete,
    links_complete: false,
    assembles_text: false,
};

/// nvlink recognizes cubins by this extension.
const EXTENSION: &str = "cubin";

const NVLINK: DeviceProgram =
    DeviceProgram { name: "nvlink", package: "nvidia-cuda-nvcc (PyPI) or nvidia-cuda-toolkit" };
/// Option of clang for an argument of ptxas, which is the next word.
const FOR_ASSEMBLER: &str = "-Xcuda-ptxas";

const PTXAS: DeviceProgram = DeviceProgram { name: "ptxas", ..NVLINK };

fn commands(job: &Job<'_>, find: Find<'_>) -> Result<Vec<CommandLine>> {
    let mut commands = Vec::new();
    let mut cubins: Vec<OsString> = Vec::new();
    for DeviceFile { path, image_kind, .. } in job.inputs {
        let cubin = path.with_extension(EXTENSION);
        if *image_kind == ImageKind::Ptx {
            let mut arguments = processor(job);
            arguments.extend(["-m64".into(), "-c".into(), path.into(), "-o".into(), cubin.clone().into()]);
            arguments.extend(assembler_arguments(job));
            commands.push(CommandLine { program: find(PTXAS)?, arguments });
        }
        cubins.push(cubin.into());
    }
    let mut arguments = processor(job);
    arguments.extend(job.linker_arguments());
    arguments.extend(cubins);
    arguments.extend(["-o".into(), job.output.into()]);
    commands.push(CommandLine { program: find(NVLINK)?, arguments });
    Ok(commands)
}

fn processor(job: &Job<'_>) -> Vec<OsString> {
    job.processor().map(|processor| ["-arch".into(), processor.into()]).into_iter().flatten().collect()
}

/// Arguments for ptxas: its own behind clang's option for them, and the level of optimization and debugging.
fn assembler_arguments(job: &Job<'_>) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut level = None;
    let mut is_debugged = false;
    let mut words = job.compiler_arguments();
    while let Some(word) = words.next() {
        if word == FOR_ASSEMBLER {
            arguments.extend(words.next().cloned());
        }
        level = word.to_str().and_then(optimization::level).or(level);
        is_debugged |= word == "-g";
    }
    arguments.extend(level.map(|level| format!("-O{level}").into()));
    if is_debugged {
        // ptxas does not debug optimized code.
        arguments.push(if level == Some("0") { "-g".into() } else { "-lineinfo".into() });
    }
    arguments
}

/// False for a relocatable cubin.
fn is_complete(image: View<'_>) -> bool {
    elf_type(image).is_some_and(|file_type| file_type != elf::ET_REL)
}
