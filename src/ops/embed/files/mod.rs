//! Embedding: from any files to a host object with named symbols, without registration.
//!
//! Each file has a separate section with everything that belongs to it, so that a linker keeps or drops it as one. The
//! section holds a record that `fatbin scan` looks for ([`fatbin_core::format::embed_record`]), the bytes, a NUL, and the
//! number of bytes if a symbol refers to that number.

mod cxx;
mod error;
mod header;
mod index;
mod names;
mod rust_module;
pub mod write;

pub use error::EmbedError;
pub use header::c_header;
pub use names::{Name, SymbolStyle};
pub use rust_module::rust_module;

use std::path::Path;

use crate::embed::wrap::{LARGE, LargeImages};
use fatbin_core::base::content::Content;
use fatbin_core::format::embed_record::{NAME_OFFSET, NOTE_NAME, NOTE_SECTION, NOTE_TYPE, record};
use fatbin_core::host::{
    AbsoluteSymbol, Data, Definition, Field, Host, ObjectFormat, ObjectPlan, PlanSection, Scope, SectionId,
    SectionKind, SymbolAddress,
};
use fatbin_core::scan::is_container_section;
use names::{Role, SymbolNames};

/// Default alignment in bytes: a cache line, as TensorRT-LLM aligns its cubins. The tables of an ELF image need 8.
pub const DEFAULT_ALIGNMENT: u64 = 64;

/// Smallest alignment in bytes, required by the record before the bytes and the number after them.
const MIN_ALIGNMENT: u64 = 8;

/// Maximum number of files in an object with a section for each. Both formats reserve the numbers from 65,280 on, and
/// the object needs a few other sections.
const MAX_SECTIONS: usize = 65_000;

/// Section of the files unless the user names another; the name of a file's symbol follows.
const SECTION: &str = ".rodata";

/// A file to embed.
#[derive(Debug)]
pub struct EmbeddedFile<'data> {
    /// Name in the program.
    pub name: Name,
    /// Its bytes.
    pub bytes: &'data [u8],
    /// Hash of the bytes, for the index.
    pub sha256: Option<[u8; 32]>,
}

/// Properties of the object.
#[derive(Debug, Clone)]
pub struct ObjectOptions {
    /// Machine and system.
    pub host: Host,
    /// Symbols of each file.
    pub style: SymbolStyle,
    /// Name of the section of all files, in place of one for each.
    pub section: Option<String>,
    /// Alignment of the bytes, a power of two.
    pub alignment: u64,
    /// True if the linker keeps files that nothing refers to.
    pub retain: bool,
    /// True if libraries do not export the symbols.
    pub hidden: bool,
    /// Placement of the files.
    pub large: LargeImages,
    /// Name of the table of all files.
    pub index: Option<String>,
}

/// The object to write.
#[derive(Debug)]
pub struct EmbedPlan<'data> {
    /// Contents of the object.
    pub object: ObjectPlan<'data>,
    /// True if the files are among the large sections.
    pub is_large: bool,
}

impl ObjectOptions {
    /// The defaults of `fatbin embed`, but libraries do not export the symbols.
    pub fn hidden(host: Host) -> Self {
        ObjectOptions {
            host,
            style: SymbolStyle::StartEnd,
            section: None,
            alignment: DEFAULT_ALIGNMENT,
            retain: false,
            hidden: true,
            large: LargeImages::Auto,
            index: None,
        }
    }

    /// Scope of the symbols.
    fn scope(&self) -> Scope {
        if self.hidden { Scope::Hidden } else { Scope::Global }
    }

