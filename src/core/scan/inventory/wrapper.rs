//! Containers that host code registers with the CUDA and HIP runtimes, and unregistered containers.

use super::{Container, File, SectionRef};
use crate::base::error::{Cause, Malformed};
use crate::format::{ContainerType, RegisteringRuntime, fat_binary_wrapper};

/// Relation of a container to the wrappers of its file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Registration {
    /// The file has no wrapper for containers of this type, or the container is in another one.
    #[default]
    Unknown,
    /// A wrapper points to it.
    Registered,
    /// It is in a section for registered containers, but wrappers only register others.
    Unregistered,
    /// A compiler has left it next to the code that programs load, such as PTX in Triton's cache. Nothing loads it.
    LeftBehind,
    /// Wrappers only register others, and it is in other data, such as an array that the program passes to the driver.
    InOtherData,
}

/// A structure that registers a container. It is passed to a runtime when the program starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapper {
    /// Runtime that receives it.
    pub kind: WrapperKind,
    /// Section that holds it.
    pub section: SectionRef,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Destination of its pointer.
    pub target: WrapperTarget,
    /// Index of its code object in kpack archives; absent if its pointer leads to a container.
    pub index: Option<u32>,
    /// Version of the structure.
    pub version: u32,
    /// Number of the device link in the file, if known. A wrapper of version 2 registers this link. The relocatable
    /// container of a wrapper of version 1 is an input of this link.
    pub link: Option<usize>,
    /// Name of the module that was compiled to the relocatable container, if known.
    pub module: Option<String>,
}

/// Kind of a wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WrapperKind {
    /// Wrapper of CUDA.
    Cuda,
    /// Wrapper of HIP.
    Hip,
    /// Wrapper of HIP in a file whose containers rocm-kpack has moved into an archive.
    HipSplitByKpack,
}

/// Destination of a wrapper's pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrapperTarget {
    /// Container at this offset of the file.
    Container(u64),
    /// Offset in the file. No readable container begins there.
    Bytes(u64),
    /// Symbol that another file of the link defines.
    Symbol(String),
    /// Null or invalid pointer.
    Nothing,
}

impl WrapperKind {
    /// Name for reports.
    pub fn name(self) -> &'static str {
        match self {
            WrapperKind::Cuda => "cuda",
            WrapperKind::Hip | WrapperKind::HipSplitByKpack => "hip",
        }
    }

    /// Name of a wrapper in errors.
    fn field(self) -> &'static str {
        match self {
            WrapperKind::Cuda => "cuda wrapper",
            WrapperKind::Hip | WrapperKind::HipSplitByKpack => "hip wrapper",
        }
    }

    /// True if wrappers of this kind register containers of this type.
    fn registers(self, container_type: ContainerType) -> bool {
        let runtime = match self {
            WrapperKind::Cuda => RegisteringRuntime::Cuda,
            WrapperKind::Hip | WrapperKind::HipSplitByKpack => RegisteringRuntime::Hip,
        };
        container_type.descriptor().registered_with == Some(runtime)
    }
}

impl Wrapper {
    /// Reason why its runtime cannot load what it registers, as a clause whose subject is the wrapper.
    pub fn defect(&self) -> Option<String> {
        match &self.target {
            _ if self.kind == WrapperKind::HipSplitByKpack => None,
            WrapperTarget::Bytes(offset) => Some(format!("registers {offset:#x}, where no container begins")),
            WrapperTarget::Nothing => Some("registers nothing".to_owned()),
            WrapperTarget::Container(_) | WrapperTarget::Symbol(_) => None,
        }
    }
}

impl File {
    /// Records in each container whether a wrapper points to it.
    #[doc(hidden)]
    pub fn record_registrations(&mut self) {
        let mut referenced: Vec<u64> = self.wrappers.iter().filter_map(|it| it.target.container()).collect();
        referenced.sort_unstable();
        let mut kinds: Vec<WrapperKind> = self.wrappers.iter().map(|wrapper| wrapper.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for container in &mut self.containers {
            let Some(offset) = container.offset else { continue };
            let is_in_section = container.section_name().is_some_and(fat_binary_wrapper::is_container_section);
            container.registration = if referenced.binary_search(&offset).is_ok() {
                Registration::Registered
            } else if !kinds.iter().any(|kind| kind.registers(container.container_type)) {
                Registration::Unknown
            } else if is_in_section {
                Registration::Unregistered
            } else {
                Registration::InOtherData
            };
        }
    }

    /// Containers that no wrapper points to, of the types that some wrapper of the file registers. Containers in other
    /// data are not necessarily mistakes: the program may pass them to the driver.
    #[doc(hidden)]
    pub fn unreferenced(&self) -> impl Iterator<Item = &Container> {
        let is_unreferenced =
            |it: &&Container| matches!(it.registration, Registration::Unregistered | Registration::InOtherData);
        self.containers.iter().filter(is_unreferenced)
    }

    /// Reasons why the loader or a runtime rejects the file, although everything in it can be read: segments that
    /// cannot be mapped, and rows of image tables and wrappers that lead to no device code.
    #[doc(hidden)]
    pub fn load_defects(&self) -> impl Iterator<Item = Malformed> {
        let wrappers = self.wrappers.iter().filter_map(|wrapper| {
            let field = wrapper.kind.field();
            Some(Malformed { field, offset: wrapper.offset, cause: Cause::Described(wrapper.defect()?) })
        });
        self.host_defects.iter().cloned().chain(wrappers)
    }

    /// Container that begins at this offset of the file and is not inside another.
    #[doc(hidden)]
    pub fn container_at(&self, offset: u64) -> Option<&Container> {
        let index = self.containers.partition_point(|container| container.offset < Some(offset));
        self.containers.get(index).filter(|container| container.offset == Some(offset))
    }
}

impl WrapperTarget {
    /// Offset of the container, if it points to one.
    pub fn container(&self) -> Option<u64> {
        if let WrapperTarget::Container(offset) = self { Some(*offset) } else { None }
    }
}
