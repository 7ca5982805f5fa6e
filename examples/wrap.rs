//! Wraps an image into a host object on standard output: `cargo run --example wrap IMAGE > image.o`

use std::error::Error;
use std::io::{self, Write};

use fatbin::{Host, OffloadKind, WrapperBuilder};

/// Writes an OpenMP host object for AArch64 with one image.
pub fn wrap(name: &str, image: &[u8], to: &mut impl Write) -> Result<(), Box<dyn Error>> {
    WrapperBuilder::new(OffloadKind::OpenMp, Host::Aarch64).image(name, image).write_to(to)?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: wrap IMAGE")?;
    wrap(&path, &std::fs::read(&path)?, &mut io::stdout())
}
