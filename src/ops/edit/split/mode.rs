//! Permission bits of files.

use std::fs;
use std::path::Path;

/// Returns the permission bits of a file.
pub fn mode(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    return fs::metadata(path).ok().map(|it| std::os::unix::fs::PermissionsExt::mode(&it.permissions()) & 0o777);
    #[cfg(not(unix))]
    return fs::metadata(path).err().map(|_| 0);
}
