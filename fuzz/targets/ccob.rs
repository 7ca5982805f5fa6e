//! Reads arbitrary bytes as a compressed bundle. Decompression as a whole and in pieces must agree, and recompression must
//! round-trip.

#![no_main]

use std::convert::Infallible;

use fatbin::View;
use fatbin_core::base::codec::Compression;
use fatbin_core::base::content::Content;
use fatbin_core::format::ccob::{Ccob, Version, compress, container};
use fatbin_fuzz::fuzz_target;

/// A few kilobytes can decompress to gigabytes, which would only slow the fuzzer down.
const LARGEST: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    fatbin_fuzz::check_container(data, container);

    let Ok(ccob) = Ccob::read(View::new(data)) else { return };
    fatbin_fuzz::check_view(data, ccob.stored);
    if ccob.full_size > LARGEST {
        return;
    }
    let whole = ccob.decompress();
    assert_eq!(whole.is_ok(), pieces(&ccob).is_some(), "the pieces differ from the whole");
    let Ok(whole) = whole else { return };
    assert_eq!(pieces(&ccob), Some(whole.clone()), "the pieces differ from the whole");
    for version in [Version::Two, Version::Three] {
        let mut stream = Vec::new();
        let content = Content::from(&whole[..]);
        let written =
            compress(&content, Compression::new(ccob.codec), version, &mut stream, &mut |_| ()).expect("it is small");
        let bytes = [written.header, stream].concat();
        let again = Ccob::read(View::new(&bytes)).expect("a written bundle can be read");
        assert_eq!(again.hash.value, ccob.hash.value);
        assert_eq!(again.decompress().expect("a written bundle can be decompressed"), whole);
    }
});

fn pieces(ccob: &Ccob) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    let result = ccob.each_piece(|piece| {
        all.extend_from_slice(piece);
        Ok::<_, Infallible>(())
    });
    result.ok().map(|()| all)
}
