//! Reads arbitrary bytes as files of code objects of ROCm's libraries, in their stored and their decompressed form.

#![no_main]

use fatbin::View;
use fatbin_core::base::archive::{MemberContent, Members};
use fatbin_core::format::kernel_store::members;
use fatbin_fuzz::{Bounded, fuzz_target};

/// Bytes to unpack from one input: a few kilobytes can hold gigabytes.
const MOST_UNPACKED: usize = 1 << 20;
/// Members to unpack.
const MOST_MEMBERS: usize = 100;

fuzz_target!(|data: &[u8]| {
    let full = open(data);
    if let Some(full) = full.filter(|_| data.starts_with(b"AKS2")) {
        open(&full);
    }
});

/// Unpacks the members, and returns the bytes of the first.
fn open(data: &[u8]) -> Option<Vec<u8>> {
    let budget = fatbin_fuzz::budget(data);
    let Members { members: found, defect } = members(View::with_budget(data, &budget))?;
    if let Some(defect) = defect {
        fatbin_fuzz::check_text(&defect.to_string());
    }
    let mut first = None;
    for member in found.into_iter().take(MOST_MEMBERS) {
        match member.content {
            MemberContent::Here(content) => {
                fatbin_fuzz::check_view(data, content);
            }
            MemberContent::Packed(unpack) => {
                let mut unpacked = Bounded { bytes: Vec::new(), left: MOST_UNPACKED };
                if unpack(&mut unpacked).is_ok() {
                    first = first.or(Some(unpacked.bytes));
                }
            }
            other => panic!("{other:?}"),
        }
    }
    first
}
