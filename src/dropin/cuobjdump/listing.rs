//! Lists, extracts or dumps the entries of a file. Entries are numbered across all members.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use object::elf::ELFMAG;

use super::blocks::{arch, block, options};
use super::files::{Contents, absolute, invalid_header, is_cubin};
use super::options::TOOL;
use super::request::{Action, Dump, Patterns, Request};
use super::{cubins, names};
use crate::diagnostics::{TextOutput, write_messages};
use crate::llvm_options::bytes;
use crate::nvidia_options::ToolFailure;
use fatbin_core::base::bytes::View;
use fatbin_core::base::io::{FileSet, Output, OutputKind, OutputName};
use fatbin_core::format::cuda_fatbin::{FatbinEntry, image_of_entry, kind, read_grouped};
use fatbin_core::format::{DeviceImage, GroupCache};
use fatbin_core::image::cubin_listing::code_sections;
use fatbin_core::scan::{InputSlice, Source};
use fatbin_core::target::nvptx::Arch;

/// Kind that cuobjdump lists with cubins, but calls unknown.
const LISTED_AS_ELF: u16 = 0x10;

fn up_to_nul(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    &text[..end]
}

/// Processing of a file.
#[derive(Debug)]
pub struct Listing<'a> {
    request: &'a Request,
    path: PathBuf,
    out: TextOutput,
    /// Numbers of cubins, texts and code sections so far.
    pub elf: usize,
    pub ptx: usize,
    text: usize,
    /// True if the file has containers or is a cubin.
    pub has_device_code: bool,
    /// Names of written files.
    written: BTreeSet<OutputName>,
}

/// A cubin and its origin.
struct Cubin<'a> {
    bytes: &'a [u8],
    view: View<'a>,
    /// Identifier of its entry.
    identifier: Option<&'a [u8]>,
    /// Architecture as it appears in names.
    arch: String,
    /// False for a file that is a cubin.
    is_entry: bool,
}

/// Identifier that names an image.
fn identifier<'data>(entry: &FatbinEntry<'data>) -> Option<&'data [u8]> {
    entry.identifier.map(|identifier| up_to_nul(identifier.data())).filter(|identifier| !identifier.is_empty())
}

impl<'a> Listing<'a> {
    /// Starts processing a file.
    pub fn new(path: &Path, request: &'a Request) -> Self {
        Listing {
            request,
            path: path.to_owned(),
            out: TextOutput::default(),
            elf: 0,
            ptx: 0,
            text: 0,
            has_device_code: false,
            written: BTreeSet::new(),
        }
    }

    /// Writes the rest of the text.
    pub fn finish(&mut self) -> Result<(), ToolFailure> {
        match self.out.flush() {
            0 => Ok(()),
            status => Err(ToolFailure { message: String::new(), status }),
        }
    }

    /// Processes a member, or a file that is not an archive.
    pub fn member(&mut self, slice: &InputSlice, contents: Contents<'_>) -> Result<(), ToolFailure> {
        let is_object = slice.view().starts_with(&ELFMAG) || !matches!(contents, Contents::Nothing);
        if is_object && let Some(member) = slice.path.member() {
            self.out.push(&format!("\nmember {}:{member}:\n", absolute(&self.path).display()));
        }
        match contents {
            Contents::Nothing => Ok(()),
            Contents::Cubin(view) => {
                self.has_device_code = true;
                let arch = self.arch_of_cubin(view)?;
                if self.request.arch.is_some_and(|number| Arch::parse(&arch).map(|arch| arch.number) != Some(number)) {
                    return Ok(());
                }
                let is_entry = slice.path.member().is_some();
                let cubin = Cubin { bytes: view.data(), view, identifier: None, arch, is_entry };
                self.cubin(slice, &cubin)
            }
            Contents::Containers { containers, is_damaged } => {
                self.has_device_code = true;
                for container in containers {
                    self.container(slice, container)?;
                }
                if is_damaged { Err(invalid_header(&self.path)) } else { Ok(()) }
            }
        }
    }

    fn container(&mut self, slice: &InputSlice, view: View<'_>) -> Result<(), ToolFailure> {
        let (_, entries) = read_grouped(view).map_err(|_| invalid_header(&self.path))?;
        let mut cache = GroupCache::default();
        for grouped in &entries {
            match &grouped.rows {
                Some(rows) => self.group(slice, &grouped.entry, rows, &mut cache)?,
                None if grouped.entry.header.kind == kind::GROUP => {
                    self.group(slice, &grouped.entry, &[], &mut cache)?;
                    return Err(self.invalid_group(&grouped.entry));
                }
                None => self.entry(slice, &grouped.entry, false, &mut cache)?,
            }
        }
        Ok(())
    }

