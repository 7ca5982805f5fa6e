//! Reads arbitrary bytes as a host object. Added sections must be found, and removing them must restore the object.

#![no_main]

use fatbin::View;
use fatbin_core::host::rewrite::{NewSection, sections_named, with_sections, without_sections};
use fatbin_fuzz::fuzz_target;

/// A prefix of the most section names, and one of no name.
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
        // The object already has such a section.
        return;
    }
    let larger = larger.to_vec();
    // Damaged tables may make the object unreadable for others, but not for fatbin.
    let smaller = without_sections(View::new(&larger), PREFIXES[1]).expect("added sections can be removed").to_vec();
    let again = with_sections(View::new(&smaller), &new).expect("removed sections can be added again");
    // Overlapping damaged tables are copied instead of replaced, but only once.
    assert!(again.size() <= (larger.len() + data.len()) as u64, "the object grows with each round trip");
});
