//! Drop-in replacements for LLVM's tools, NVIDIA's fatbinary and cuobjdump, and ROCm's roc-obj. Called under the name
//! of a tool, the program behaves as that tool.
//!
//! A drop-in defines only command-line syntax and wording. Options are data, one table per tool. The work is done by
//! the operations that fatbin's own commands use.

#![deny(unsafe_code)]

mod access;
mod cuobjdump;
mod diagnostics;
mod fatbinary;
mod files;
mod linker_wrapper;
mod llvm_options;
mod nvidia_options;
mod offload_bundler;
mod offload_packager;
mod offload_wrapper;
mod offloading;
mod roc_obj;
pub mod stand_in;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use diagnostics::Diagnostics;
use stand_in::StandIn;

use fatbin_core::base::io::Access;
use fatbin_core::base::parallel::with_variable;
use fatbin_ops::embed::llvm::Release;

/// A tool that this program replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    ClangOffloadWrapper,
    LlvmOffloadWrapper,
    ClangOffloadPackager,
    LlvmOffloadBinary,
    OffloadBundler,
    LinkerWrapper,
    Fatbinary,
    Cuobjdump,
    RocObjLs,
    RocObjExtract,
    Objdump,
    Readobj,
    Objcopy,
}

const TOOLS: [(&str, Tool); 13] = [
    ("clang-offload-wrapper", Tool::ClangOffloadWrapper),
    ("llvm-offload-wrapper", Tool::LlvmOffloadWrapper),
    ("clang-offload-packager", Tool::ClangOffloadPackager),
    ("llvm-offload-binary", Tool::LlvmOffloadBinary),
    ("clang-offload-bundler", Tool::OffloadBundler),
    ("clang-linker-wrapper", Tool::LinkerWrapper),
    ("fatbinary", Tool::Fatbinary),
    ("cuobjdump", Tool::Cuobjdump),
    ("roc-obj-ls", Tool::RocObjLs),
    ("roc-obj-extract", Tool::RocObjExtract),
    ("llvm-objdump", Tool::Objdump),
    ("llvm-readobj", Tool::Readobj),
    ("llvm-objcopy", Tool::Objcopy),
];

/// Tools that people call, and compilers do not. Their names are linked on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraTools {
    /// NVIDIA's cuobjdump
    Cuobjdump,
    /// ROCm's roc-obj-ls and roc-obj-extract
    RocObj,
    /// LLVM's llvm-objdump, llvm-readobj and llvm-objcopy, for offloading only
    LlvmObj,
}

/// Names of the tools that a release replaces. Without a release, names of the tools that every release replaces.
pub fn names(release: Option<Release>, extra: &[ExtraTools]) -> impl Iterator<Item = &'static str> {
    let is_linked = move |tool: &Tool| match tool {
        Tool::LinkerWrapper => release.is_some_and(|release| release.linker.is_replaced),
        Tool::Cuobjdump => extra.contains(&ExtraTools::Cuobjdump),
        Tool::RocObjLs | Tool::RocObjExtract => extra.contains(&ExtraTools::RocObj),
        Tool::Objdump | Tool::Readobj | Tool::Objcopy => extra.contains(&ExtraTools::LlvmObj),
        Tool::ClangOffloadWrapper
        | Tool::LlvmOffloadWrapper
        | Tool::ClangOffloadPackager
        | Tool::LlvmOffloadBinary
        | Tool::OffloadBundler
        | Tool::Fatbinary => true,
    };
    TOOLS.iter().filter(move |(_, tool)| is_linked(tool)).map(|(name, _)| *name)
}

/// Exit status of a failed run, as in LLVM's tools.
const FAILED: u8 = 1;

/// A tool and the major version in the suffix, as parsed from a program name.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Called {
    tool: Tool,
    suffix: Option<u32>,
}

/// Parses the contents of a response file as command lines of the newest release's tools. Returns what they print
/// instead of running.
pub fn read_options(response_file: &[u8]) -> Vec<String> {
    let lines = [offload_bundler::read_options(response_file), offload_packager::read_options(response_file)];
    let printed = lines.into_iter().filter_map(|line| line.err().map(|stop| stop.out + &stop.err));
    let nvidia = [fatbinary::TOOL, cuobjdump::TOOL].map(|tool| tool.read_options(response_file));
    printed.chain(nvidia.into_iter().filter_map(Result::err)).collect()
}

