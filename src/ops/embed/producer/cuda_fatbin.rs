//! CUDA fat binaries.

use std::path::PathBuf;

use super::ProducerError;
use super::offload_binary::leveled;
use crate::embed::pack::fat_binary::{
    FatbinInput, FatbinOptions, FatbinProperties, default_compression, pack_fatbin_to_vec,
};
use fatbin_core::base::codec::Codec;
use fatbin_core::base::io::Input;

/// Packs cubins, PTX, LTO-IR and Tile IR into a CUDA fat binary, like `fatbin pack --kind cuda`.
///
/// Images are stored with every byte, and their headers state the architecture. [`NvFatbin`](crate::embed::NvFatbin)
/// has the rules of NVIDIA's library instead.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))?;
/// use fatbin::{Codec, Input, embed::CudaFatbinBuilder};
///
/// let mut builder = CudaFatbinBuilder::new();
/// builder.compression = Some(Codec::Zstd);
/// builder.image(Input::from_bytes("answer", std::fs::read("fixtures/answer-sm_90.cubin")?));
/// assert!(builder.build()?.starts_with(b"\x50\xed\x55\xba"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct CudaFatbinBuilder {
    images: Vec<FatbinInput>,
    /// [`Codec::Zstd`] or [`Codec::Lz4`]; by default none. LTO-IR is never compressed.
    pub compression: Option<Codec>,
    /// Level of the codec; by default the level of fatbinary.
    pub level: Option<i32>,
    /// Compresses the images of a sort as one, like `fatbinary --concat`.
    pub concat: bool,
}

impl CudaFatbinBuilder {
    /// Begins an empty container.
    pub fn new() -> Self {
        CudaFatbinBuilder::default()
    }

    /// Adds an image.
    pub fn image(&mut self, image: Input) -> &mut Self {
        self.image_for(image, None, "", "")
    }

    /// Adds an image with the architecture that its header does not state, an identifier (usually the name of a source
    /// file), and options for the driver's compiler.
    pub fn image_for(&mut self, input: Input, arch: Option<&str>, identifier: &str, options: &str) -> &mut Self {
        let properties = FatbinProperties {
            arch: arch.map(str::to_owned),
            identifier: identifier.to_owned(),
            options: options.to_owned(),
            ..FatbinProperties::default()
        };
        self.images.push(FatbinInput { input, properties });
        self
    }

    /// Returns the container.
    pub fn build(mut self) -> Result<Vec<u8>, ProducerError> {
        let compression = match self.compression {
            None | Some(Codec::None) => None,
            Some(codec @ (Codec::Zstd | Codec::Lz4)) => Some(default_compression(codec)),
            Some(codec) => {
                let message = format!("{}: CUDA fat binaries use zstd or lz4", codec.name());
                return Err(ProducerError::refused(message));
            }
        };
        let compression = leveled(compression, self.level)?;
        if self.concat && compression.is_none() {
            return Err(ProducerError::refused("images are compressed as one only with a codec"));
        }
        for image in &mut self.images {
            image.properties.compression = if image.is_lto_ir() { None } else { compression };
        }
        let concat = if self.concat { compression } else { None };
        let options = FatbinOptions { concat, output: PathBuf::from("<memory>") };
        Ok(pack_fatbin_to_vec(&self.images, &options)?)
    }
}
