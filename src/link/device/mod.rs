//! Linking of the device images of one target, by the linker of that target.
//!
//! A linker is a row: the architectures that it is for, its programs, and the properties of its inputs. An image that is linked
//! already passes unchanged. clang links what no other program can: bitcode for targets other than AMD's.

mod amdgpu;
mod clang;
mod cpu;
mod nvptx;
mod spirv;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::host_line::HostWord;
use super::programs::CommandLine;
use crate::base::bytes::View;
use crate::base::io::os_string;
use crate::format::ImageKind;
use crate::target::subarch::GENERIC;
use crate::target::{InvalidTargetId, triple};

/// Arguments of the command line for device links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceArguments {
    /// Arguments for the linker itself.
    pub linker: Vec<TargetArgument>,
    /// Arguments of the compiler, which determine some of the linker's.
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
    /// True if it was given as `-mllvm`, which clang-linker-wrapper passes on in two forms.
    pub is_mllvm: bool,
}

impl TargetArgument {
    /// Parses `VALUE` or `TRIPLE=VALUE`. Text before `=` that does not begin with an architecture is part of the value.
    pub fn parse(text: &OsStr) -> TargetArgument {
        let bytes = text.as_encoded_bytes();
        let split = bytes.iter().position(|&byte| byte == b'=').map(|at| bytes.split_at(at));
        let is_triple = |of: &[u8]| std::str::from_utf8(of).is_ok_and(|of| triple::architecture(of).is_some());
        match split {
            Some((of, [_, value @ ..])) if is_triple(of) => {
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
}

/// A device link.
#[derive(Debug, Clone, Copy)]
pub struct Job<'a> {
    /// Triple of the images.
    pub triple: &'a str,
    /// Processor of the images; empty or `generic` where it is not stated.
    pub arch: &'a str,
    /// True if the SYCL runtime registers the result: clang-sycl-linker writes the table of kernels that it needs.
    pub is_sycl: bool,
    /// Files with the images.
    pub inputs: &'a [DeviceFile],
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
    /// Checks that a processor is known, where the programs do not.
    pub check_processor: fn(&str) -> Result<(), InvalidTargetId>,
    /// Returns the commands that link images.
    commands: fn(&Job<'_>, Find<'_>) -> super::Result<Vec<CommandLine>>,
    /// Extension of the files from which the linker reads images; `None` for any.
    pub extension: Option<&'static str>,
    /// Returns whether clang has to link such images.
    needs_clang: fn(ImageKind) -> bool,
    /// Returns whether an image needs no link if it is the only one of its target.
    pub is_complete: fn(View<'_>) -> bool,
    /// True if such an image can be linked with others.
    pub links_complete: bool,
}

const LINKERS: [DeviceLinker; 4] = [amdgpu::LINKER, nvptx::LINKER, cpu::LINKER, spirv::LINKER];

impl DeviceLinker {
    /// Returns the linker for a triple.
    pub fn of(triple: &str) -> Option<&'static DeviceLinker> {
        let architecture = triple::architecture(triple)?;
        LINKERS.iter().find(|linker| linker.architectures.contains(&architecture))
    }

    /// Returns the commands that link images.
    pub fn commands(&self, job: &Job<'_>, find: Find<'_>) -> super::Result<Vec<CommandLine>> {
        if job.is_sycl || job.inputs.iter().any(|input| (self.needs_clang)(input.image_kind)) {
            return Ok(vec![CommandLine { program: find(clang::PROGRAM)?, arguments: job.for_clang() }]);
        }
        (self.commands)(job, find)
    }
}

impl<'a> Job<'a> {
    /// Returns the arguments with which clang links the images.
    pub fn for_clang(&self) -> Vec<OsString> {
        clang::arguments(self)
    }

    /// Returns the arguments for the linker of this target.
    fn linker_arguments(&self) -> impl Iterator<Item = &'a OsString> + use<'a> {
        of_target(&self.arguments.linker, self.triple)
    }

    /// Returns the arguments of the compiler for this target.
    fn compiler_arguments(&self) -> impl Iterator<Item = &'a OsString> + use<'a> {
        of_target(&self.arguments.compiler, self.triple)
    }

    /// Returns the processor, if it is stated.
    fn processor(&self) -> Option<&'a str> {
        stated(self.arch)
    }

    fn paths(&self) -> impl Iterator<Item = OsString> + use<'a> {
        self.inputs.iter().map(|input| input.path.clone().into())
    }
}

/// Returns the processor of a target, if it is stated.
pub fn stated(arch: &str) -> Option<&str> {
    Some(arch).filter(|arch| !["", GENERIC].contains(arch))
}

fn of_target<'a>(arguments: &'a [TargetArgument], triple: &'a str) -> impl Iterator<Item = &'a OsString> {
    let applies = move |it: &&TargetArgument| it.triple.as_deref().is_none_or(|of| triple::are_compatible(of, triple));
    arguments.iter().filter(applies).map(|it| &it.value)
}
