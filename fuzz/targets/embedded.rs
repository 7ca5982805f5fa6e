//! Searches arbitrary bytes for images without a container. An image lies within the bytes, is found again in its own bytes
//! with the same extent, and is found in text only where it is found in data.

#![no_main]

use fatbin::View;
use fatbin_core::format::embedded::{HINTS, Region, at_start};
use fatbin_fuzz::{budget, fuzz_target};

fuzz_target!(|data: &[u8]| {
    let budget = budget(data);
    let view = View::with_budget(data, &budget);
    let region = |may_hold_text| Region { view, may_hold_text };
    for at in 0..data.len() {
        for hint in HINTS.iter().filter(|hint| data[at..].starts_with(hint.bytes)) {
            let found = (hint.find)(region(true), at as u64);
            let strict = (hint.find)(region(false), at as u64);
            if budget.exhaustion().is_some() {
                return;
            }
            let Ok(image) = found else {
                assert!(strict.is_err(), "text at {at}");
                continue;
            };
            let range = image.view.range_in(view);
            if image.symbol.is_some() {
                // Behind the record of `fatbin embed`.
                assert!(range.start > at as u64 && range.end <= view.size(), "{range:?}");
                continue;
            }
            assert!(range.start <= at as u64 && range.end <= view.size() && range.end > at as u64, "{range:?}");
            let own = Region { view: View::new(image.view.data()), may_hold_text: true };
            let again = at_start(own).expect("the image without what is around it");
            assert_eq!(again.view.size(), image.view.size());
            assert_eq!(image.container().images().len(), 1);
        }
    }
});
