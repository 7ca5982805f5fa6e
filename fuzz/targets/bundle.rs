//! Any bytes as a bundle; what can be read is written again, in both alignments in use, and must read as the same.

#![no_main]

use fatbin::bytes::View;
use fatbin::format::bundle::{Bundle, container, write};
use libfuzzer_sys::fuzz_target;

/// Entries may share their bytes, so that a few kilobytes read as gigabytes of images, which are not written out here.
const LARGEST_WRITTEN: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    fatbin_fuzz::check_container(data, container);

    let Ok(bundle) = Bundle::read(View::new(data)) else { return };
    if bundle.entries.iter().map(|entry| entry.code_object.size()).sum::<u64>() > LARGEST_WRITTEN {
        return;
    }
    let entries: Vec<_> = bundle.entries.iter().map(|entry| (entry.text, entry.code_object.data())).collect();
    for alignment in [1, 4096] {
        // Each entry may cost a page of padding.
        if entries.len() as u64 * alignment > LARGEST_WRITTEN {
            continue;
        }
        let bytes = write(&entries, alignment).expect("entries that are in memory leave room for a header").to_vec();
        let again = Bundle::read(View::new(&bytes)).expect("what was written can be read");
        let found: Vec<_> = again.entries.iter().map(|entry| (entry.text, entry.code_object.data())).collect();
        assert_eq!(found, entries);
        assert!(again.entries.iter().all(|entry| entry.code_object.start() % alignment == 0));
        assert_eq!(again.view.size(), bytes.len() as u64);
    }
});
