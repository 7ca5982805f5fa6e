//! Device images in the bitcode of a host, as sections of a file.
//!
//! Objects of a host that is optimized at link time (`-flto`) are bitcode. Images in it are not in the file as they are, so
//! their sections are decoded to a file without a name, and scanned like the sections of an object.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::InputSlice;
use crate::base::bytes::View;
use crate::base::error::Malformed;
use crate::base::error::Result;
use crate::base::io::Input;
use crate::format::bitcode::embedded;
use crate::format::{bitcode, is_host_bitcode};
use crate::scan::source::{DecodedBitcode, Source};
use crate::scan::structure;

/// Returns whether a file is the bitcode of a host with device images in it.
pub fn has_images(view: View<'_>) -> Result<bool, Malformed> {
    Ok(is_host_bitcode(view) && !embedded::sections(view, &structure::is_container_section)?.is_empty())
}

impl InputSlice {
    /// Returns the sections with device images of the bitcode of a host as a slice of their bytes, and any other file as it is,
    /// also cut bitcode, of which the scan reports the defect.
    pub fn decode_bitcode(self) -> Result<InputSlice> {
        if bitcode::check(self.view()).is_err() {
            Ok(self)
        } else {
            self.decode_sections(&structure::is_container_section)
        }
    }

    /// Returns the sections with wanted names of the bitcode of a host as a slice of their bytes, and any other file as it is.
    pub(crate) fn decode_sections(self, is_wanted: &dyn Fn(&str) -> bool) -> Result<InputSlice> {
        if !is_host_bitcode(self.view()) {
            return Ok(self);
        }
        let path = Path::new(&self.path);
        let sections = bitcode::check(self.view()).and_then(|()| embedded::sections(self.view(), is_wanted));
        let sections = sections.map_err(|malformed| malformed.in_file(path))?;
        if sections.is_empty() {
            return Ok(self);
        }
        let write =
            |file: &mut std::fs::File| sections.iter().try_for_each(|section| file.write_all(&section.contents));
        let input = Input::from_temp_file(path, &std::env::temp_dir(), self.input().access(), write)?;
        let input = input.without_descriptor().with_budget(self.input().budget().clone());
        let mut end = 0_u64;
        let mut places = Vec::new();
        for section in sections {
            let start = end;
            end = start.saturating_add(section.contents.len() as u64);
            places.push((section.name, start..end));
        }
        let decoded = DecodedBitcode { size: self.view().size(), sections: places };
        Ok(self.with_decoded(input, Arc::new(decoded)))
    }
}
