//! `wrap`: device images into a host object that registers them.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::host;
use crate::io::{Input, Output, Sink};
use crate::target::OffloadKind;
use crate::wrap::{self, Stated, abi};

/// What to wrap, and how.
#[derive(Debug, Clone)]
pub struct WrapOptions {
    /// In the order in which the runtime will see them.
    pub images: Vec<ImageFile>,
    /// The triple of the machine that the object is for; without one, that which this program was built for.
    pub host: Option<String>,
    /// Embed images as they are instead of inside an offload binary.
    pub raw: bool,
    pub output: PathBuf,
}

/// A file with an image, and what the user said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageFile {
    pub path: PathBuf,
    pub stated: Stated,
}

/// Writes the object for OpenMP on Linux as LLVM 21 and later would make it. The images are moved from file to
/// file; none of their bytes is read but for the headers.
pub fn wrap(options: &WrapOptions) -> Result<()> {
    let architecture = options.host.as_deref().map_or(Ok(host::native()), host::for_triple)?;
    let inputs: Vec<Input> = options.images.iter().map(|image| Input::open(&image.path)).collect::<Result<_>>()?;
    for input in &inputs {
        refuse_same_file(input.path(), &options.output)?;
    }
    let mut images = Vec::new();
    for (input, image) in inputs.iter().zip(&options.images) {
        images.extend(wrap::embed(input, &image.stated, OffloadKind::OpenMp, options.raw)?);
    }
    let plan = wrap::openmp(images, &abi::LLVM_21);
    let mut sink = Sink::new(&inputs);
    host::emit(&plan, architecture, &mut sink)
        .map_err(|cause| Error::Emission { path: options.output.clone(), cause })?;
    let mut output = Output::create(&options.output)?;
    sink.write_to(&mut output)?;
    output.commit()
}

/// The output would replace the image; that is never what was meant.
fn refuse_same_file(input: &Path, output: &Path) -> Result<()> {
    match same_file::is_same_file(input, output) {
        Ok(true) => Err(Error::SameFile { path: output.to_owned() }),
        // An output that does not exist yet is the ordinary case; anything else wrong with it is found on writing.
        Ok(false) | Err(_) => Ok(()),
    }
}
