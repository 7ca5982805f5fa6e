//! Code with patch tokens for Intel's GPUs: in OpenCL's ELF files and in the drivers, which have kernels as arrays.
//!
//! Source: output of ocloc 22.43; libze_intel_gpu.so and libigdrcl.so of the same release.

use super::{EmbeddedImage, Region, unexpected};
use crate::base::error::Malformed;
use crate::format::patch_tokens::Program;

/// Largest version that counts as one. 1081 was the last in use.
const LARGEST_VERSION: u32 = 0xffff;

/// Reads the program that begins at an offset of the region.
pub fn find(region: Region<'_>, at: u64) -> Result<EmbeddedImage<'_>, Malformed> {
    let view = region.view.from(at);
    let program = Program::read(view)?;
    if !(1..=LARGEST_VERSION).contains(&program.version) {
        return Err(unexpected(view, "Intel program version", 4, program.version.into(), "1 to 65535"));
    }
    if program.arch().is_none() {
        return Err(unexpected(view, "Intel core family", 8, program.core.into(), "a known one"));
    }
    if program.kernels.is_empty() {
        return Err(unexpected(view, "Intel kernel count", 16, 0, "1 or more"));
    }
    view.prefix("Intel program", program.size).map(EmbeddedImage::new)
}
