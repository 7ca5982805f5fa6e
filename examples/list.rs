//! Lists the device images of files: `cargo run --example list FILE...`

use std::error::Error;
use std::io::{self, Write};

use fatbin::{Access, Input, OffloadKind, Scan};

/// Lists the device images of one file.
pub fn list(path: &str, to: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let input = Input::open(path, Access::read())?;
    for image in Scan::new(&input)?.images() {
        let entry = image.image();
        let [kind, triple, arch] = [entry.kind.map(OffloadKind::name), entry.triple.as_deref(), entry.arch.as_deref()]
            .map(|field| field.unwrap_or("-"));
        writeln!(to, "{path}: {kind} {triple} {arch}, {} bytes", entry.decompressed_size().unwrap_or_default())?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    std::env::args().skip(1).try_for_each(|path| list(&path, &mut io::stdout()))
}
