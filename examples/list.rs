//! Lists the device images of files: `cargo run --example list FILE...`

use std::io::{self, Write};

use fatbin::io::{Access, Input};
use fatbin::scan::Scan;

pub fn list(path: &str, to: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    let input = Input::open(path, Access::read())?;
    for image in Scan::new(&input)?.file().device_images() {
        let [kind, triple, arch] = [image.kind.map(|kind| kind.name()), image.triple.as_deref(), image.arch.as_deref()]
            .map(|field| field.unwrap_or("-"));
        writeln!(to, "{path}: {kind} {triple} {arch}, {} bytes", image.whole_size().unwrap_or_default())?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    std::env::args().skip(1).try_for_each(|path| list(&path, &mut io::stdout()))
}
