//! Device images in the bitcode of a host, presented as sections of a file.
//!
//! Host objects that are optimized at link time (`-flto`) are bitcode, which does not store images unchanged. Their
//! sections are decoded to a file without a name, and scanned like the sections of an object.

use std::io::Write;
use std::sync::Arc;

use super::InputSlice;
use crate::base::error::Result;
use crate::base::io::Input;
use crate::base::range::Cursor;
use crate::format::bitcode::embedded;
use crate::format::{bitcode, is_host_bitcode};
use crate::scan::source::{DecodedBitcode, Source};
use crate::scan::structure::{self, fat_lto};

impl InputSlice {
    /// Decodes the sections with device images in host bitcode, and returns a slice of the decoded bytes. Any other
    /// file is returned unchanged. So is truncated bitcode; the scan reports its defect.
    pub(crate) fn decode_bitcode(self) -> Result<InputSlice> {
        if bitcode::check(self.view()).is_err() {
            Ok(self)
        } else {
            self.decode_sections(&structure::is_container_section)
        }
    }

    /// Decodes the sections in host bitcode whose names are wanted, and returns a slice of the decoded bytes. Any other
    /// file is returned unchanged.
    #[doc(hidden)]
    pub fn decode_sections(self, is_wanted: &dyn Fn(&str) -> bool) -> Result<InputSlice> {
        if !is_host_bitcode(self.view()) {
            return Ok(self);
        }
        let path = self.path.printed();
        let sections = bitcode::check(self.view()).and_then(|()| embedded::sections(self.view(), is_wanted));
        let sections = sections.map_err(|malformed| malformed.in_file(path))?;
        if sections.is_empty() {
            return Ok(self);
        }
        let write =
            |file: &mut std::fs::File| sections.iter().try_for_each(|section| file.write_all(&section.contents));
        let input = Input::from_temp_file(path, &std::env::temp_dir(), self.input().access(), write)?;
        let input = input.without_descriptor().with_budget(self.input().budget().clone());
        let mut ranges = Cursor::at(0);
        let placed = sections.into_iter().map(|it| (it.name, ranges.take(it.contents.len() as u64)));
        let decoded = DecodedBitcode { size: self.view().size(), sections: placed.collect() };
        Ok(self.with_decoded(input, Arc::new(decoded)))
    }

    /// The bitcode in an object, as a member with the name of its section; `None` without images in it.
    pub(super) fn in_bitcode(&self) -> Option<Result<InputSlice>> {
        let (offset, size) = fat_lto::bitcode(self.view())?;
        let cut = self.clone().cut(self.path.with_member(fat_lto::SECTION), offset, size);
        let decoded = cut.and_then(InputSlice::decode_bitcode);
        match decoded {
            Ok(slice) if slice.decoded.is_none() => None,
            decoded => Some(decoded),
        }
    }
}
