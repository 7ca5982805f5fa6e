//! Wraps images in memory into a host object on standard output: `cargo run --example wrap KERNELS > kernels.o`

use std::io::{self, Write};

use fatbin::Host;
use fatbin::{OffloadKind, WrapperBuilder};

/// Writes an OpenMP host object for AArch64 with one image.
pub fn wrap(name: &str, image: &[u8], to: &mut impl Write) -> Result<(), Box<dyn std::error::Error>> {
    let mut wrapper = WrapperBuilder::new(OffloadKind::OpenMp, Host::Aarch64.triple())?;
    wrapper.image(name, image);
    Ok(wrapper.write_to(to)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: wrap IMAGE")?;
    wrap(&path, &std::fs::read(&path)?, &mut io::stdout())
}
