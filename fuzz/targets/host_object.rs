//! Any bytes as a host object: sections that are added are found, and taken out again they leave what was there.

#![no_main]

use fatbin::bytes::View;
use fatbin::rewrite::{NewSection, sections_named, with_sections, without_sections};
use libfuzzer_sys::fuzz_target;

/// A prefix of names that the input has, if any does, and one that none has.
const PREFIXES: [&[u8]; 2] = [b".", b"\x01prefix of nothing"];

fuzz_target!(|data: &[u8]| {
    let object = View::new(data);
    for prefix in PREFIXES {
        if let Ok(sections) = sections_named(object, prefix) {
            for section in sections {
                fatbin_fuzz::check_view(data, section.content);
            }
        }
        let _ = without_sections(object, prefix);
    }

    let new = [("\x01prefix of nothing.one", &b"one"[..]), ("\x01prefix of nothing.none", b"")];
    let new = new.map(|(name, content)| NewSection { name, content });
    let Ok(larger) = with_sections(object, &new) else { return };
    if without_sections(object, PREFIXES[1]).map(|content| content.to_vec()).as_deref() != Ok(data) {
        // It has such a section already.
        return;
    }
    let larger = larger.to_vec();
    // What was hidden in the object's damaged tables may make it unreadable for others, but not for us.
    let smaller = without_sections(View::new(&larger), PREFIXES[1]).expect("what was added can be taken out").to_vec();
    let again = with_sections(View::new(&smaller), &new).expect("and added once more");
    // Where damaged tables lie across one another they are copied instead of replaced, but no more than once.
    assert!(again.size() <= (larger.len() + data.len()) as u64, "it grows");
});
