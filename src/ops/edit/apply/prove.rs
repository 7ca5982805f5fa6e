//! The proof of the files that were written.

use super::part::Part;
use super::tree::{Edits, Leaf};
use super::{EditedInput, Job};
use crate::edit::proof::{Change, unchanged_bytes};
use crate::edit::{EditError, ProofError, Result};
use fatbin_core::base::bytes::size_of_range;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::base::io::Input;
use fatbin_core::scan::{CacheBudget, Options, Scan};

impl Job<'_> {
    /// Proves the edits of an input that were written to another, and visits each file.
    pub fn prove(&self, edits: &Edits<'_>, before: &Input, after: &Input, path: &FilePath) -> Result<()> {
        let layout = edits.patches.layout();
        let [old, new] = [before, after].map(|input| Part::whole(path.clone(), input));
        let unproven = |cause| EditError::Unproven { path: path.printed().into(), cause };
        unchanged_bytes(&old, &new, &layout).map_err(unproven)?;
        for Leaf { scan, edited } in &edits.leaves {
            let range = scan.source().range();
            let size = edited.layout.new_size(size_of_range(&range));
            let path = &scan.file().path;
            let place = new.cut(path.clone(), layout.new_offset(range.start), size);
            let unproven = |cause| EditError::Unproven { path: path.printed().into(), cause };
            let place = place.map_err(|cause| unproven(ProofError::Unreadable(cause)))?;
            let after = Scan::with_options(place, Options::default(), Some(&CacheBudget::default()))?;
            let devices = self.rule.devices(scan.file());
            let other_targets = self.rule.changes_targets();
            let change = Change { before: scan, after: &after, edited, other_targets };
            let proof = change.prove(&devices).map_err(unproven)?;
            (self.visit.borrow_mut())(EditedInput { scan, edited, new_file: after.file(), proof: &proof });
        }
        after.check_unchanged()?;
        before.check_unchanged().map_err(|error| EditError::from(error).in_file(path.printed()))
    }
}
