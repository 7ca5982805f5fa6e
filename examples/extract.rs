//! Writes the device images for one arch into a directory: `cargo run --example extract FILE ARCH DIRECTORY`

use std::error::Error;
use std::path::Path;

use fatbin::{Access, Input, Scan};

/// Writes the images of `path` for `arch` into `directory`, and returns how many there are.
pub fn extract(path: &Path, arch: &str, directory: &Path) -> Result<usize, Box<dyn Error>> {
    let input = Input::open(path, Access::read())?;
    let mut count = 0;
    for image in Scan::new(&input)?.images().filter(|image| image.arch.as_deref() == Some(arch)) {
        let name = format!("{}.{}", image.index(), image.extension());
        std::fs::write(directory.join(name), &*image.bytes()?)?;
        count += 1;
    }
    Ok(count)
}

fn main() -> Result<(), Box<dyn Error>> {
    let [path, arch, directory] = std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "3 arguments")?;
    println!("{} images", extract(path.as_ref(), &arch, directory.as_ref())?);
    Ok(())
}
