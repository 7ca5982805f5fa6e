//! Writes the device images for one arch into a directory: `cargo run --example extract FILE ARCH DIRECTORY`

use std::error::Error;
use std::path::Path;

use fatbin::{Access, Input, Scan};

/// Writes the images of `path` for `arch` into `directory`, and returns how many there are.
pub fn extract(path: &Path, arch: &str, directory: &Path) -> Result<usize, Box<dyn Error>> {
    let input = Input::open(path, Access::read())?;
    let scan = Scan::new(&input)?;
    let mut count = 0;
    for image in scan.images().filter(|image| image.image().arch.as_deref() == Some(arch)) {
        let extension = image.image().extension();
        let bytes = image.bytes().map_err(|error| error.in_file(path))?;
        std::fs::write(directory.join(format!("{}.{extension}", image.index())), &*bytes)?;
        count += 1;
    }
    Ok(count)
}

fn main() -> Result<(), Box<dyn Error>> {
    let [path, arch, directory] = std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "3 arguments")?;
    println!("{} images", extract(path.as_ref(), &arch, directory.as_ref())?);
    Ok(())
}
