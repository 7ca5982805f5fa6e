//! Counts the device images for each arch in files, directories and packages: `cargo run --example scan PATH...`

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;

use fatbin::Scanner;

/// Returns the number of images for each arch. Paths that cannot be read are an error.
pub fn count(paths: &[PathBuf]) -> Result<BTreeMap<String, usize>, Box<dyn Error>> {
    let mut counts = BTreeMap::new();
    for scanned in Scanner::default().scan(paths) {
        for image in scanned?.file().device_images() {
            *counts.entry(image.arch.clone().unwrap_or_default()).or_default() += 1;
        }
    }
    Ok(counts)
}

fn main() -> Result<(), Box<dyn Error>> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    for (arch, images) in count(&paths)? {
        println!("{arch:12} {images}");
    }
    Ok(())
}
