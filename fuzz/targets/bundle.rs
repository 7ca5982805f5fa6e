//! Reads arbitrary bytes as a bundle, binary or text. A readable bundle is written again, binary ones in both common
//! alignments, and must read as the same bundle.

#![no_main]

use fatbin::View;
use fatbin_core::format::bundle::{Bundle, BundleIndex, COMMENTS, container, text, write};
use fatbin_fuzz::fuzz_target;

/// Alignment can make a bundle of many entries large.
const LARGEST_WRITTEN: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    fatbin_fuzz::check_container(data, container);
    check_texts(data);

    let Ok(bundle) = Bundle::read(View::new(data)) else { return };
    let index = BundleIndex::read(View::new(data), data.len() as u64).expect("the bundle was just read");
    assert_eq!(index.size, bundle.view.size());
    let entries: Vec<_> = bundle.entries.iter().map(|entry| (entry.text, entry.code_object.data())).collect();
    for alignment in [1, 4096] {
        // Each entry may cost a page of padding.
        if entries.len() as u64 * alignment > LARGEST_WRITTEN {
            continue;
        }
        let bytes = write(&entries, alignment).expect("the header fits").to_vec();
        let again = Bundle::read(View::new(&bytes)).expect("a written bundle can be read");
        let found: Vec<_> = again.entries.iter().map(|entry| (entry.text, entry.code_object.data())).collect();
        assert_eq!(found, entries);
        assert!(again.entries.iter().all(|entry| entry.code_object.start() % alignment == 0));
        assert_eq!(again.view.size(), bytes.len() as u64);
    }
});

fn check_texts(data: &[u8]) {
    let Ok(Some(entries)) = text::read(View::new(data), &text::marks(data), &COMMENTS) else { return };
    for entry in &entries {
        fatbin_fuzz::check_view(data, entry.code_object);
    }
    let entries: Vec<_> = entries.iter().map(|entry| (entry.text, entry.code_object.data())).collect();
    for comment in COMMENTS {
        // A file that contains an end marker cannot be distinguished from several files.
        let marker = [b"\n", &text::end_marker(comment)[..]].concat();
        if entries.iter().any(|(_, file)| contains(&[b"\n", *file].concat(), &marker)) {
            continue;
        }
        let bytes = text::write(&entries, comment).to_vec();
        let again =
            text::read(View::new(&bytes), &text::marks(&bytes), &[comment]).expect("a written bundle can be read");
        let again = again.unwrap_or_default();
        let again: Vec<_> = again.iter().map(|entry| (entry.text, entry.code_object.data())).collect();
        assert_eq!(again, entries);
    }
}

fn contains(file: &[u8], part: &[u8]) -> bool {
    file.windows(part.len()).any(|window| window == part)
}
