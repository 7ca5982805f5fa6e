//! Links the device images of one target with the linker of that target.
//!
//! Each linker is a row: its architectures, its programs, and the properties of its inputs. An image that is linked
//! already passes unchanged. clang links what no other program can: bitcode for targets other than AMD's.

mod amdgpu;
mod bitcode;
mod clang;
mod cpu;
mod nvptx;
mod optimization;
mod spirv;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub use bitcode::{is_assembled, source_with_uses};
pub use cpu::HOST_COMPILER;

use super::host_line::HostWord;
use super::programs::CommandLine;
use crate::embed::llvm::linker::{DeviceWords, LinkerRules};
use fatbin_core::base::bytes::View;
use fatbin_core::base::io::os_string;
use fatbin_core::format::ImageKind;
use fatbin_core::target::subarch::GENERIC;
use fatbin_core::target::{InvalidTargetId, triple};

/// Arguments of the command line for device links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceArguments {
    /// Arguments for the linker itself.
    pub linker: Vec<TargetArgument>,
    /// Interpretation of these arguments.
    pub linker_words: DeviceWords,
    /// Arguments of the compiler. Some of the linker's arguments depend on them.
    pub compiler: Vec<TargetArgument>,
    /// Options for LLVM's optimizer and code generator.
    pub llvm: Vec<LlvmArgument>,
    /// True if the result is bitcode.
    pub emits_bitcode: bool,
}

/// An argument, for one target or for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetArgument {
    /// Triple of the target; `None` for all.
    pub triple: Option<String>,
    /// The argument.
    pub value: OsString,
}

/// An option for LLVM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlvmArgument {
    /// The option.
    pub value: OsString,
    /// True if it was given as `-mllvm`. clang-linker-wrapper passes this on in two forms.
    pub is_mllvm: bool,
}

impl TargetArgument {
    /// Parses `VALUE` or `TRIPLE=VALUE`. Text before `=` that does not begin with an architecture is part of the value.
    pub fn parse(text: &OsStr) -> TargetArgument {
        let split = TargetArgument::split(text);
        let is_triple = split.triple.as_deref().is_some_and(|of| triple::architecture(of).is_some());
        if is_triple { split } else { TargetArgument { triple: None, value: text.to_owned() } }
    }

    /// Splits `VALUE` or `TRIPLE=VALUE` at the first `=`, like clang-linker-wrapper up to LLVM 19.
    pub fn split(text: &OsStr) -> TargetArgument {
        let bytes = text.as_encoded_bytes();
        match bytes.iter().position(|&byte| byte == b'=').map(|at| bytes.split_at(at)) {
            Some((of, [_, value @ ..])) => {
                TargetArgument { triple: Some(String::from_utf8_lossy(of).into_owned()), value: os_string(value) }
            }
            _ => TargetArgument { triple: None, value: text.to_owned() },
        }
    }
}

/// A file with a device image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Kind of the image by its content.
    pub image_kind: ImageKind,
    /// True for assembly text of clang, whose directives not every assembler knows.
    pub is_assembly: bool,
    /// True if only the symbols that other images use are linked.
    pub is_library: bool,
}

/// A device link.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Triple of the images.
    pub triple: &'a str,
    /// Processor of the images; empty or `generic` if it is not stated.
    pub arch: &'a str,
    /// Features of the processor that the images need, such as `+ptx78`.
    pub features: &'a [&'a str],
    /// True if the SYCL runtime registers the result: clang-sycl-linker writes the table of kernels that it needs.
    pub is_sycl: bool,
    /// Files with the images.
    pub inputs: &'a [DeviceFile],
    /// Source code that uses functions of the libraries among them.
    pub source: Option<&'a Path>,
    /// File for the linked image.
    pub output: &'a Path,
    /// Prefix of the names of further outputs of clang.
    pub dump_prefix: &'a Path,
    /// True if files between the steps are kept.
    pub keeps_files: bool,
    /// Words of the host linker that concern libraries: devices that are CPUs share them.
    pub libraries: &'a [&'a HostWord],
    /// Arguments of the command line.
    pub arguments: &'a DeviceArguments,
    /// Rules of the release.
    pub rules: LinkerRules,
}

/// A program that links device code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceProgram {
    /// Name of the program.
    pub name: &'static str,
    /// Package with the program.
    pub package: &'static str,
}

/// Function that returns the path of a program.
pub type Find<'a> = &'a dyn Fn(DeviceProgram) -> super::Result<PathBuf>;

