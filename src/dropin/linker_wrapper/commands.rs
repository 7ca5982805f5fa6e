//! The commands that the tool prints with `--dry-run` and `--wrapper-verbose`. They call LLVM's programs; fatbin does
//! not call most of these. Since LLVM 24, the commands are all that is needed to link again.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::options::Options;
use fatbin_core::target::{OffloadKind, triple};
use fatbin_ops::embed::llvm::Release;
use fatbin_ops::link::{CommandLine, ExtractedImage, LinkEvent, LinkedImage};

/// Printer of commands.
pub struct Commands<'a> {
    options: &'a Options,
    release: Release,
    is_relocatable: bool,
    /// The fat binary that the next object registers.
    fat_binary: RefCell<Option<PathBuf>>,
}

impl<'a> Commands<'a> {
    /// Creates a printer of the commands of a release.
    pub fn new(options: &'a Options, release: Release, is_relocatable: bool) -> Self {
        Commands { options, release, is_relocatable, fat_binary: RefCell::default() }
    }

    /// Lines for a step; empty for a step that the tool does not have.
    pub fn lines(&self, step: &LinkEvent<'_>) -> String {
        match step {
            LinkEvent::Printed(text) | LinkEvent::HostPrinted(text) | LinkEvent::Ir(text) => (*text).to_owned(),
            LinkEvent::UnusedArchive(_)
            | LinkEvent::MissingKernel(_)
            | LinkEvent::Unregistered(_)
            | LinkEvent::UnknownImage(..)
            | LinkEvent::Refused(_)
            | LinkEvent::Lost(_)
            | LinkEvent::Found(_)
            | LinkEvent::Account(_) => String::new(),
            LinkEvent::Extract(_) | LinkEvent::Wrapper { .. } if !self.release.linker.prints_all_steps => String::new(),
            LinkEvent::Extract(images) => extraction(images),
            LinkEvent::Wrapper { kind, images, path } => self.wrapper(*kind, images, path),
            LinkEvent::Device(link) => render("clang", &link.for_clang),
            LinkEvent::FatBinary { kind, images, path } => {
                self.fat_binary.replace(Some(path.to_path_buf()));
                if *kind == OffloadKind::Hip { self.bundle(images, path) } else { self.fat_binary(images, path) }
            }
            LinkEvent::Host(CommandLine { program, arguments }) => render(&program.to_string_lossy(), arguments),
            LinkEvent::Isolate { output, entry_sections, hash } => isolation(output, entry_sections, *hash),
        }
    }

    /// Commands that write an object and its contents.
    fn wrapper(&self, kind: OffloadKind, images: &[LinkedImage<'_>], path: &Path) -> String {
        let mut lines = String::new();
        let contents: Vec<PathBuf> = match self.fat_binary.take() {
            Some(fat_binary) => vec![fat_binary],
            None if kind == OffloadKind::Sycl => images.iter().map(|image| image.path.clone()).collect(),
            None => images.iter().map(|image| image.path.with_extension("offload")).collect(),
        };
        if kind == OffloadKind::OpenMp {
            for (image, output) in images.iter().zip(&contents) {
                let path = image.path.display();
                let triple = image.triple;
                let arch = image.arch;
                let image = format!("--image=file={path},kind={},triple={triple},arch={arch}", kind.name());
                lines += &render("llvm-offload-binary", &["-o".into(), output.into(), image.into()]);
            }
        }
        let host = self.options.host.as_deref().unwrap_or_default();
        let bitcode = path.with_extension("bc");
        let mut words: Vec<OsString> =
            vec![format!("--kind={}", kind.name()).into(), format!("--triple={host}").into()];
        words.extend(["-o".into(), bitcode.clone().into()]);
        if self.is_relocatable {
            words.push("--relocatable".into());
        }
        words.extend(contents.into_iter().map(OsString::from));
        lines += &render("llvm-offload-wrapper", &words);
        let words = ["--no-default-config".into(), format!("--target={host}").into(), "-c".into(), "-fPIC".into()];
        lines + &render("clang", &[&words[..], &["-o".into(), path.into(), bitcode.into()]].concat())
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

/// Command that writes images of a host file to files.
fn extraction(images: &[ExtractedImage<'_>]) -> String {
    let Some(first) = images.first() else { return String::new() };
    let file = first.input.file;
    let mut words: Vec<OsString> = vec![file.archive().unwrap_or(file.path()).into()];
    words.extend(images.iter().map(|image| {
        let target = image.input.target();
        let entry = &image.input.entry;
        let kind = OffloadKind::from_bit(entry.offload_kind).map_or("none", OffloadKind::name);
        let member = file.archive().map_or(String::new(), |_| format!(",member={}", file.name().display()));
        let target = format!("triple={},arch={}", target.triple, target.arch);
        format!("--image=kind={kind},{target}{member},file={}", image.path.display()).into()
    }));
    render("llvm-offload-binary", &words)
}

/// Command that adds the hash of an object to the names of its sections and symbols.
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

/// Command line as the tool prints it: only the program is in quotes.
fn render(program: &str, words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    format!(" \"{program}\" {}\n", words.join(" "))
}
