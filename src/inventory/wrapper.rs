//! Containers that host code registers with the CUDA and HIP runtimes, and containers that it does not.

use super::{Container, File, SectionRef};
use crate::format::{ContainerType, RegisteringRuntime};

/// A structure that is passed to a runtime when the program starts, to register a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapper {
    /// Runtime that it is passed to.
    pub kind: WrapperKind,
    /// Section that holds it.
    pub section: SectionRef,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Destination of its pointer.
    pub target: WrapperTarget,
    /// Index of its code object in kpack archives; absent where its pointer leads to a container.
    pub index: Option<u32>,
    /// Version of the structure.
    pub version: u32,
    /// Number of the device link in the file, if it is known: of version 2 the link that the wrapper registers, of version 1 the link
    /// that its relocatable container is an input of.
    pub link: Option<usize>,
    /// Name of the module that was compiled to the relocatable container, if it is known.
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
    /// Offset in the file at which no readable container begins.
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

    /// Returns whether wrappers of this kind register containers of this type.
    fn registers(self, container_type: ContainerType) -> bool {
        let runtime = match self {
            WrapperKind::Cuda => RegisteringRuntime::Cuda,
            WrapperKind::Hip | WrapperKind::HipSplitByKpack => RegisteringRuntime::Hip,
        };
        container_type.descriptor().registered_with == Some(runtime)
    }
}

impl Wrapper {
    /// Returns whether its container is missing from the file.
    pub fn is_orphan(&self) -> bool {
        let is_missing = matches!(self.target, WrapperTarget::Bytes(_) | WrapperTarget::Nothing);
        is_missing && self.kind != WrapperKind::HipSplitByKpack
    }
}

impl File {
    /// Returns the containers that no wrapper points to, of the types that some wrapper of the file registers. They are not
    /// necessarily mistakes: code may be registered in other ways.
    pub fn unreferenced(&self) -> impl Iterator<Item = &Container> {
        let mut referenced: Vec<u64> = self.wrappers.iter().filter_map(|it| it.target.container()).collect();
        referenced.sort_unstable();
        let mut kinds: Vec<WrapperKind> = self.wrappers.iter().map(|wrapper| wrapper.kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        self.containers.iter().filter(move |it| {
            it.offset.is_some_and(|offset| referenced.binary_search(&offset).is_err())
                && kinds.iter().any(|kind| kind.registers(it.container_type))
        })
    }

    /// Returns the container that begins at this offset of the file and is in no other.
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