/// Runs the tool that the program is named after, with this access to inputs. Returns `None` if the program's name is not
/// a tool's.
pub fn run(access: Access, arguments: &[OsString]) -> Option<u8> {
    let (program, arguments) = arguments.split_first()?;
    let called = Called::parse(Path::new(program).file_name()?)?;
    access::set(access);
    let run = || {
        let stand_in = StandIn::determine(called.tool, program, called.suffix)?;
        Ok(called.tool.run(program, stand_in, arguments))
    };
    let status = match with_variable(run).and_then(|result| result) {
        Ok(status) => status,
        Err(message) => {
            Diagnostics { program: Some(program), color: None }.error(&message);
            FAILED
        }
    };
    Some(status)
}

impl Tool {
    fn run(self, program: &OsStr, stand_in: StandIn, arguments: &[OsString]) -> u8 {
        match self {
            Tool::ClangOffloadWrapper => offload_wrapper::clang(program, stand_in, arguments),
            Tool::LlvmOffloadWrapper => offload_wrapper::llvm(program, stand_in, arguments),
            Tool::ClangOffloadPackager | Tool::LlvmOffloadBinary => offload_packager::run(program, stand_in, arguments),
            Tool::OffloadBundler => offload_bundler::run(program, stand_in, arguments),
            Tool::LinkerWrapper => linker_wrapper::run(program, stand_in, arguments),
            Tool::Fatbinary => fatbinary::run(arguments),
            Tool::Cuobjdump => cuobjdump::run(arguments),
            Tool::RocObjLs => roc_obj::list(program, arguments),
            Tool::RocObjExtract => roc_obj::extract(program, arguments),
            Tool::Objdump => offloading::objdump(program, stand_in, arguments),
            Tool::Readobj => offloading::readobj(program, arguments),
            Tool::Objcopy => offloading::objcopy(program, arguments),
        }
    }
}

impl Called {
    /// Parses `[TARGET-]TOOL[-VERSION][.exe]`, the names that distributions and cross toolchains use.
    fn parse(name: &OsStr) -> Option<Called> {
        let name = name.to_str()?;
        let name = name.strip_suffix(".exe").unwrap_or(name);
        let (name, suffix) = match name.rsplit_once('-') {
            Some((before, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => {
                (before, version.split('.').next().and_then(|major| major.parse().ok()))
            }
            _ => (name, None),
        };
        let named = |tool: &str| name == tool || name.strip_suffix(tool).is_some_and(|target| target.ends_with('-'));
        let (_, tool) = TOOLS.into_iter().find(|(tool, _)| named(tool))?;
        Some(Called { tool, suffix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helps_of_nvidia_tools_list_options_in_order() {
        for tool in [fatbinary::TOOL, cuobjdump::TOOL] {
            let mut options = (tool.options)().into_iter();
            let mut listed = 0;
            for line in tool.help.lines().filter_map(|line| line.strip_prefix("--")) {
                let long = line.split(' ').next().unwrap();
                let option = options.find(|option| option.long == long).unwrap_or_else(|| panic!("--{long}"));
                assert_eq!(line.split(' ').rfind(|word| !word.is_empty()), Some(&*format!("(-{})", option.short)));
                listed += 1;
            }
            assert!(listed > 15, "{}", tool.name);
        }
    }

    #[test]
    fn recognizes_tools_with_target_prefix_version_and_extension() {
        use Tool::*;
        let cases = [
            ("clang-offload-wrapper", ClangOffloadWrapper, None),
            ("clang-offload-wrapper-14", ClangOffloadWrapper, Some(14)),
            ("llvm-offload-wrapper-22.1", LlvmOffloadWrapper, Some(22)),
            ("aarch64-linux-gnu-llvm-offload-wrapper", LlvmOffloadWrapper, None),
            ("clang-offload-packager-22", ClangOffloadPackager, Some(22)),
            ("llvm-offload-binary", LlvmOffloadBinary, None),
            ("clang-offload-bundler-22", OffloadBundler, Some(22)),
            ("fatbinary", Fatbinary, None),
            ("fatbinary.exe", Fatbinary, None),
            ("cuobjdump", Cuobjdump, None),
            ("roc-obj-ls", RocObjLs, None),
            ("llvm-objdump-22", Objdump, Some(22)),
            ("x86_64-w64-mingw32-clang-offload-wrapper-15.exe", ClangOffloadWrapper, Some(15)),
        ];
        for (name, tool, suffix) in cases {
            assert_eq!(Called::parse(OsStr::new(name)), Some(Called { tool, suffix }), "{name}");
        }
        for name in ["fatbin", "offload-wrapper", "myclang-offload-wrapper", "clang-offload-wrapper-", "clang", ""] {
            assert_eq!(Called::parse(OsStr::new(name)), None, "{name}");
        }
    }
}
