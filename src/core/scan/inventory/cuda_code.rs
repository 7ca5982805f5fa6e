//! Properties of NVIDIA code that its drivers depend on: the PTX ISA, the form of a cubin, and the toolkit that wrote
//! it.

use crate::format::{ImageKind, ImageView};

/// Properties of a cubin or PTX. A property that no header states is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CudaCode {
    /// Version of the PTX ISA, of PTX.
    pub ptx_version: Option<(u16, u16)>,
    /// ABI version, of a cubin.
    pub abi_version: Option<u8>,
    /// Latest release of CUDA among the tools that wrote a cubin. The header of a container does not state it.
    pub toolkit: Option<(u16, u16)>,
    /// Architecture of the PTX that a cubin was compiled from: 80 of `compute_80`.
    pub virtual_arch: Option<u16>,
    /// Version of LTO-IR, OptiX IR or Tile IR.
    pub ir_version: Option<(u16, u16)>,
    /// True if the image is compressed together with others (`fatbinary --concat`).
    pub is_grouped: bool,
    /// True if the container states that a cubin has Mercury code (bit 24 of the flags). Of equally near cubins, the
    /// driver prefers one without it.
    pub is_mercury: bool,
}

impl CudaCode {
    /// Properties that the container of a compressed image states.
    pub(super) fn stated(image: &ImageView<'_>) -> CudaCode {
        let kind = image.image_kind;
        let version = image.code_version;
        CudaCode {
            ptx_version: if kind == ImageKind::Ptx { version } else { None },
            abi_version: match version {
                // The major number of a cubin's version is 1.
                Some((_, abi)) if kind == ImageKind::Elf => u8::try_from(abi).ok(),
                _ => None,
            },
            ir_version: version.and_then(|version| ir_version(kind, version)),
            toolkit: None,
            virtual_arch: None,
            is_grouped: image.part.is_some() && version.is_some(),
            is_mercury: image.is_mercury,
        }
    }
}

/// Returns the version that an entry states. For Tile IR, one field has the major and the minor version.
fn ir_version(kind: ImageKind, (major, minor): (u16, u16)) -> Option<(u16, u16)> {
    match kind {
        ImageKind::Nvvm => Some((major, minor)),
        ImageKind::TileIr => {
            let [major, minor] = major.to_be_bytes();
            Some((major.into(), minor.into()))
        }
        _ => None,
    }
}
