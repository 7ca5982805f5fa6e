//! The commands that the tool prints with `--dry-run` and `--wrapper-verbose`: those of LLVM's programs, most of which fatbin
//! does not call.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use super::options::Options;
use crate::link::{CommandLine, LinkEvent, LinkedImage};
use crate::llvm::Release;
use crate::target::{OffloadKind, triple};

/// Printer of commands.
pub struct Commands<'a> {
    pub options: &'a Options,
    pub release: Release,
}

impl Commands<'_> {
    /// Returns the lines for a step; none for one that the tool does not have.
    pub fn lines(&self, step: &LinkEvent<'_>) -> String {
        match step {
            LinkEvent::Printed(text) | LinkEvent::Ir(text) => (*text).to_owned(),
            LinkEvent::UnusedArchive(_) | LinkEvent::MissingKernel(_) => String::new(),
            LinkEvent::Device(link) => render("clang", &link.for_clang),
            LinkEvent::FatBinary { kind: OffloadKind::Hip, images, path } => self.bundle(images, path),
            LinkEvent::FatBinary { images, path, .. } => self.fat_binary(images, path),
            LinkEvent::Host(CommandLine { program, arguments }) => render(&program.to_string_lossy(), arguments),
            LinkEvent::Isolate { output, entry_sections, hash } => isolation(output, entry_sections, *hash),
        }
    }

    fn bundle(&self, images: &[LinkedImage<'_>], path: &Path) -> String {
        let mut words: Vec<OsString> = vec!["-type=o".into(), "-bundle-align=4096".into()];
        if self.options.compress {
            words.push("-compress".into());
        }
        if let Some(level) = &self.options.compression_level {
            words.push(format!("-compression-level={level}").into());
        }
        let rules = self.release.linker;
        let mut targets = format!("-targets={}", rules.host_id.trim_end_matches('-'));
        for image in images {
            targets += &format!(",{}-{}--{}", rules.hip, image.triple, image.arch);
        }
        words.extend([targets.into(), "-input=/dev/null".into()]);
        words.extend(images.iter().map(|image| format!("-input={}", image.path.display()).into()));
        words.push(format!("-output={}", path.display()).into());
        render("clang-offload-bundler", &words)
    }

    fn fat_binary(&self, images: &[LinkedImage<'_>], path: &Path) -> String {
        let program = self.options.cuda_path.as_ref().map(|directory| directory.join("bin/fatbinary"));
        let program = program.filter(|program| program.is_file()).unwrap_or_else(|| "fatbinary".into());
        let host = self.options.host.as_deref().unwrap_or("x86_64");
        let is_32_bit = matches!(triple::architecture(host), Some("i386" | "arm" | "powerpc"));
        let mut words: Vec<OsString> = vec![if is_32_bit { "-32".into() } else { "-64".into() }, "--create".into()];
        words.push(path.into());
        words.extend(images.iter().map(|image| {
            let number = image.arch.strip_prefix("sm_").unwrap_or(image.arch);
            format!("--image3=kind=elf,sm={number},file={}", image.path.display()).into()
        }));
        render(&program.to_string_lossy(), &words)
    }
}

/// Returns the command that gives sections and symbols of an object names with its hash.
fn isolation(output: &Path, entry_sections: &BTreeSet<&str>, hash: u64) -> String {
    let mut words: Vec<OsString> = vec![output.into(), "--remove-section".into(), ".llvm.offloading".into()];
    for section in entry_sections {
        words.extend(["--rename-section".into(), format!("{section}={section}_{hash:x}").into()]);
        for symbol in ["__start_", "__stop_"] {
            words.extend(["--redefine-sym".into(), format!("{symbol}{section}={symbol}{section}_{hash:x}").into()]);
        }
    }
    render("llvm-objcopy", &words)
}

/// Returns a command line as the tool prints it: only the program is in quotes.
fn render(program: &str, words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    format!(" \"{program}\" {}\n", words.join(" "))
}
