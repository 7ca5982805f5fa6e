//! What host code registers with the CUDA and HIP runtimes, and what of a file it does not.

use super::{Container, File, SectionRef};
use crate::format::{ContainerType, RegisteringRuntime};

/// A structure that is handed to a runtime when the program starts: this container is to be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrapper {
    pub kind: WrapperKind,
    pub section: SectionRef,
    pub offset: u64,
    pub target: WrapperTarget,
}

/// Whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WrapperKind {
    Cuda,
    Hip,
    /// HIP's, after rocm-kpack has moved the containers of the file into an archive.
    HipSplitByKpack,
}

/// What a wrapper points to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrapperTarget {
    /// The container that begins at this offset of the file.
    Container(u64),
    /// Bytes of the file that begin no container which can be read.
    Bytes(u64),
    /// Whatever a file that this one is linked with defines under this name.
    Symbol(String),
    Nothing,
}

impl WrapperKind {
    /// The name that users see.
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
    /// Whether its container should be in the file and is not.
    pub fn is_orphan(&self) -> bool {
        let is_missing = matches!(self.target, WrapperTarget::Bytes(_) | WrapperTarget::Nothing);
        is_missing && self.kind != WrapperKind::HipSplitByKpack
    }
}

impl File {
    /// The containers that no wrapper points to, of the types that some wrapper of the file does register. Not all of them
    /// are mistakes: code may be registered in other ways.
    pub fn unreferenced(&self) -> impl Iterator<Item = &Container> {
        let mut referenced: Vec<u64> = self.wrappers.iter().filter_map(|it| it.target.container()).collect();
        referenced.sort_unstable();
        self.containers.iter().filter(move |it| {
            it.offset.is_some_and(|offset| referenced.binary_search(&offset).is_err())
                && self.wrappers.iter().any(|wrapper| wrapper.kind.registers(it.container_type))
        })
    }
}

impl WrapperTarget {
    /// The offset of the container.
    pub fn container(&self) -> Option<u64> {
        if let WrapperTarget::Container(offset) = self { Some(*offset) } else { None }
    }
}
