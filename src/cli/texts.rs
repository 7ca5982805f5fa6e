//! Long texts, as `build.rs` has compressed them.

use std::io::Read;
use std::sync::LazyLock;

use flate2::read::ZlibDecoder;

/// Names and texts, each terminated by a NUL.
static COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/texts"));

/// Returns the names and the texts.
pub fn texts() -> impl Iterator<Item = (&'static str, &'static str)> {
    static TEXTS: LazyLock<String> = LazyLock::new(|| {
        let mut text = String::new();
        ZlibDecoder::new(COMPRESSED).read_to_string(&mut text).expect("build.rs writes a whole stream");
        text
    });
    let mut parts = TEXTS.split_terminator('\0');
    std::iter::from_fn(move || Some((parts.next()?, parts.next()?)))
}

/// Returns the text with a name.
pub fn text(name: &str) -> &'static str {
    texts().find(|(known, _)| *known == name).expect("the name of a text").1
}
