//! SYCLBIN, DPC++'s files of SYCL images that programs load at run time.
//!
//! Version 1 is one image of an offload binary, with headers of a separate format. Version 2 is an offload binary; the
//! string `role` states the purpose of each entry. Entries with `global_metadata` and `am_metadata` are property sets.
//! Entries with `ir` and `native` are the size of a property set in eight bytes, the property set, and the device code.
//! Source: intel/llvm, sycl/doc/design/SYCLBINDesign.md.

use super::OffloadBinaryEntry;
use super::raw::image_kind;
use crate::base::bytes::{Cursor, View};
use crate::base::error::Malformed;
use crate::target::OffloadKind;

/// Size of the field with the size of a property set, in bytes.
const SIZE_FIELD: u64 = 8;

/// Purpose of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Metadata,
    Code,
}

impl<'data> OffloadBinaryEntry<'data> {
    /// Returns whether the entry belongs to a SYCLBIN file of version 2.
    pub(super) fn is_syclbin(&self) -> bool {
        self.role().is_some()
    }

    /// Returns whether the entry of a SYCLBIN file is a property set.
    pub(super) fn is_syclbin_metadata(&self) -> bool {
        self.role() == Some(Role::Metadata)
    }

    /// Returns the image without the property set that precedes it in SYCLBIN files.
    pub fn code(&self) -> Result<View<'data>, Malformed> {
        if self.role() != Some(Role::Code) {
            return Ok(self.image);
        }
        let mut cursor = Cursor::new(self.image);
        let size = cursor.take("SYCLBIN metadata size", SIZE_FIELD)?.u64("SYCLBIN metadata size", 0)?;
        cursor.take_stated("SYCLBIN metadata size", size)?;
        Ok(cursor.rest())
    }

    fn role(&self) -> Option<Role> {
        let is_syclbin = matches!(self.image_kind, image_kind::SPIRV | image_kind::SYCLBIN)
            && OffloadKind::from_bit(self.offload_kind) == Some(OffloadKind::Sycl);
        match self.string("role")? {
            "global_metadata" | "am_metadata" if is_syclbin => Some(Role::Metadata),
            "ir" | "native" if is_syclbin => Some(Role::Code),
            _ => None,
        }
    }
}
