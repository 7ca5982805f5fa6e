//! Reads arbitrary bytes as a kpack archive and as a marker, and writes them into an archive, which must round-trip.

#![no_main]

use fatbin::View;
use fatbin_core::format::kpack::{KpackArchive, KpackMarker, KpackMember, KpackProperties, container, write};
use fatbin_fuzz::fuzz_target;

fuzz_target!(|data: &[u8]| {
    fatbin_fuzz::check_container(data, container);
    if let Ok(archive) = KpackArchive::read(View::new(data)) {
        let _ = archive.defects();
    }

    if let Ok(marker) = KpackMarker::read(View::new(data)) {
        let bytes = marker.to_bytes();
        if bytes.len() <= 64 << 10 {
            assert_eq!(KpackMarker::read(View::new(&bytes)).as_ref(), Ok(&marker));
        }
    }

    let text = String::from_utf8_lossy(&data[..data.len().min(300)]);
    let properties = KpackProperties { group_name: &text, family: &text, arches: &["gfx90a", &text] };
    let [first, second] = ["gfx90a", &text].map(|arch| KpackMember { key: &text, arch, image: data });
    for level in [None, Some(1)] {
        let bytes = write(&properties, &[first, second, first], level).expect("the sizes fit").to_vec();
        let read = container(View::new(&bytes)).expect("a written archive can be read");
        assert_eq!(read.view.size(), bytes.len() as u64);
        for image in read.images() {
            assert_eq!(image.id, Some(&*text));
            let own = image.bytes().expect("a written image can be decompressed");
            assert!(data.starts_with(&own));
        }
    }
});
