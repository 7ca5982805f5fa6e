//! Spelling of AMD's targets in what is written: bundle entry IDs and triples.

use std::borrow::Cow;

use crate::base::code::{Code, Coded, ErrorClass, Remedy};

use super::BundleEntryId;
use super::subarch::{is_amdgpu, is_spelled_amdgpu, legacy_triple, triple_of_processor};

/// Spelling of the triples of AMD's GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdStyle {
    /// `amdgcn-amd-amdhsa`, which every release and every HIP runtime reads.
    Legacy,
    /// `amdgpu9.0a-amd-amdhsa`, with the processor of the code, which LLVM reads since release 23.
    Subarch,
    /// The spelling of the input.
    AsGiven,
}

/// Code that cannot be spelled in a style.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{arch} has no amdgpu triple")]
pub struct UnsupportedStyle {
    /// Processor with features.
    arch: String,
}

impl Coded for UnsupportedStyle {
    fn class(&self) -> ErrorClass {
        Code::UnsupportedSpelling.with(Remedy::SpellLegacy)
    }
}

impl IdStyle {
    /// All styles, in the order of the help.
    pub const ALL: [IdStyle; 3] = [IdStyle::Legacy, IdStyle::Subarch, IdStyle::AsGiven];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            IdStyle::Legacy => "legacy",
            IdStyle::Subarch => "subarch",
            IdStyle::AsGiven => "as-given",
        }
    }

    /// Returns the style with this name.
    pub fn from_name(name: &str) -> Option<IdStyle> {
        IdStyle::ALL.into_iter().find(|style| style.name() == name)
    }

    /// Returns the canonical form of an ID in this style.
    pub fn id(self, id: &BundleEntryId<'_>) -> Result<String, UnsupportedStyle> {
        let target_id = id.stated_target_id();
        let triple = self.triple(id.triple, target_id)?;
        let target_id = if self == IdStyle::Legacy { target_id } else { id.target_id };
        Ok(BundleEntryId { triple: &triple, target_id, ..*id }.canonical())
    }

    /// Returns a triple in this style, next to this processor.
    pub fn triple<'a>(self, triple: &'a str, arch: Option<&str>) -> Result<Cow<'a, str>, UnsupportedStyle> {
        match (self, arch) {
            (IdStyle::Legacy, _) => Ok(legacy_triple(triple)),
            (IdStyle::Subarch, Some(arch)) if is_amdgpu(triple) && !is_spelled_amdgpu(triple) => {
                let unsupported = || UnsupportedStyle { arch: arch.to_owned() };
                triple_of_processor(triple, arch).map(Cow::Owned).ok_or_else(unsupported)
            }
            (IdStyle::Subarch | IdStyle::AsGiven, _) => Ok(Cow::Borrowed(triple)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spells_one_target_in_each_style() {
        let rows = [
            (
                "hip-amdgpu9.0a-amd-amdhsa--gfx90a:xnack+",
                ["hip-amdgcn-amd-amdhsa--gfx90a:xnack+", "hip-amdgpu9.0a-amd-amdhsa--gfx90a:xnack+"],
            ),
            ("hip-amdgpu9.0a-amd-amdhsa--", ["hip-amdgcn-amd-amdhsa--gfx90a", "hip-amdgpu9.0a-amd-amdhsa--"]),
            ("hip-amdgpu9.4-amd-amdhsa", ["hip-amdgcn-amd-amdhsa--gfx9-4-generic", "hip-amdgpu9.4-amd-amdhsa--"]),
            ("hip-amdgcn-amd-amdhsa-gfx950", ["hip-amdgcn-amd-amdhsa--gfx950", "hip-amdgpu9.50-amd-amdhsa--gfx950"]),
            ("hip-amdgcn-amd-amdhsa--", ["hip-amdgcn-amd-amdhsa--", "hip-amdgcn-amd-amdhsa--"]),
            ("host-x86_64-unknown-linux-gnu", ["host-x86_64-unknown-linux-gnu-", "host-x86_64-unknown-linux-gnu-"]),
            (
                "hip-spirv64-amd-amdhsa--amdgcnspirv",
                ["hip-spirv64-amd-amdhsa--amdgcnspirv", "hip-spirv64-amd-amdhsa--amdgcnspirv"],
            ),
        ];
        for (id, [legacy, subarch]) in rows {
            let parsed = BundleEntryId::parse(id).unwrap();
            let spelled = |style: IdStyle| style.id(&parsed).unwrap();
            assert_eq!((spelled(IdStyle::Legacy).as_str(), spelled(IdStyle::Subarch).as_str()), (legacy, subarch));
            assert_eq!(spelled(IdStyle::AsGiven), parsed.canonical(), "{id}");
        }
    }

    #[test]
    fn a_former_processor_has_no_subarchitecture() {
        let id = BundleEntryId::parse("hip-amdgcn-amd-amdhsa--gfx940:xnack+").unwrap();
        let message = IdStyle::Subarch.id(&id).unwrap_err().to_string();
        assert_eq!(message, "gfx940:xnack+ has no amdgpu triple");
    }

    #[test]
    fn names_round_trip() {
        for style in IdStyle::ALL {
            assert_eq!(IdStyle::from_name(style.name()), Some(style));
        }
        assert_eq!(IdStyle::from_name("amdgpu"), None);
    }
}
