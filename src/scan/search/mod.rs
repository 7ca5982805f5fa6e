//! The search for containers and images: by what the host file's structure leads to, then by magic in bytes that no structure
//! explains.

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
pub mod strict;
mod sycl;
mod symbols;
mod walk;
