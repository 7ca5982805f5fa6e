//! LLVM bitcode for devices between other data. Bitcode that compilers embed for link-time optimization of a host is
//! not device code.

use super::{EmbeddedImage, Region};
use crate::base::error::{Cause, Malformed};
use crate::format::{bitcode, is_host_bitcode};

/// Reads the module that begins at an offset of the region.
pub fn find(region: Region<'_>, at: u64) -> Result<EmbeddedImage<'_>, Malformed> {
    let view = region.view.from(at);
    let image = bitcode::extent(view)?;
    if is_host_bitcode(image) {
        return Err(view.malformed("bitcode triple", 0, Cause::Described("not the triple of a device".to_owned())));
    }
    Ok(EmbeddedImage::new(image))
}
