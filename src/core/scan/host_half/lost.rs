//! Device code that was lost in the link: the program launches kernels, and registers no image.

use super::entries;
use super::imports::{HostRuntime, Imports};
use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};
use crate::scan::structure::Structure;

/// Returns the tables of entries of a linked file that no code registers. `imports` are those of its hosts.
pub fn defects(view: View<'_>, structure: &Structure<'_>, imports: &[Imports<'_>]) -> Vec<Malformed> {
    if structure.is_object {
        return Vec::new();
    }
    let mut defects = Vec::new();
    for table in entries::tables(view, structure) {
        for imports in imports {
            let is_lost = |runtime: &&HostRuntime| imports.launch(**runtime).is_some() && !imports.registers(**runtime);
            let launch = table.runtimes.iter().find(is_lost).and_then(|runtime| imports.launch(*runtime));
            // Entries of another kind in the same table are registered.
            let is_registered = table.runtimes.iter().any(|runtime| imports.registers(*runtime));
            if let (Some(launch), false) = (launch, is_registered) {
                let cause = Cause::LostDeviceCode { entries: table.count(), launch };
                defects.push(Malformed::new("offload entries", table.range.start, cause));
            }
        }
    }
    defects
}
