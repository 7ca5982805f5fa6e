//! Kinds of images, as options name them.

/// Kind of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageType {
    Elf,
    Ptx,
    Nvvm,
    TileIr,
    /// PTX in the objects of a link; only of `--image2`.
    Relocatable,
}

impl ImageType {
    /// Parses the name of a kind.
    pub fn parse(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"elf" => ImageType::Elf,
            b"ptx" => ImageType::Ptx,
            b"nvvm" => ImageType::Nvvm,
            b"tileir" => ImageType::TileIr,
            b"reloc" => ImageType::Relocatable,
            _ => return None,
        })
    }
}
