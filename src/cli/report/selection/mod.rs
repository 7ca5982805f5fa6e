//! Results of `select` as text and as JSON: for each candidate set the selected image and the reasons against the others.

mod gaps;
mod json;
mod kpack;
mod set;
mod set_json;
mod text;

pub use gaps::{KernelGap, selection_gaps};
pub use json::selection_json;
pub use set::set_text;
pub use set_json::set_json;
pub use text::{selection_lists, selection_summary, selection_total};

use crate::report::text::printable;
use fatbin_core::scan::inventory::{CodeRole, File};
use fatbin_core::target::Platform;
use fatbin_ops::analyze::select::relocatable_archs;

/// Returns the answer about relocatable code of an object, if it has some for a platform.
pub fn to_be_linked(file: &File, platform: Platform) -> Option<String> {
    let archs = relocatable_archs(file, CodeRole::LinkInput, platform);
    (!archs.is_empty()).then(|| format!("relocatable code for {}, to be linked first", listed(&archs)))
}

fn listed(archs: &[String]) -> String {
    archs.iter().map(|arch| printable(arch)).collect::<Vec<_>>().join(", ")
}
