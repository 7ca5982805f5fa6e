//! How the tool that runs accesses its inputs. A process runs one tool, which ends it.

use std::sync::OnceLock;

use fatbin_core::base::io::Access;

static ACCESS: OnceLock<Access> = OnceLock::new();

/// Sets the access; the first call counts.
pub fn set(access: Access) {
    let _ = ACCESS.set(access);
}

/// The access to all inputs.
pub fn get() -> Access {
    ACCESS.get().copied().unwrap_or_default()
}
