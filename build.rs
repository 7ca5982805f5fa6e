//! Compresses the long texts of the program: pages of the book, and parts of what it writes. They take a quarter of
//! their size.

use std::env::var_os;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Directories with texts. Their names are in the names of the texts.
const DIRECTORIES: [&str; 7] = [
    "docs/tasks",
    "docs/guide",
    "docs/formats",
    "docs/errors",
    "src/cli/report/schemas",
    "src/cli/report/page",
    "src/cli/report/page/scripts",
];
/// One more page. `fatbin help COMMAND` needs none, because it prints the options.
const FEATURES: &str = "docs/features.md";
const EXTENSIONS: [&str; 5] = ["css", "html", "js", "json", "md"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={FEATURES}");
    let mut files = Vec::new();
    for directory in DIRECTORIES {
        println!("cargo::rerun-if-changed={directory}");
        files.extend(texts(Path::new(directory))?);
    }
    files.push(PathBuf::from(FEATURES));
    let output = PathBuf::from(var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("texts");
    let mut encoder = ZlibEncoder::new(fs::File::create(output)?, Compression::best());
    for file in files {
        // The name of the text and the text, each terminated by a NUL.
        write!(encoder, "{}\0{}\0", name(&file), fs::read_to_string(&file)?)?;
    }
    encoder.finish()?.sync_all()
}

/// Returns the name of the directory and of the file; the path below `docs` for a page.
fn name(file: &Path) -> String {
    let page = file.strip_prefix("docs").map(|path| path.with_extension(""));
    let start = file.parent().and_then(Path::parent).expect("directories are in a directory");
    let name = page.unwrap_or_else(|_| file.strip_prefix(start).expect("the start of the path").to_owned());
    name.to_str().expect("a name in UTF-8").to_owned()
}

/// Returns the texts in a directory, sorted: the program must not depend on the order of directory entries.
fn texts(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known)) {
            texts.push(path);
        }
    }
    texts.sort();
    Ok(texts)
}
