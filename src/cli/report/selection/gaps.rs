//! Choices where a runtime selects nothing on a device, with the kernels that the device does not get.

use std::collections::BTreeSet;

use crate::report::text::{counted, printable};
use fatbin_core::base::json::JsonWriter;
use fatbin_core::image::family;
use fatbin_ops::analyze::select::SelectionGap;

/// Number of families of kernels that are listed.
const LISTED: usize = 8;

/// Choices with code for the same processors where nothing is selected, and the kernels in them.
#[derive(Debug)]
pub struct KernelGap<'a> {
    /// The choices.
    pub gap: SelectionGap<'a>,
    /// Names of the kernels.
    pub kernels: BTreeSet<String>,
}

/// Returns a line for each gap, and one for the families of its kernels.
pub fn selection_gaps(gaps: &[KernelGap<'_>]) -> String {
    gaps.iter().map(lines).collect()
}

fn lines(KernelGap { gap, kernels }: &KernelGap<'_>) -> String {
    let archs: Vec<String> = gap.archs.iter().map(|arch| printable(arch)).collect();
    let code = if archs.is_empty() {
        "code of unknown processors".to_owned()
    } else {
        format!("code for {}", archs.join(", "))
    };
    let mut text = format!("  nothing in {} with {code} only\n", counted(gap.choices, "choice"));
    let families: BTreeSet<String> = kernels.iter().map(|name| family(name)).collect();
    if !families.is_empty() {
        let listed: Vec<String> = families.iter().take(LISTED).map(|name| printable(name)).collect();
        let more = families.iter().skip(LISTED).count();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        text += &format!("    {}: {}{more}\n", counted(kernels.len(), "kernel"), listed.join(", "));
    }
    text
}

/// Writes a gap.
pub fn write_gap(json: &mut JsonWriter, KernelGap { gap, kernels }: &KernelGap<'_>) {
    json.field("archs", &gap.archs);
    json.field("choices", gap.choices);
    json.field("kernels", kernels);
}