/// A linker for device code.
#[derive(Debug)]
pub struct DeviceLinker {
    /// Architectures, by the first of their names.
    architectures: &'static [&'static str],
    /// Checks that a processor is known, if the programs do not.
    pub check_processor: fn(&str) -> Result<(), InvalidTargetId>,
    /// Commands that link images.
    commands: fn(&Job<'_>, Find<'_>) -> super::Result<Vec<CommandLine>>,
    /// Extension that files must have for the linker to read images from them; `None` for any.
    pub extension: Option<&'static str>,
    /// True if clang has to link images of this kind.
    needs_clang: fn(ImageKind) -> bool,
    /// True if an image needs no link when it is the only one of its target.
    pub is_complete: fn(View<'_>) -> bool,
    /// True if such an image can be linked with others.
    pub links_complete: bool,
    /// True if the program assembles text in files named `*.s`.
    pub assembles_text: bool,
}

const LINKERS: [DeviceLinker; 4] = [amdgpu::LINKER, nvptx::LINKER, cpu::LINKER, spirv::LINKER];

impl DeviceLinker {
    /// Linker for a triple.
    pub fn of(triple: &str) -> Option<&'static DeviceLinker> {
        let architecture = triple::architecture(triple)?;
        LINKERS.iter().find(|linker| linker.architectures.contains(&architecture))
    }

    /// Commands that link images.
    pub fn commands(&self, job: &Job<'_>, find: Find<'_>) -> super::Result<Vec<CommandLine>> {
        let needs_clang = |input: &DeviceFile| (self.needs_clang)(input.image_kind);
        let is_for_clang = job.is_sycl || job.inputs.iter().any(|input| input.is_assembly);
        let is_linked_by_clang = is_for_clang || job.rules.links_nvptx_bitcode && bitcode::is_mixed(job);
        if job.rules.has_own_lto && !is_linked_by_clang && job.inputs.iter().any(needs_clang) {
            return bitcode::commands(job, self, find);
        }
        let has_compiler_words =
            job.arguments.linker_words == DeviceWords::Compiler && job.linker_arguments().next().is_some();
        if is_for_clang || has_compiler_words || job.inputs.iter().any(needs_clang) {
            return Ok(vec![CommandLine { program: find(clang::PROGRAM)?, arguments: job.for_clang() }]);
        }
        (self.commands)(job, find)
    }
}

impl<'a> Job<'a> {
    /// Arguments for clang to link the images.
    pub fn for_clang(&self) -> Vec<OsString> {
        clang::arguments(self)
    }

    fn linker_arguments(&self) -> impl Iterator<Item = OsString> + use<'a> {
        let is_list = self.arguments.linker_words == DeviceWords::CommaSeparated;
        of_target(&self.arguments.linker, self.triple).flat_map(move |word| match word.to_str() {
            Some(text) if is_list => text.split(',').map(OsString::from).collect(),
            _ => vec![word.clone()],
        })
    }

    fn compiler_arguments(&self) -> impl Iterator<Item = &'a OsString> + use<'a> {
        of_target(&self.arguments.compiler, self.triple)
    }

    fn processor(&self) -> Option<&'a str> {
        stated(self.arch)
    }

    fn paths(&self) -> impl Iterator<Item = OsString> + use<'a> {
        self.inputs.iter().map(|input| input.path.clone().into())
    }
}

/// Processor of a target, if it is stated.
pub fn stated(arch: &str) -> Option<&str> {
    Some(arch).filter(|arch| !["", GENERIC].contains(arch))
}

fn of_target<'a>(arguments: &'a [TargetArgument], triple: &'a str) -> impl Iterator<Item = &'a OsString> {
    let applies = move |it: &&TargetArgument| it.triple.as_deref().is_none_or(|of| triple::are_compatible(of, triple));
    arguments.iter().filter(applies).map(|it| &it.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_before_an_equals_sign_is_a_triple_up_to_llvm_19() {
        let word = |triple: Option<&str>, value: &str| TargetArgument {
            triple: triple.map(str::to_owned),
            value: OsString::from(value),
        };
        let cases = [
            ("-O3", word(None, "-O3"), word(None, "-O3")),
            ("--build-id=none", word(None, "--build-id=none"), word(Some("--build-id"), "none")),
            (
                "amdgcn-amd-amdhsa=-z=x",
                word(Some("amdgcn-amd-amdhsa"), "-z=x"),
                word(Some("amdgcn-amd-amdhsa"), "-z=x"),
            ),
        ];
        for (text, parsed, split) in cases {
            assert_eq!(TargetArgument::parse(OsStr::new(text)), parsed, "{text}");
            assert_eq!(TargetArgument::split(OsStr::new(text)), split, "{text}");
        }
    }
}
