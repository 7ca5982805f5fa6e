//! Contradictions in a readable archive. A loader meets them only when it looks for certain code.

use std::collections::{BTreeMap, BTreeSet};

use super::layout::Scheme;
use super::read::KpackArchive;
use crate::base::error::{Cause, Malformed};

impl KpackArchive<'_> {
    /// Returns the contradictions between the parts of the table of contents.
    pub fn defects(&self) -> Vec<Malformed> {
        let mut defects = Vec::new();
        let mut add = |offset, cause| {
            defects.push(Malformed { field: "kpack table of contents", offset, cause: Cause::Described(cause) });
        };
        let listed: BTreeSet<&str> = self.arches.iter().copied().collect();
        let mut seen = BTreeSet::new();
        let mut ordinals = BTreeMap::new();
        let mut archs = BTreeSet::new();
        for entry in &self.entries {
            let key = entry.key;
            let arch = entry.arch;
            if !seen.insert((key, arch)) {
                add(entry.stated_at, format!("duplicate code object {key} for {arch}"));
            }
            if let Some(other) = ordinals.insert(entry.ordinal, key) {
                add(entry.stated_at, format!("{key} and {other} have the same blob {}", entry.ordinal));
            }
            if entry.binary().is_none() {
                add(entry.stated_at, format!("{key} does not end with # and the index of a code object"));
            }
            if archs.insert(arch) && !listed.contains(arch) {
                add(entry.stated_at, format!("{arch} is not in gfx_arches; loaders do not find its code"));
            }
            if self.scheme == Scheme::None && entry.stored.size() != entry.original_size {
                let size = entry.stored.size();
                let expected = entry.original_size;
                add(entry.stated_at, format!("{key} for {arch} has {size} bytes, expected {expected}"));
            }
        }
        let toc_at = self.view.start();
        for arch in listed.difference(&archs) {
            add(toc_at, format!("gfx_arches lists {arch}, for which there is no code"));
        }
        if let Some(unused) = (0..self.blob_count).find(|ordinal| !ordinals.contains_key(ordinal)) {
            add(toc_at, format!("no code object has blob {unused}"));
        }
        defects
    }
}
