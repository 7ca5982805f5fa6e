//! Reads arbitrary bytes as a file that `fatbin embed` has embedded, and reads it again after it was written.

#![no_main]

use fatbin::View;
use fatbin_core::format::embed_record::{read, record};
use fatbin_fuzz::{budget, fuzz_target};

fuzz_target!(|data: &[u8]| {
    let budget = budget(data);
    let Ok(file) = read(View::with_budget(data, &budget)) else { return };
    let (start, end) = (file.view.start() as usize, file.view.range().end as usize);
    assert_eq!(&data[start..end], file.view.data());
    assert_eq!((data[end], file.whole.range().end as usize), (0, end + 1));
    let written = [&record(file.name, file.view.size(), 64)[..], file.view.data(), b"\0rest"].concat();
    let again = read(View::new(&written)).expect("a written record can be read");
    assert_eq!((again.name, again.view.data()), (file.name, file.view.data()));
});
