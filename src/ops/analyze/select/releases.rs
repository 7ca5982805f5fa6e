//! Selections of earlier releases of a runtime.

use super::{CandidateSet, DriverCheck, Preference, Runtime, Selection};
use crate::analyze::requires::CodeProperty;
use fatbin_core::format::ImageKind;
use fatbin_core::target::Device;

impl CandidateSet<'_> {
    /// Returns the images that earlier releases of the runtime select, where they differ: the newest such release.
    pub fn select_on_earlier_release(&self, device: &Device) -> Option<(&'static Runtime, Selection)> {
        self.select_with_earlier_release(device, None)
    }

    /// Like [`Self::select_on_earlier_release`], with a driver of NVIDIA.
    pub fn select_with_earlier_release(
        &self,
        device: &Device,
        check: Option<DriverCheck<'_>>,
    ) -> Option<(&'static Runtime, Selection)> {
        self.select_with_earlier_releases(device, check).into_iter().next()
    }

    /// Returns the images that the runtime selects with an old driver of NVIDIA. Floors are about old drivers.
    pub(super) fn select_on_old_driver(&self, device: &Device) -> Selection {
        self.select_by(self.runtime.on_old_driver(), device, None)
    }

    /// Returns the selections of all earlier releases that differ from the current selection, the newest first.
    pub(super) fn select_with_earlier_releases(
        &self,
        device: &Device,
        check: Option<DriverCheck<'_>>,
    ) -> Vec<(&'static Runtime, Selection)> {
        if !self.may_differ() {
            return Vec::new();
        }
        let current = self.select_with(device, check).selected;
        let mut selections = Vec::new();
        for &earlier in self.runtime.earlier {
            // Only parts that were measured are known to load such code, or not to load it.
            let parts = if self.has_limited_code(device) { earlier.parts } else { &[] };
            let releases = if parts.is_empty() { std::slice::from_ref(&earlier) } else { parts };
            selections.extend(releases.iter().map(|&release| (release, self.select_by(release, device, check))));
        }
        selections.retain(|(_, selection)| selection.selected != current);
        selections
    }

    /// Returns whether earlier releases may select another image. Files may have many thousands of sets.
    fn may_differ(&self) -> bool {
        match self.runtime.preference {
            _ if self.runtime.earlier.is_empty() => false,
            Preference::Nearest { .. } => self.has_equal_ptx(),
            Preference::Best => self.candidates.iter().any(|it| {
                let earlier = self.runtime.earlier.iter();
                let mut loaders = earlier.filter_map(|runtime| runtime.loader);
                let properties = CodeProperty::of(it.image);
                it.image.image_kind == ImageKind::SpirV
                    || loaders.any(|loader| properties.iter().any(|property| loader.refuses(*property)))
            }),
            _ => true,
        }
    }

    /// Returns whether any image for the platform has a property that not every release supports.
    fn has_limited_code(&self, device: &Device) -> bool {
        let candidates = self.candidates.iter().filter(|it| it.platform() == Some(device.platform()));
        candidates.flat_map(|it| CodeProperty::of(it.image)).any(CodeProperty::is_limited)
    }
}
