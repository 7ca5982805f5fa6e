//! Reads arbitrary bytes as an artifact bundle of cuda-oxide, and writes them into one, which must round-trip.

#![no_main]

use fatbin::View;
use fatbin_core::format::oxart::{OxartBundle, OxartEntrySpec, OxartPayloadSpec, OxartSpec, container, write};
use fatbin_fuzz::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fatbin_fuzz::check_container(data, container);
    if let Ok(bundle) = OxartBundle::read(View::new(data)) {
        // Written again, a bundle has the same contents.
        let payload =
            |it: &fatbin_core::format::oxart::OxartPayload<'_>| (it.kind, it.name.to_owned(), it.data.data().to_vec());
        let payloads: Vec<_> = bundle.payloads.iter().map(payload).collect();
        let specs: Vec<_> =
            payloads.iter().map(|(kind, name, data)| OxartPayloadSpec { kind: *kind, name, data }).collect();
        let entries: Vec<_> = bundle
            .entries
            .iter()
            .map(|it| OxartEntrySpec { kind: it.kind, symbol: it.symbol, metadata: it.metadata })
            .collect();
        let OxartBundle { name, target, options, .. } = bundle;
        let spec = OxartSpec { name, target, options, payloads: &specs, entries: &entries };
        // Names may share bytes, so the written bundle may be larger.
        if let Some(bytes) = write(&spec).map(|content| content.to_vec()) {
            let again = OxartBundle::read(View::new(&bytes)).expect("a written bundle can be read");
            assert_eq!((again.name, again.target, again.options), (name, target, options));
            assert_eq!(again.entries, bundle.entries);
            assert!(again.payloads.iter().map(payload).eq(payloads.iter().cloned()));
        }
    }
});
