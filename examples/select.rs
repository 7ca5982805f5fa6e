//! Prints which image each runtime would select on a device: `cargo run --example select FILE DEVICE`

use std::error::Error;
use std::io::{self, Write};

use fatbin::analyze::candidate_sets;
use fatbin::target::Device;
use fatbin::{Access, Input, Scan};

/// Prints the selected image of each set of candidates. A name that leaves settings open stands for several devices.
pub fn select(path: &str, device: &str, to: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let input = Input::open(path, Access::read())?;
    let scan = Scan::new(&input)?;
    for device in Device::parse(device)? {
        for set in candidate_sets(scan.file()) {
            let selected = set.select_on(&device).selected.map(|(candidate, _)| set.candidates[candidate].number);
            let image = selected.map_or_else(|| "no image".to_owned(), |number| format!("image {number}"));
            writeln!(to, "{path}: {} selects {image}", set.runtime.name)?;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(device)) = (arguments.next(), arguments.next()) else { return Err("2 arguments".into()) };
    select(&path, &device, &mut io::stdout())
}
