//! Device code of the old offload driver. It is the default driver for HIP's relocatable device code up to clang 22,
//! for OpenMP up to clang 14, and for DPC++.
//!
//! A host object has a section for each bundle entry. Bitcode is a bundle file with the host's module as one of the
//! entries. A linker cannot read it. Source: objects and files of clang 15 to 22.

use object::read::{File, FileKind, Object, ObjectSection, ObjectSymbol};
use object::{ObjectKind, SectionFlags, elf};

use fatbin_core::base::bytes::{Extent, ObjectBytes, View};
use fatbin_core::base::error::{Cause, Malformed};
use fatbin_core::format::bundle::{self, Bundle};
use fatbin_core::format::ccob::Ccob;
use fatbin_core::format::offload_binary::OffloadBinaryEntry;
use fatbin_core::format::{bitcode, bundle_section};
use fatbin_core::target::{BundleEntryId, OffloadKind};

/// Device code of the old driver in a host file.
#[derive(Debug, Default)]
pub struct Bundled<'data> {
    /// Images, with their targets.
    pub entries: Vec<OffloadBinaryEntry<'data>>,
    /// Target of images that only DPC++ links.
    pub sycl: Option<&'data str>,
    /// The host's part of a bundle file.
    pub host: Option<View<'data>>,
}

/// Names of the symbols that objects of the old driver use to refer to their fat binary. A device link defines them.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct HipSymbols {
    /// Start of the fat binary.
    pub fat_binaries: Vec<String>,
    /// Handles of the registered fat binary, 8 bytes each.
    pub handles: Vec<String>,
}

/// Prefixes of the names. In clang 18 and earlier, the symbol of the fat binary has no hash after the prefix, and the
/// object defines the handle.
const FAT_BINARY: &str = "__hip_fatbin";
const HANDLE: &str = "__hip_gpubin_handle";

/// Structure that each object defines. Its name begins like the symbol of the fat binary.
const WRAPPER: &str = "__hip_fatbin_wrapper";

/// Decompressed bundle of a file; `None` if the file is not a compressed bundle.
pub fn decompressed(view: View<'_>) -> Result<Option<Vec<u8>>, Malformed> {
    if !view.starts_with(&fatbin_core::format::ccob::MAGIC) {
        return Ok(None);
    }
    Ccob::read(view)?.decompress().map(Some)
}

/// Reads the device code of the old driver in an object or a bundle file; empty for any other file.
pub fn read(view: View<'_>) -> Result<Bundled<'_>, Malformed> {
    if view.starts_with(bundle::MAGIC) {
        let mut bundled = Bundled::default();
        for entry in Bundle::read(view)?.entries {
            bundled.add(entry.id, entry.code_object);
        }
        return Ok(bundled);
    }
    match FileKind::parse(view.data()) {
        Ok(FileKind::Elf32 | FileKind::Elf64 | FileKind::Coff | FileKind::CoffBig) => read_sections(view),
        _ => Ok(Bundled::default()),
    }
}

fn read_sections(view: View<'_>) -> Result<Bundled<'_>, Malformed> {
    let invalid = |error: object::Error| view.malformed("object file", 0, Cause::object_file(error));
    let file = File::parse(ObjectBytes(view)).map_err(invalid)?;
    let mut bundled = Bundled::default();
    if file.kind() != ObjectKind::Relocatable {
        return Ok(bundled);
    }
    for section in file.sections() {
        let Some(id) = section.name().ok().and_then(|name| name.strip_prefix(bundle_section::NAME)) else { continue };
        // A loaded section belongs to an object that registers its images.
        let is_loaded =
            matches!(section.flags(), SectionFlags::Elf { sh_flags, .. } if sh_flags.0 & elf::SHF_ALLOC.0 != 0);
        let Some((offset, size)) = section.file_range() else { continue };
        if is_loaded {
            continue;
        }
        let bytes = view.part("section", Extent { offset, size })?;
        let id = BundleEntryId::parse(id)
            .ok_or_else(|| bytes.malformed("section name", 0, Cause::BundleEntryId { id: id.to_owned() }))?;
        if id.kind != OffloadKind::Host {
            bundled.add(id, bytes);
        }
    }
    Ok(bundled)
}

impl<'data> Bundled<'data> {
    fn add(&mut self, id: BundleEntryId<'data>, image: View<'data>) {
        match id.kind {
            _ if image.size() == 0 => {}
            OffloadKind::Host => self.host = Some(image),
            OffloadKind::Sycl => self.sycl = Some(id.triple),
            OffloadKind::Musa => {}
            OffloadKind::OpenMp | OffloadKind::Cuda | OffloadKind::Hip => self.entries.push(OffloadBinaryEntry {
                image_kind: 0,
                offload_kind: id.kind.bit(),
                flags: 0,
                strings: vec![("triple", id.triple.as_bytes()), ("arch", id.target_id.unwrap_or_default().as_bytes())],
                image,
            }),
        }
    }
}

/// Symbols of an object that refer to its fat binary, or define the fat binaries of other objects.
#[derive(Debug, Default)]
pub struct FatBinarySymbols {
    /// Symbols that another object must define.
    pub undefined: HipSymbols,
    /// Names of fat binaries that the object defines, as the result of a device link.
    pub defined: Vec<String>,
}

impl FatBinarySymbols {
    fn add(&mut self, name: String, is_undefined: bool) {
        let is_fat_binary = name.starts_with(FAT_BINARY) && name != WRAPPER;
        match is_undefined {
            true if is_fat_binary => self.undefined.fat_binaries.push(name),
            true if name.starts_with(HANDLE) => self.undefined.handles.push(name),
            false if is_fat_binary => self.defined.push(name),
            _ => {}
        }
    }
}

/// Reads the symbols of an object, or of a host's module, that concern the fat binary of the old driver.
pub fn symbols(view: View<'_>) -> FatBinarySymbols {
    let mut symbols = FatBinarySymbols::default();
    if bitcode::is_bitcode(view) {
        for symbol in bitcode::symbols::symbols(view).unwrap_or_default() {
            symbols.add(symbol.name, symbol.is_undefined);
        }
    } else if let Ok(file) = File::parse(ObjectBytes(view)) {
        for symbol in file.symbols().filter(ObjectSymbol::is_global) {
            let name = String::from_utf8_lossy(symbol.name_bytes().unwrap_or_default()).into_owned();
            symbols.add(name, symbol.is_undefined());
        }
    }
    symbols
}
