//! Compresses the pages that `fatbin help` prints. Their text is 1.5 % of the program; compressed, it takes a third of
//! that.

use std::env::var_os;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Directories below `docs` with pages for users, and one more page. `fatbin help COMMAND` needs none, because it
/// prints the options.
const CHAPTERS: [&str; 3] = ["tasks", "guide", "formats"];
const FEATURES: &str = "features";

fn main() -> io::Result<()> {
    let docs = Path::new("docs");
    println!("cargo::rerun-if-changed=build.rs");
    let features = docs.join(FEATURES).with_extension("md");
    println!("cargo::rerun-if-changed={}", features.display());
    for chapter in CHAPTERS {
        println!("cargo::rerun-if-changed={}", docs.join(chapter).display());
    }
    if var_os("CARGO_FEATURE_CLI").is_none() {
        return Ok(());
    }
    let output = PathBuf::from(var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("pages");
    let mut encoder = ZlibEncoder::new(fs::File::create(output)?, Compression::best());
    for chapter in CHAPTERS {
        for page in pages(&docs.join(chapter))? {
            // The path of the page and its text, each terminated by a NUL.
            let name = page.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8");
            write!(encoder, "{chapter}/{name}\0{}\0", fs::read_to_string(&page)?)?;
        }
    }
    write!(encoder, "{FEATURES}\0{}\0", fs::read_to_string(features)?)?;
    encoder.finish()?.sync_all()
}

/// Returns the pages of a directory, sorted: the program must not depend on the order of directory entries.
fn pages(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    Ok(pages)
}
