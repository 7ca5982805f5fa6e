//! The objects of a link, members of archives included, with the inventories of their device code.

use std::collections::BTreeMap;

use object::read::{File, FileKind, Object, ObjectSymbol};
use object::{ObjectKind, elf};

use super::device_object::DeviceObject;
use super::kernels::ImageKernels;
use super::line::{LineInput, LinkLine};
use super::object_file::HostObject;
use super::{DoctorError, DoctorOptions, Result, lto_bytecode};
use crate::embed::wrap::host_entries::{self, HostEntry};
use fatbin_core::base::archive::ArchiveFormat;
use fatbin_core::base::bytes::{ObjectBytes, Resource};
use fatbin_core::base::error::{Cause, Malformed};
use fatbin_core::base::io::Input;
use fatbin_core::scan::host_half::{LINKED_BINARY, STUB};
use fatbin_core::scan::{self, InputSlice, OpenOptions, Options, Scan, Source, inventory};

/// A file of a link: an input, or a member of an archive.
#[derive(Debug)]
pub struct LinkedFile {
    /// Path, or `ARCHIVE!MEMBER`.
    pub path: String,
    /// True for an archive member that is linked only if needed.
    pub is_lazy: bool,
    /// The object.
    pub object: HostObject,
    /// Its device code.
    pub inventory: inventory::File,
    /// Its offload entries.
    pub entries: Vec<HostEntry>,
    /// Kernels of its images.
    pub kernels: Vec<ImageKernels>,
    /// Its relocatable code for NVIDIA's GPUs.
    pub device_objects: Vec<DeviceObject>,
    /// True if its bytecode for link-time optimization has a fat binary of CUDA.
    pub has_lto_fat_binary: bool,
}

/// The files of a link.
#[derive(Debug)]
pub struct Inputs {
    /// Files in the order of the line. Files that are not objects are left out.
    pub objects: Vec<LinkedFile>,
    /// Functions of device code that shared libraries define, in the order of the line: stubs of kernels, and the
    /// registration of modules.
    pub exports: BTreeMap<String, Vec<Exporter>>,
}

impl Inputs {
    /// Reads all inputs.
    pub fn read(line: &LinkLine, options: &DoctorOptions) -> Result<Inputs> {
        let mut objects = Vec::new();
        for_each_object(line, options, &mut |_, slice, is_lazy| {
            let path = slice.path.clone();
            let entries = host_entries::read(slice.view(), path.printed())?;
            let has_lto_fat_binary = lto_bytecode::has_fat_binary(slice.view());
            let object = HostObject::read(slice.view()).map_err(|malformed| malformed.in_file(path.printed()))?;
            let structure_only = Options::default().with_structure_only(true);
            let scan = Scan::with_options(slice, structure_only, None)?;
            let kernels = scan.images().filter_map(|image| ImageKernels::read(&image)).collect();
            let device_objects = scan.images().filter_map(|image| DeviceObject::read(&image)).collect();
            let inventory = scan.into_file();
            let is_compressed = |error: &&Malformed| error.cause == Cause::CompressedSection;
            if let Some(error) = inventory.errors.iter().find(is_compressed) {
                return Err(error.clone().in_file(path.printed()).into());
            }
            objects.push(LinkedFile {
                path: path.into(),
                is_lazy,
                object,
                inventory,
                entries,
                kernels,
                device_objects,
                has_lto_fat_binary,
            });
            Ok(())
        })?;
        Ok(Inputs { objects, exports: exports(line, options)? })
    }
}

/// A shared library that defines a function.
#[derive(Debug, Clone)]
pub struct Exporter {
    /// Path.
    pub path: String,
    /// True if the library uses its own functions before those of others (`-Bsymbolic`).
    pub binds_symbols: bool,
}