    /// Checks the properties that only some formats allow.
    fn check(&self, count: usize) -> Result<(), EmbedError> {
        let format = self.host.format();
        // IMAGE_SCN_ALIGN_8192BYTES is the largest of COFF; ld64.lld accepts up to 2^15 of Mach-O.
        let limit = match format {
            ObjectFormat::Elf => 1 << 30,
            ObjectFormat::Coff => 8192,
            ObjectFormat::MachO => 1 << 15,
        };
        let alignment = self.alignment;
        if !alignment.is_power_of_two() || !(MIN_ALIGNMENT..=limit).contains(&alignment) {
            let problem = format!("expected a power of two from {MIN_ALIGNMENT} to {limit}");
            return Err(EmbedError::InvalidAlignment { alignment, problem });
        }
        if format != ObjectFormat::MachO && count > MAX_SECTIONS {
            return Err(EmbedError::TooManyFiles { count, limit: MAX_SECTIONS });
        }
        if let Some(name) = &self.section
            && self.is_for_containers()
            && self.index.is_some()
        {
            let problem = "files in a section for containers have no index".to_owned();
            return Err(EmbedError::InvalidSection { name: name.clone(), problem });
        }
        self.section.as_deref().map_or(Ok(()), |name| check_section(name, format))
    }

    fn is_large(&self, size: u64) -> Result<bool, EmbedError> {
        let is_elf = self.host.format() == ObjectFormat::Elf;
        match self.large {
            LargeImages::Always if !is_elf => Err(EmbedError::NoLargeSections { host: self.host.triple().to_owned() }),
            LargeImages::Always => Ok(true),
            LargeImages::Auto => Ok(is_elf && size >= LARGE),
            LargeImages::Never => Ok(false),
        }
    }
}

impl ObjectOptions {
    /// Returns whether tools and runtimes expect only containers in the section of the files.
    fn is_for_containers(&self) -> bool {
        self.section.as_deref().is_some_and(is_container_section)
    }

    fn has_size(&self) -> bool {
        self.style.symbols().iter().any(|(role, _)| *role == Role::Size)
    }
}

/// Returns the plan of an object with all files.
pub fn plan<'data>(files: &[EmbeddedFile<'data>], options: &ObjectOptions) -> Result<EmbedPlan<'data>, EmbedError> {
    options.check(files.len())?;
    let is_large = options.is_large(files.iter().map(|file| file.bytes.len() as u64).sum())?;
    let object = ObjectPlan { source_name: "fatbin-embed", is_divisible: true, ..Default::default() };
    let mut builder = PlanBuilder { object, names: SymbolNames::new(options.host), options, is_large };
    let mut entries = Vec::new();
    for file in files {
        entries.extend(builder.add(file)?);
    }
    if options.host.format() == ObjectFormat::Elf && !options.is_for_containers() {
        builder.add_note();
    }
    if let Some(name) = &options.index {
        index::add(&mut builder, name, files, &entries)?;
    }
    Ok(EmbedPlan { object: builder.object, is_large })
}

/// Addresses of a file for the index.
#[derive(Debug)]
struct FileAddresses {
    /// Name of its first symbol, with a NUL.
    name: SymbolAddress,
    bytes: SymbolAddress,
}

/// A plan that is being built.
struct PlanBuilder<'data, 'a> {
    object: ObjectPlan<'data>,
    names: SymbolNames,
    options: &'a ObjectOptions,
    is_large: bool,
}

/// Contents of a file's section.
struct Layout<'data> {
    content: Content<'data>,
    /// Offsets of the first byte, of the byte after the last one, and of the number of bytes.
    start: u64,
    end: u64,
    size: u64,
}

impl<'data> Layout<'data> {
    fn new(file: &EmbeddedFile<'data>, symbol: &str, options: &ObjectOptions) -> Self {
        let size = file.bytes.len() as u64;
        let mut content = Content::new();
        if !options.is_for_containers() {
            content.push(record(symbol, size, options.alignment));
        }
        let start = content.size();
        content.push(file.bytes);
        let end = content.size();
        content.push(&[0][..]);
        let mut size_at = 0;
        if options.has_size() && !options.is_for_containers() {
            content.align(MIN_ALIGNMENT);
            size_at = content.size();
            content.push(options.host.u64_bytes(size).to_vec());
        }
        Layout { start, end, size: size_at, content }
    }
}