    fn group<'data>(
        &mut self,
        slice: &InputSlice,
        group: &FatbinEntry<'data>,
        rows: &[FatbinEntry<'data>],
        cache: &mut GroupCache<'data>,
    ) -> Result<(), ToolFailure> {
        if let Action::Dump(_) = self.request.action {
            self.out.push(&block(group, false));
        }
        rows.iter().try_for_each(|row| self.entry(slice, row, true, cache))
    }

    fn entry<'data>(
        &mut self,
        slice: &InputSlice,
        entry: &FatbinEntry<'data>,
        is_in_group: bool,
        cache: &mut GroupCache<'data>,
    ) -> Result<(), ToolFailure> {
        if self.request.arch.is_some_and(|number| number != entry.header.arch_number) {
            return Ok(());
        }
        if let Action::Dump(_) = self.request.action {
            self.out.push(&block(entry, is_in_group));
        }
        let is_elf = [kind::ELF, LISTED_AS_ELF].contains(&entry.header.kind);
        let is_ptx = [kind::PTX, kind::RELOCATABLE_PTX].contains(&entry.header.kind);
        if !is_elf && !is_ptx {
            return Ok(());
        }
        let bytes = cache.bytes(&image_of_entry(entry)).map_err(|_| self.unreadable(entry))?;
        if is_ptx {
            return self.ptx(slice, entry, up_to_nul(&bytes));
        }
        let view = entry.image.derived(&bytes);
        let own_size = DeviceImage::identify(view).own_size.unwrap_or(view.size());
        let view = view.prefix("ELF file", own_size).map_err(|_| self.invalid_elf())?;
        let arch = self.arch_of_cubin(view)?;
        self.cubin(slice, &Cubin { bytes: view.data(), view, identifier: identifier(entry), arch, is_entry: true })
    }

    /// Failure for an image that cannot be decompressed.
    fn unreadable(&self, entry: &FatbinEntry<'_>) -> ToolFailure {
        if entry.header.compressed_size == 0 { invalid_header(&self.path) } else { TOOL.fatal("Uncompress failed") }
    }

    /// Failure for a group without a valid table of its images.
    fn invalid_group(&self, group: &FatbinEntry<'_>) -> ToolFailure {
        let has_table = group.header.options_offset != 0;
        if has_table { TOOL.fatal("Internal error: invalid concat") } else { invalid_header(&self.path) }
    }

    fn invalid_elf(&self) -> ToolFailure {
        TOOL.fatal(format!("Invalid ELF in '{}'", absolute(&self.path).display()))
    }

    /// Architecture of a cubin for names, without the suffix `f`.
    fn arch_of_cubin(&self, view: View<'_>) -> Result<String, ToolFailure> {
        let image = DeviceImage::identify(view);
        let Some(arch) = image.arch.as_deref() else { return Err(self.invalid_elf()) };
        if !is_cubin(&image) {
            return Err(self.invalid_elf());
        }
        Ok(arch.strip_suffix('f').unwrap_or(arch).to_owned())
    }

    /// Lists, extracts or dumps a cubin.
    fn cubin(&mut self, slice: &InputSlice, cubin: &Cubin<'_>) -> Result<(), ToolFailure> {
        self.elf += 1;
        let request = self.request;
        match &request.action {
            Action::Dump(dump) => self.dump_cubin(cubin, dump),
            Action::List(kinds) if kinds.elf.is_some() => {
                let name = self.cubin_name(cubin);
                self.out.push(&list_line("ELF file", self.elf, &name, ""));
                Ok(())
            }
            Action::Extract(kinds) if kinds.elf.is_some() => {
                let name = self.cubin_name(cubin);
                if !is_wanted(&kinds.elf, &name) {
                    return Ok(());
                }
                self.out.push(&list_line("Extracting ELF file", self.elf, &name, ""));
                self.write(slice, &name, cubin.bytes)
            }
            Action::List(kinds) if kinds.text.is_some() => self.code_sections(slice, cubin, None),
            Action::Extract(kinds) if kinds.text.is_some() => self.code_sections(slice, cubin, kinds.text.as_ref()),
            Action::List(_) | Action::Extract(_) => Ok(()),
        }
    }

    fn cubin_name(&self, cubin: &Cubin<'_>) -> OutputName {
        self.image_name(cubin.identifier, self.elf, cubin.is_entry, &cubin.arch, "cubin")
    }

    fn image_name(
        &self,
        identifier: Option<&[u8]>,
        number: usize,
        is_entry: bool,
        arch: &str,
        extension: &str,
    ) -> OutputName {
        let source = identifier.unwrap_or_else(|| bytes(self.path.as_os_str()));
        let number = (identifier.is_none() && is_entry).then_some(number);
        names::image(&names::stem(source), number, arch, extension)
    }

    fn dump_cubin(&mut self, cubin: &Cubin<'_>, dump: &Dump) -> Result<(), ToolFailure> {
        if dump.usage {
            let (text, missing) = cubins::usage_text(cubin.view, dump).map_err(|_| self.invalid_elf())?;
            self.out.push(&text);
            for function in missing {
                write_messages(&TOOL.warning(&format!("Function listed in --function '{function}' not found")));
            }
        }
        if dump.symbols {
            let text = cubins::symbols_text(cubin.view).map_err(|_| self.invalid_elf())?;
            self.out.push(&text);
        }
        Ok(())
    }

    /// Lists the code sections of a cubin, or extracts the sections with names that match the patterns.
    fn code_sections(
        &mut self,
        slice: &InputSlice,
        cubin: &Cubin<'_>,
        patterns: Option<&Patterns>,
    ) -> Result<(), ToolFailure> {
        let path = absolute(&self.path);
        let file = if cubin.is_entry { None } else { Some(bytes(path.as_os_str())) };
        let source = cubin.identifier.or(file);
        for (function, section) in code_sections(cubin.view).map_err(|_| self.invalid_elf())? {
            self.text += 1;
            let name = names::code_section(source, &function, self.text, &cubin.arch);
            let line = format!("SASS text section {} : {name}\n", self.text);
            match patterns {
                None => self.out.push(&line),
                Some(patterns) if patterns.contain(&name) => {
                    self.out.push(&format!("Extracting {line}"));
                    self.write(slice, &name, section.data())?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Lists, extracts or dumps a text.
    fn ptx(&mut self, slice: &InputSlice, entry: &FatbinEntry<'_>, text: &[u8]) -> Result<(), ToolFailure> {
        self.ptx += 1;
        let request = self.request;
        let arch = arch(&entry.header);
        let name = self.image_name(identifier(entry), self.ptx, true, &arch, "ptx");
        match &request.action {
            Action::Dump(dump) if dump.ptx => self.out.push(&format!("{}\n", String::from_utf8_lossy(text))),
            Action::List(kinds) if kinds.ptx.is_some() => self.out.push(&list_line("PTX file", self.ptx, &name, "")),
            Action::Extract(kinds) if is_wanted(&kinds.ptx, &name) => {
                let (_, options) = options(entry).unwrap_or_default();
                let rest = format!(" -arch={arch} {options}");
                self.out.push(&list_line("Extracting PTX file and ptxas options", self.ptx, &name, &rest));
                return self.write(slice, &name, text);
            }
            Action::Dump(_) | Action::List(_) | Action::Extract(_) => {}
        }
        Ok(())
    }

    /// Writes a file in the working directory.
    fn write(&mut self, slice: &InputSlice, name: &OutputName, contents: &[u8]) -> Result<(), ToolFailure> {
        if !self.written.insert(name.clone()) {
            let message = format!("File '{name}' holds the last of several images of this name; use fatbin extract");
            write_messages(&TOOL.warning(&message));
        }
        if name.as_path().symlink_metadata().is_ok_and(|found| found.is_dir()) {
            return Err(TOOL.fatal(format!("File '{name}' could not be opened")));
        }
        let output = FileSet::new().output_in(Path::new("."), name, OutputKind::Code).and_then(Output::create);
        let written = output.and_then(|output| output.commit_bytes(slice.input(), contents));
        written.map_err(|error| TOOL.fatal(error.to_string()))
    }
}

fn is_wanted(patterns: &Option<Patterns>, name: &OutputName) -> bool {
    patterns.as_ref().is_some_and(|patterns| patterns.contain(name))
}

/// Line for a file in a list. `rest` follows its name.
fn list_line(title: &str, number: usize, name: &OutputName, rest: &str) -> String {
    format!("{title}{number:>5}: {name}{rest}\n")
}
