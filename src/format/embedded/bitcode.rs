//! LLVM bitcode for devices between other data. Bitcode for hosts, which compilers embed for link-time optimization, is not
//! device code.

use super::{EmbeddedImage, Region};
use crate::error::{Cause, Malformed};
use crate::format::bitcode;
use crate::target::Platform;

/// Reads the module that begins at an offset of the region.
pub fn find(region: Region<'_>, at: u64) -> Result<EmbeddedImage<'_>, Malformed> {
    let view = region.view.from(at);
    let image = bitcode::extent(view)?;
    let triple = bitcode::triple(image);
    match Platform::of(triple.as_deref(), None) {
        Some(Platform::Amd | Platform::Nvidia | Platform::SpirV) => Ok(EmbeddedImage::new(image)),
        Some(Platform::Host) | None => {
            Err(view.malformed("bitcode triple", 0, Cause::Described("not that of a device".to_owned())))
        }
    }
}