impl<'data> PlanBuilder<'data, '_> {
    /// Adds the note that names the section of the files in the program.
    fn add_note(&mut self) {
        let section = self.options.section.as_deref().unwrap_or(SECTION);
        // Linkers put large sections of any name together.
        let section = if self.is_large { ".lrodata" } else { section };
        let description = [section.as_bytes(), &[0]].concat();
        let sizes = [NOTE_NAME.len() as u32, description.len() as u32, NOTE_TYPE];
        let mut fields: Vec<Field> = sizes.map(Field::U32).to_vec();
        for bytes in [NOTE_NAME, &description] {
            let padding = bytes.len().next_multiple_of(4) - bytes.len();
            fields.extend(bytes.iter().copied().chain(std::iter::repeat_n(0, padding)).map(Field::U8));
        }
        self.object.section(PlanSection::new(NOTE_SECTION, SectionKind::Note, 4, Data::Fields(fields)));
    }

    fn add_section(&mut self, name: String, content: Content<'data>) {
        let kind = if self.options.retain { SectionKind::Retained } else { SectionKind::ReadOnly };
        let section = PlanSection::new(name, kind, self.options.alignment, Data::Bytes(content));
        self.object.section(PlanSection { large: self.is_large, ..section });
    }

    /// Adds a separate section with the size of a file whose own section is for containers: tools read containers back
    /// to back.
    fn add_size_section(&mut self, size: u64) -> Option<SectionId> {
        if !self.options.is_for_containers() || !self.options.has_size() {
            return None;
        }
        let number = Content::from(self.options.host.u64_bytes(size).to_vec());
        let section = PlanSection::new(SECTION, SectionKind::ReadOnly, MIN_ALIGNMENT, Data::Bytes(number));
        Some(self.object.section(section))
    }

    /// Adds a file, and returns the addresses for an index. A section for containers has none.
    fn add(&mut self, file: &EmbeddedFile<'data>) -> Result<Option<FileAddresses>, EmbedError> {
        let options = self.options;
        let size = file.bytes.len() as u64;
        let symbols = options.style.symbols();
        let names: Vec<String> =
            symbols.iter().map(|&symbol| self.names.of_file(&file.name, symbol)).collect::<Result<_, _>>()?;
        let first = names.first().map_or("", String::as_str);
        let Layout { content, start, end, size: size_at } = Layout::new(file, first, options);
        let size_section = self.add_size_section(size);
        let section = self.object.next_section();
        for (&(role, _), name) in symbols.iter().zip(&names) {
            let (offset, size) = match role {
                Role::Start => (start, size),
                Role::End => (end, 0),
                Role::Size => (size_at, MIN_ALIGNMENT),
                Role::AbsoluteSize => {
                    let name = name.clone();
                    let scope = options.scope();
                    self.object.absolute_symbols.push(AbsoluteSymbol { name, value: size, scope });
                    continue;
                }
            };
            let section = if role == Role::Size { size_section.unwrap_or(section) } else { section };
            self.object.scoped_symbol(name, Definition::Data { section, offset, size }, options.scope());
        }
        if options.is_for_containers() {
            self.add_section(options.section.clone().unwrap_or_default(), content);
            return Ok(None);
        }
        // A part of a Mach-O section begins at a symbol. A linker drops a COMDAT section together with its first
        // symbol.
        let record = Definition::Data { section, offset: 0, size: start };
        let record = self.object.symbol(format!("{first}.record"), record);
        let name = options.section.clone().unwrap_or_else(|| format!("{SECTION}.{first}"));
        self.add_section(name, content);
        Ok(Some(FileAddresses { name: record.plus(NAME_OFFSET), bytes: record.plus(start) }))
    }
}

/// Checks a section name that the user gave.
fn check_section(name: &str, format: ObjectFormat) -> Result<(), EmbedError> {
    let invalid =
        |problem: &str| Err(EmbedError::InvalidSection { name: name.to_owned(), problem: problem.to_owned() });
    if name.is_empty() || name.contains(|c: char| c.is_control()) {
        return invalid("expected a name of printable characters");
    }
    let is_mach_o_name = |name: &str| {
        let parts: Vec<&str> = name.split(',').collect();
        parts.len() == 2 && parts.iter().all(|part| (1..=16).contains(&part.len()))
    };
    if format == ObjectFormat::MachO && !name.starts_with('.') && !is_mach_o_name(name) {
        return invalid("expected SEGMENT,SECTION, each of at most 16 bytes");
    }
    Ok(())
}

/// Returns the file name without its directory, for comments and guards. Outputs do not depend on their directory.
fn base_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