/// Returns whether the dynamic section asks the loader to search the library first.
fn binds_symbols<'data>(file: &File<'data, ObjectBytes<'data>>) -> bool {
    let File::Elf64(file) = file else { return false };
    let Ok(table) = file.elf_dynamic_table() else { return false };
    let is_symbolic = |tag, value: u64| tag == elf::DT_SYMBOLIC || tag == elf::DT_FLAGS && value & SYMBOLIC != 0;
    table.iter().any(|entry| is_symbolic(entry.tag, entry.val))
}

/// Flag of `DT_FLAGS`.
const SYMBOLIC: u64 = elf::DF_SYMBOLIC.0;

/// Functions of device code that the shared libraries of a line define.
fn exports(line: &LinkLine, options: &DoctorOptions) -> Result<BTreeMap<String, Vec<Exporter>>> {
    let mut exports: BTreeMap<String, Vec<Exporter>> = BTreeMap::new();
    for LineInput { path, .. } in &line.inputs {
        let input = Input::open_file(path.clone(), options.access)?.with_limits(options.limits);
        let view = input.view();
        let Some(file) = File::parse(ObjectBytes(view)).ok().filter(|file| file.kind() == ObjectKind::Dynamic) else {
            continue;
        };
        let exporter = Exporter { path: path.display().to_string(), binds_symbols: binds_symbols(&file) };
        for symbol in file.dynamic_symbols().filter(ObjectSymbol::is_definition) {
            let is_wanted = |name: &&str| name.contains(STUB) || name.starts_with(LINKED_BINARY);
            let name = symbol.name().ok().filter(is_wanted);
            if view.charge("symbol", Resource::Work, 1).is_err() {
                break;
            }
            if let Some(name) = name {
                exports.entry(name.to_owned()).or_default().push(exporter.clone());
            }
        }
    }
    Ok(exports)
}

/// Opens the objects of a line one by one, with their numbers, so that thousands of them are not open at once.
pub fn for_each_object(
    line: &LinkLine,
    options: &DoctorOptions,
    visit: &mut dyn FnMut(usize, InputSlice, bool) -> Result<()>,
) -> Result<()> {
    let mut count = 0;
    for LineInput { path, is_whole } in &line.inputs {
        let input = Input::open_file(path.clone(), options.access)?.with_limits(options.limits);
        let is_lazy = ArchiveFormat::of(input.view()).is_some_and(ArchiveFormat::is_library) && !is_whole;
        let open = OpenOptions::libraries(options.access).with_limits(options.limits);
        let mut outcome = Ok(());
        scan::expand_input(input, path, open, &mut |slice| {
            if outcome.is_ok() {
                outcome = slice.map_err(Into::into).and_then(|slice| visit_object(slice, is_lazy, &mut count, visit));
            }
        });
        outcome?;
    }
    Ok(())
}

fn visit_object(
    slice: InputSlice,
    is_lazy: bool,
    count: &mut usize,
    visit: &mut dyn FnMut(usize, InputSlice, bool) -> Result<()>,
) -> Result<()> {
    let is_object = match FileKind::parse(slice.view().data()) {
        Ok(FileKind::Elf32 | FileKind::Elf64) => {
            let invalid = |cause| DoctorError::InvalidObject { path: slice.path.to_string(), cause };
            File::parse(ObjectBytes(slice.view())).map_err(invalid)?.kind() == ObjectKind::Relocatable
        }
        Ok(FileKind::Coff | FileKind::CoffBig | FileKind::MachO32 | FileKind::MachO64) => true,
        _ => false,
    };
    if is_object {
        visit(*count, slice, is_lazy)?;
        *count += 1;
    }
    Ok(())
}

#[cfg(test)]
impl LinkedFile {
    /// Creates an object without device code.
    pub fn of_object(path: &str, is_lazy: bool, object: HostObject) -> LinkedFile {
        let inventory = inventory::File::empty(fatbin_core::base::file_path::FilePath::new(path));
        LinkedFile {
            path: path.to_owned(),
            is_lazy,
            object,
            inventory,
            entries: Vec::new(),
            kernels: Vec::new(),
            device_objects: Vec::new(),
            has_lto_fat_binary: false,
        }
    }
}
