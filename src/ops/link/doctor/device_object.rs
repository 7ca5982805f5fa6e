//! Relocatable code for NVIDIA's GPUs in a host object, as nvlink reads it.

use object::read::{File, Object, ObjectSymbol};

use fatbin_core::base::bytes::{ObjectBytes, Resource, View, record_memory};
use fatbin_core::format::{ImageKind, fat_binary_wrapper};
use fatbin_core::scan::ImageRef;
use fatbin_core::target::nvptx;

/// Start of the names of C++ functions and variables. The driver defines others, such as `vprintf`.
const MANGLED: &str = "_Z";

/// Code of an object for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceObject {
    /// Number of the architecture: 90 for `sm_90a`.
    pub arch: u32,
    /// True for PTX and LTO-IR, which nvlink compiles for this and later architectures. Their symbols are unknown.
    pub is_intermediate: bool,
    /// Symbols that it defines for other objects.
    pub defined: Vec<String>,
    /// Symbols that another object must define.
    pub undefined: Vec<String>,
}

impl DeviceObject {
    /// Reads an image; `None` for an image that nvlink does not link.
    pub fn read(image: &ImageRef<'_>) -> Option<DeviceObject> {
        let section = image.containers().first().and_then(|container| container.section_name())?;
        if !fat_binary_wrapper::is_relocatable_section(section) {
            return None;
        }
        let arch = nvptx::Arch::parse(image.arch.as_deref()?)?.number;
        let is_intermediate = image.image_kind != ImageKind::Elf;
        let mut object = DeviceObject { arch, is_intermediate, defined: Vec::new(), undefined: Vec::new() };
        if !is_intermediate {
            object.add_symbols(image.bytes().ok()?.view());
        }
        Some(object)
    }

    fn add_symbols(&mut self, view: View<'_>) {
        let Ok(file) = File::parse(ObjectBytes(view)) else { return };
        for symbol in file.symbols().filter(ObjectSymbol::is_global) {
            let Some(name) = symbol.name().ok().filter(|name| name.starts_with(MANGLED)) else { continue };
            let memory = record_memory(size_of::<String>(), [name.len()]);
            if view.charge("device symbol", Resource::Memory, memory).is_err() {
                break;
            }
            if !symbol.is_undefined() {
                self.defined.push(name.to_owned());
            } else if !symbol.is_weak() {
                self.undefined.push(name.to_owned());
            }
        }
    }

    /// Returns whether nvlink takes it for an architecture.
    pub fn serves(&self, arch: u32) -> bool {
        self.arch == arch || self.is_intermediate && self.arch < arch
    }
}
