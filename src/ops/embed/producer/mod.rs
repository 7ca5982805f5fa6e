//! Containers and objects in memory. Images are [inputs](fatbin_core::base::io::Input): files or bytes.

mod bundle;
mod cuda_fatbin;
mod error;
mod nvfatbin;
mod object;
mod offload_binary;
#[cfg(test)]
mod tests;

pub use bundle::{BundleBuilder, BundleEntry, unbundle};
pub use cuda_fatbin::CudaFatbinBuilder;
pub use error::ProducerError;
pub use nvfatbin::ImageType;
pub use nvfatbin::{NvFatbin, NvFatbinError};
pub use object::embed_bytes;
pub use offload_binary::OffloadBinaryBuilder;
