//! Device images without a container: arrays in the data of a host file.
//!
//! Programs load such images with `cuModuleLoadData`, `hipModuleLoadData`, `clCreateProgramWithIL` and similar
//! functions. They get a pointer and no size, so an image states its size itself, and nothing else in the file leads to
//! it. A few bytes are only a hint; an image counts if its structure is valid as a whole.
//!
//! Sources: output of GNU ld and objcopy 2.40, ld.lld 22, gcc 12, clang 22, rustc and NVIDIA's bin2c 13.5;
//! libhsa-runtime64 5.2.3, llama.cpp's libggml-vulkan.so, Intel's OpenCL driver 22.43. The rules had no false match in
//! 114,044 files of a Debian system.

mod bitcode;
mod elf;
mod patch_tokens;
mod ptx;
mod record;
mod spirv;
mod statements;

#[cfg(test)]
mod surroundings_tests;
#[cfg(test)]
mod tests;

use super::container_type::ContainerType;
use super::{ContainerView, ImageView};
use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};

/// Bytes that may contain an image: a section, or a gap between containers.
#[derive(Debug, Clone, Copy)]
pub struct Region<'data> {
    /// The bytes.
    pub view: View<'data>,
    /// True if text that is not device code may surround PTX, as in host files. Other files are, for example, source
    /// code with PTX in string literals.
    pub may_hold_text: bool,
}

/// An image that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedImage<'data> {
    /// Its bytes.
    pub view: View<'data>,
    /// False if neither the image nor a terminator states its end.
    pub has_stated_end: bool,
    /// Name of its symbol, if the file states it outside the symbol table.
    pub symbol: Option<&'data str>,
}

/// Finds the image whose first hint is at an offset of the region.
pub type FindImage = for<'data> fn(Region<'data>, u64) -> Result<EmbeddedImage<'data>, Malformed>;

/// Bytes that every image of one kind contains.
#[derive(Debug, Clone, Copy)]
pub struct Hint {
    /// The bytes.
    pub bytes: &'static [u8],
    /// Reader of the image around them.
    pub find: FindImage,
}

/// All hints.
pub const HINTS: [Hint; 7] = [
    Hint { bytes: b"\x7fELF\x02\x01\x01", find: elf::find },
    Hint { bytes: &super::embed_record::MAGIC, find: record::find },
    Hint { bytes: b".version", find: ptx::find },
    Hint { bytes: b"\x03\x02\x23\x07", find: spirv::find },
    Hint { bytes: &super::patch_tokens::MAGIC, find: patch_tokens::find },
    Hint { bytes: &super::bitcode::MAGIC, find: bitcode::find },
    Hint { bytes: &super::bitcode::WRAPPER_MAGIC, find: bitcode::find },
];

/// Returns the image that begins at the region's first byte.
pub fn at_start(region: Region<'_>) -> Option<EmbeddedImage<'_>> {
    let is_hinted = |hint: &&Hint| region.view.starts_with(hint.bytes);
    let image = match HINTS.iter().find(is_hinted) {
        Some(hint) => (hint.find)(region, 0).ok(),
        None => ptx::at_start(region),
    };
    image.filter(|image| image.view.start() == region.view.start())
}

impl<'data> EmbeddedImage<'data> {
    fn new(view: View<'data>) -> Self {
        EmbeddedImage { view, has_stated_end: true, symbol: None }
    }

    /// Returns a container of this one image.
    pub fn container(&self) -> ContainerView<'data> {
        let image = ImageView::new(self.view, None, None, None);
        let image = ImageView { has_stated_end: self.has_stated_end, symbol: self.symbol, ..image };
        ContainerView::new(ContainerType::Embedded, None, self.view, vec![image])
    }
}

/// Error for a field with a value that device images do not have.
fn unexpected(view: View<'_>, field: &'static str, offset: u64, value: u64, expected: &'static str) -> Malformed {
    view.malformed(field, offset, Cause::Unexpected { value, expected })
}
