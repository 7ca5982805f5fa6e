//! Permission bits of files.

use std::fs;
use std::path::Path;

use super::Result;
#[cfg(unix)]
use crate::error::Error;

/// Returns the permission bits of a file.
pub fn mode(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    return fs::metadata(path).ok().map(|it| std::os::unix::fs::PermissionsExt::mode(&it.permissions()) & 0o777);
    #[cfg(not(unix))]
    return fs::metadata(path).err().map(|_| 0);
}

/// Sets the permission bits of a file.
pub fn set_mode(path: &Path, mode: Option<u32>) -> Result<()> {
    #[cfg(unix)]
    if let Some(mode) = mode {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode & 0o777);
        fs::set_permissions(path, permissions).map_err(Error::io(path, "set the mode of"))?;
    }
    #[cfg(not(unix))]
    let _ = (path, mode);
    Ok(())
}
