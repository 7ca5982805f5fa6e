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
use crate::base::bytes::{Resource, Table, View, record_memory, text_work};
use crate::format::{ContainerType, ImageKind};
use crate::scan::inventory::Container;
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
    for (file, host) in structure.parsed_hosts() {
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

/// Records of images, by their offsets in the host file, each with the index of the image's container.
#[derive(Default)]
struct ImageRecords {
    ptx: BTreeMap<u64, usize>,
    elf: BTreeMap<u64, usize>,
}

/// Names of functions and variables, each with a key.
type Names = Vec<(String, String)>;

impl<'data> HostTables<'_, 'data> {
    /// Describes the images that descriptors lead to.
    fn describe(&self, view: View<'data>, images: &HashMap<u64, usize>, containers: &mut [Container]) {
        let records = self.image_records(images, containers);
        for (&place, &table) in &self.targets {
            let Some((described, mut names)) = self.descriptor(view, place, table, &records) else { continue };
            for index in described {
                if let Some(image) = containers.get_mut(index).and_then(|container| container.images.first_mut()) {
                    image.kind = Some(OffloadKind::OpenMp);
                    // The names belong to the whole program, so they are recorded once.
                    image.strings.append(&mut names);
                }
            }
        }
    }

    fn image_records(&self, images: &HashMap<u64, usize>, containers: &[Container]) -> ImageRecords {
        let mut records = ImageRecords::default();
        for (&place, &target) in &self.targets {
            let index = self.in_file(target).and_then(|offset| images.get(&offset).copied());
            let Some((index, container)) = index.and_then(|index| Some((index, containers.get(index)?))) else {
                continue;
            };
            match container.images.first().map(|image| image.image_kind) {
                // The record begins with the pointer.
                Some(ImageKind::Ptx) if self.number(place, POINTER, POINTER) == container.size.checked_add(1) => {
                    records.ptx.insert(place, index);
                }
                // The record ends with the pointer.
                Some(ImageKind::Elf) => {
                    if let Some(record) = place.checked_sub(POINTER)
                        && self.pointers.word(record) == Some(container.size)
                    {
                        records.elf.insert(record, index);
                    }
                }
                _ => {}
            }
        }
        records
    }

    /// Returns the containers of the images in the descriptor at `place`, and the names in it. Its pointer to images
    /// leads to `table`.
    fn descriptor(
        &self,
        view: View<'data>,
        place: u64,
        table: u64,
        records: &ImageRecords,
    ) -> Option<(BTreeSet<usize>, Names)> {
        let count = |field| self.number(place, field, 4);
        let names = |field, count, size, key| self.names(view, self.target(place, field), count, size, key);
        if records.ptx.contains_key(&table) {
            let images = count(8).unwrap_or_default().min(records.ptx.len() as u64);
            let images = Table { offset: table, count: images, entry_size: IMAGE }.offsets();
            let images = images.map_while(|record| records.ptx.get(&record).copied());
            let variables = names(16, count(24), VARIABLE, "variable");
            let functions = names(32, count(40), NVPTX_FUNCTION, "function");
            Some((images.collect(), [functions, variables].concat()))
        } else {
            let index = *records.elf.get(&table)?;
            Some((BTreeSet::from([index]), names(16, count(8), AMDGCN_KERNEL, "function")))
        }
    }

    /// Reads the names in a table, each with a key. If one is missing, there are none.
    fn names(&self, view: View<'data>, table: Option<u64>, count: Option<u64>, size: u64, key: &str) -> Names {
        let (Some(table), Some(count)) = (table, count.filter(|count| *count <= MAX_NAMES)) else {
            return Names::new();
        };
        let mut names = Names::new();
        for record in (Table { offset: table, count, entry_size: size }).offsets() {
            let offset = self.target(record, 0).and_then(|target| self.in_file(target));
            let Some(offset) = offset else { return Names::new() };
            let name = view.c_string(view.field("libgomp name", offset), offset).unwrap_or_default();
            if name.is_empty() || name.contains(|c: char| c.is_control() || c.is_whitespace()) {
                return Names::new();
            }
            let memory = record_memory(size_of::<(String, String)>(), [name.len(), key.len()]);
            if view.charge("libgomp name", Resource::Memory, memory).is_err() {
                return Names::new();
            }
            names.push((key.to_owned(), name.to_owned()));
        }
        names
    }
}
