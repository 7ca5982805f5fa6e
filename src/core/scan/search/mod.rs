//! The search for containers and images: first through the structure of the host file, then by magic in bytes that no
//! structure explains.

pub mod builder;
pub mod contents;
pub mod find;
pub mod findings;
mod frames;
mod gomp;
pub mod hints;
mod magic;
mod notes;
mod prefetch;
mod registrations;
mod signs;
pub mod strict;
mod sycl;
mod symbols;
mod walk;
