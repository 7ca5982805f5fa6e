//! Lists the device images of files: `cargo run --example list FILE...`

use std::error::Error;
use std::io::{self, Write};

use fatbin::{Access, Input, OffloadKind, Scan};

/// Lists the device images of one file.
pub fn list(path: &str, to: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let input = Input::open(path, Access::read())?;
    for image in Scan::new(&input)?.images() {
        let kind = image.kind.map_or("-", OffloadKind::name);
        let triple = image.triple.as_deref().unwrap_or("-");
        let arch = image.arch.as_deref().unwrap_or("-");
        writeln!(to, "{path}: {kind} {triple} {arch}, {} bytes", image.bytes()?.len())?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    std::env::args().skip(1).try_for_each(|path| list(&path, &mut io::stdout()))
}
