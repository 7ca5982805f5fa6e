//! Work of selecting from the images of a file on many devices, charged to the budget of the file: a file of a hundred
//! kilobytes has code for a thousand devices, and each image is judged on each.

use super::CandidateSet;
use fatbin_core::base::bytes::{Budget, Resource};
use fatbin_core::base::error::Cause;

/// Steps of work of judging an image on a device.
const STEPS: u64 = 2;

impl CandidateSet<'_> {
    /// Charges `selections` selections from the set.
    pub fn charge(&self, selections: usize, budget: &Budget) -> Result<(), Cause> {
        let judged = (self.candidates.len() as u64).saturating_mul(selections as u64);
        budget.charge(Resource::Work, judged.saturating_mul(STEPS))
    }
}
