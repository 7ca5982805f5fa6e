//! Prints which image each runtime would load on a device: `cargo run --example select FILE DEVICE`

use std::error::Error;
use std::io::{self, Write};

use fatbin::analyze::select;
use fatbin::target::Device;
use fatbin::{Access, Input, Scan};

/// Prints the image that each runtime selects. A name that leaves settings open stands for several devices.
pub fn print_selections(path: &str, device: &str, to: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let input = Input::open(path, Access::read())?;
    let scan = Scan::new(&input)?;
    for selection in select(scan.file(), &Device::parse(device)?) {
        match selection.selected() {
            Some(image) => writeln!(to, "{path}: {} selects image {}", selection.runtime, image.index)?,
            None => writeln!(to, "{path}: {} selects no image", selection.runtime)?,
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(device)) = (arguments.next(), arguments.next()) else { return Err("2 arguments".into()) };
    print_selections(&path, &device, &mut io::stdout())
}
