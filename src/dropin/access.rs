//! The program's decision on how inputs are accessed, made once in `main`.

use std::sync::OnceLock;

use fatbin_core::base::io::Access;

static ACCESS: OnceLock<Access> = OnceLock::new();

/// Sets the access of all tools and commands; the first call counts.
pub fn set(access: Access) {
    let _ = ACCESS.set(access);
}

/// The access for all inputs of this process.
pub fn get() -> Access {
    ACCESS.get().copied().unwrap_or_default()
}
