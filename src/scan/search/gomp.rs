//! The images of GCC's OpenMP and OpenACC programs, and the tables that libgomp uses to register them.
//!
//! mkoffload stores images as arrays: a PTX text for each linked object, or one AMD ELF file. A descriptor leads to
//! them and to the names of their functions and variables. A constructor passes it to `GOMP_offload_register_ver`. All
//! symbols are local, so the descriptor is found by its pointers, even in stripped programs.
//!
//! | nvptx | offset | amdgcn | offset |
//! |---|---|---|---|
//! | images: {pointer, size with the NUL} | 0 | image: {size, pointer} | 0 |
//! | number of images u32 | 8 | number of kernels u32 | 8 |
//! | names of variables | 16 | kernels: {name, 24 bytes} | 16 |
//! | number of variables u32 | 24 | number of variables u32 | 24 |
//! | functions: {name, 8 bytes} | 32 | | |
//! | number of functions u32 | 40 | | |
//!
//! Since GCC 13, a mask of requirements precedes the descriptor. Objects have GIMPLE bytecode in sections
//! `.gnu.offload_lto_*`; images are compiled from it at link time. Source: programs of GCC 12.2; GCC's mkoffload.cc of
//! both targets.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use object::read::{Object, ObjectSymbol};

use super::findings::Findings;
use crate::base::bytes::{ObjectBytes, Resource, View, record_memory, text_work};
use crate::format::{ContainerType, ImageKind};
use crate::scan::inventory::{Container, Image};
use crate::scan::structure::Structure;
use crate::scan::structure::pointers::HostFile;
use crate::scan::structure::tables::{HostTables, POINTER};
use crate::target::OffloadKind;

/// Function that registers images.
const REGISTER: &str = "GOMP_offload_register_ver";

/// Prefix of the sections with GIMPLE bytecode for offload compilers.
const BYTECODE: &str = ".gnu.offload_lto_";

/// Sizes of the records of images, of functions in either descriptor, and of variables.
const IMAGE: u64 = 16;
const NVPTX_FUNCTION: u64 = 16;
const AMDGCN_KERNEL: u64 = 32;
const VARIABLE: u64 = 8;

/// Maximum number of names in a table.
const MAX_NAMES: u64 = 1 << 20;

/// True if a host file has bytecode that GCC compiles to images when it is linked.
pub fn has_bytecode(structure: &Structure<'_>) -> bool {
    structure.section_names().any(|name| name.starts_with(BYTECODE))
}

/// Adds the offload kind and the names of functions and variables to the images that a program registers with libgomp.
pub fn describe_images<'data>(view: View<'data>, structure: &Structure<'data>, findings: &mut Findings) {
    let images = findings.indices_by_offset(ContainerType::Embedded);
    if images.is_empty() {
        return;
    }
    let gaps = findings.unexplained(view.size());
    for &host in &structure.hosts {
        let Ok(file) = HostFile::parse(ObjectBytes(host)) else { continue };
        if !file.is_64() || !registers_images(&file, host) {
            continue;
        }
        if let Some(tables) = HostTables::read(&file, host, &gaps) {
            tables.describe(view, &images, &mut findings.containers);
        }
    }
}

/// True if the file refers to the function that registers images.
fn registers_images<'data>(file: &HostFile<'data>, host: View<'data>) -> bool {
    let charged = |name: &str| host.charge("symbol", Resource::Work, text_work(name.len())).is_ok();
    let mut names = file.symbols().chain(file.dynamic_symbols()).filter(ObjectSymbol::is_undefined);
    // Symbols of static tables contain the version in their names.
    names.any(|symbol| symbol.name().is_ok_and(|name| charged(name) && name.split('@').next() == Some(REGISTER)))
}

impl<'data> HostTables<'_, 'data> {
    /// Describes the images that descriptors lead to.
    fn describe(&self, view: View<'data>, images: &HashMap<u64, usize>, containers: &mut [Container]) {
        let index_of = |target: &u64| images.get(&self.host.start().saturating_add(*target)).copied();
        // Records of images by their offsets. An nvptx record begins with the pointer, and an amdgcn record ends with
        // it.
        let (mut ptx, mut elf) = (BTreeMap::new(), BTreeMap::new());
        for (place, target) in &self.targets {
            let Some((index, container)) = index_of(target).and_then(|index| Some((index, containers.get(index)?)))
            else {
                continue;
            };
            let kind = container.images.first().map(|image| image.image_kind);
            let size = container.size;
            if kind == Some(ImageKind::Ptx) && self.pointers.word(place.saturating_add(POINTER)) == size.checked_add(1)
            {
                ptx.insert(*place, index);
            }
            let before = place.checked_sub(POINTER).filter(|_| kind == Some(ImageKind::Elf));
            if let Some(record) = before.filter(|record| self.pointers.word(*record) == Some(size)) {
                elf.insert(record, index);
            }
        }
        for (place, table) in &self.targets {
            let number = |offset: u64| self.pointers.number(place.saturating_add(offset), 4);
            let (described, names) = if ptx.contains_key(table) {
                let count = number(8).unwrap_or_default().min(ptx.len() as u64);
                let records = (0..count).map_while(|index| ptx.get(&table.saturating_add(index.saturating_mul(IMAGE))));
                let variables = self.names(view, place.saturating_add(16), number(24), VARIABLE, "variable");
                let functions = self.names(view, place.saturating_add(32), number(40), NVPTX_FUNCTION, "function");
                (records.copied().collect::<BTreeSet<usize>>(), [functions, variables].concat())
            } else if let Some(index) = elf.get(table) {
                let kernels = self.names(view, place.saturating_add(16), number(8), AMDGCN_KERNEL, "function");
                (BTreeSet::from([*index]), kernels)
            } else {
                continue;
            };
            // The names belong to the whole program, so they are recorded once.
            for (number, index) in described.into_iter().enumerate() {
                if let Some(image) = containers.get_mut(index).and_then(|container| container.images.first_mut()) {
                    describe(image, if number == 0 { &names } else { &[] });
                }
            }
        }
    }

    /// Reads the names in the table that the pointer at `place` leads to, each with a key. If one is missing, there are
    /// none.
    fn names(&self, view: View<'data>, place: u64, count: Option<u64>, size: u64, key: &str) -> Vec<(String, String)> {
        let (Some(table), Some(count)) = (self.targets.get(&place), count.filter(|count| *count <= MAX_NAMES)) else {
            return Vec::new();
        };
        let mut names = Vec::new();
        for index in 0..count {
            let at = table.saturating_add(index.saturating_mul(size));
            let Some(target) = self.targets.get(&at) else { return Vec::new() };
            let offset = self.host.start().saturating_add(*target);
            let name = view.c_string(view.field("libgomp name", offset), offset).unwrap_or_default();
            if name.is_empty() || name.contains(|c: char| c.is_control() || c.is_whitespace()) {
                return Vec::new();
            }
            let memory = record_memory(size_of::<(String, String)>(), [name.len(), key.len()]);
            if view.charge("libgomp name", Resource::Memory, memory).is_err() {
                return Vec::new();
            }
            names.push((key.to_owned(), name.to_owned()));
        }
        names
    }
}

fn describe(image: &mut Image, names: &[(String, String)]) {
    image.kind = Some(OffloadKind::OpenMp);
    image.strings.extend_from_slice(names);
}
