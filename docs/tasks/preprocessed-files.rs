//! mozilla/sccache#2762: the files that `clang -E --offload-compress` has read for each target, although its output is a
//! compressed bundle. Usage: preprocessed-files OUTPUT_OF_CLANG

use std::collections::BTreeSet;
use std::error::Error;

use fatbin::embed::unbundle;
use fatbin::{Access, Input};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: preprocessed-files OUTPUT_OF_CLANG")?;
    for entry in unbundle(&Input::open(path, Access::read())?)? {
        let text = String::from_utf8_lossy(&entry.bytes);
        let markers = text.lines().filter_map(|line| line.strip_prefix("# ")?.split('"').nth(1));
        for file in markers.filter(|file| !file.starts_with('<')).collect::<BTreeSet<_>>() {
            println!("{} {file}", entry.id);
        }
    }
    Ok(())
}
