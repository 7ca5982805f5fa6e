//! Packs images into a CUDA fat binary with zstd on standard output: `cargo run --example produce DEVICE IMAGE... > fat`

use std::error::Error;
use std::io::{self, Write};

use fatbin::embed::CudaFatbinBuilder;
use fatbin::{Access, Codec, Editor, Input};

/// Returns a container of the images that runtimes select on a device. Images are files here; [`Input::from_bytes`] takes
/// bytes.
pub fn produce(device: &str, paths: &[String]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut builder = CudaFatbinBuilder::new();
    builder.compression = Some(Codec::Zstd);
    for path in paths {
        builder.image(Input::open(path, Access::read())?);
    }
    Ok(Editor::new().prune(Input::from_bytes("packed", builder.build()?), &[device])?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (device, paths) = arguments.split_first().ok_or("usage: produce DEVICE IMAGE...")?;
    Ok(io::stdout().write_all(&produce(device, paths)?)?)
}
