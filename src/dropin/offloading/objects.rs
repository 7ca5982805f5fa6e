//! The objects of an input file, and the bundles in their sections.

use std::path::Path;

use object::read::{File, FileKind, Object, ObjectSection};

use crate::access;
use crate::files::{file_message, open};
use fatbin_core::base::bytes::{Extent, ObjectBytes, View};
use fatbin_core::format::bundle::FileType;
use fatbin_core::format::{bitcode, bundle, ccob, offload_binary};
use fatbin_core::scan::{self, InputSlice, OpenOptions, Source};
use fatbin_ops::embed::bundle::file::{BundleFile, BundleReader};

/// An object file.
pub type ObjectFile<'data> = File<'data, ObjectBytes<'data>>;

/// The tool's words for other files.
pub const NOT_AN_OBJECT: &str = "The file was not recognized as a valid object file";

/// A file, or a member of a static library.
pub struct Found<'a> {
    pub part: &'a InputSlice,
    /// Path of the file, or name of the member.
    pub name: String,
    /// Path of the file, with the member in parentheses.
    pub title: String,
    pub contents: Contents<'a>,
}

pub enum Contents<'a> {
    Object(Box<ObjectFile<'a>>),
    OffloadBinary,
    Bitcode,
    Universal,
}

/// Calls `take` with the file, or with the members of a static library that are objects. The first error ends this.
pub fn each_object(path: &Path, take: &mut dyn FnMut(&Found<'_>) -> Result<(), String>) -> Result<(), String> {
    let opened = open(path).map_err(|error| file_message(&error))?;
    let options = OpenOptions::libraries(access::get());
    let mut done = Ok(());
    scan::expand_input(opened, path, options, &mut |part| {
        if done.is_ok() {
            done = part
                .map_err(|error| file_message(&error))
                .and_then(|part| Found::identify(&part, path)?.map_or(Ok(()), |found| take(&found)));
        }
    });
    done
}

impl<'a> Found<'a> {
    /// Identifies a file or member. Members of other formats are ignored.
    fn identify(part: &'a InputSlice, path: &Path) -> Result<Option<Self>, String> {
        let file = if path == Path::new("-") { "<stdin>".to_owned() } else { path.display().to_string() };
        let (name, title) = match part.path.member() {
            Some(member) => (member.to_owned(), format!("{file}({member})")),
            None => (file.clone(), file),
        };
        let view = part.view();
        let contents = match FileKind::parse(view.data()) {
            _ if view.starts_with(&offload_binary::MAGIC) => Contents::OffloadBinary,
            Ok(FileKind::MachOFat32 | FileKind::MachOFat64) => Contents::Universal,
            Ok(
                FileKind::Elf32
                | FileKind::Elf64
                | FileKind::Coff
                | FileKind::CoffBig
                | FileKind::Pe32
                | FileKind::Pe64
                | FileKind::MachO32
                | FileKind::MachO64,
            ) => {
                let file = File::parse(ObjectBytes(view)).map_err(|error| format!("'{title}': {error}"))?;
                Contents::Object(Box::new(file))
            }
            _ if part.path.member().is_some() => return Ok(None),
            _ if bitcode::is_bitcode(view) => Contents::Bitcode,
            _ => return Err(format!("'{title}': {NOT_AN_OBJECT}")),
        };
        Ok(Some(Found { part, name, title, contents }))
    }
}

/// The bundles in the sections that begin with one.
pub fn bundles<'data>(file: &ObjectFile<'data>, view: View<'data>) -> Result<Vec<BundleFile<'data>>, String> {
    let mut bundles = Vec::new();
    for section in file.sections() {
        let Some((offset, size)) = section.file_range() else { continue };
        let contents = view.part("section", Extent { offset, size }).map_err(|error| error.to_string())?;
        let is_bundle = contents.starts_with(bundle::MAGIC) || contents.starts_with(&ccob::MAGIC);
        let mut rest = if is_bundle { Some(contents) } else { None };
        while let Some(view) = rest {
            let reader = BundleReader { view, input: None, file_type: FileType::named("bc") };
            let Some(bundle) = reader.read().map_err(|error| error.to_string())? else { break };
            rest = bundle.next;
            bundles.push(bundle);
        }
    }
    Ok(bundles)
}
