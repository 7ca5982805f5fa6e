//! Temporary files that become outputs.
//!
//! On Linux such a file has no name until it is complete (`O_TMPFILE`), so nothing is left even if the process is
//! killed. Elsewhere, and on file systems that do not support this, it has a hidden name next to the output, which is
//! removed when the file is dropped, and by the signal handlers of the program.
//!
//! A link cannot replace a file. To replace one, an unnamed file is linked to a hidden name, which is renamed at once.
//! Only a process that is killed between the two calls leaves it.

use std::ffi::CString;
use std::fs::{File, Permissions};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempPath};

use super::first_output;
use super::registry::{Registration, Registry};

/// First characters of hidden names.
pub const PREFIX: &str = ".fatbin-";

/// First characters of the hidden names of files that outputs replace.
pub const BACKUP_PREFIX: &str = ".fatbin-old-";

/// Paths of the hidden files of this process, which signal handlers remove.
pub static HIDDEN_FILES: Registry<CString> = Registry::new();

/// A file that is being written, in the directory of the output.
#[derive(Debug)]
pub struct Temporary {
    file: File,
    directory: PathBuf,
    /// Name of the file, if it has one.
    name: Option<HiddenName>,
    /// True if the file keeps its mode, instead of taking the mode of the file that it replaces.
    has_own_mode: bool,
}

/// A hidden name, which is removed on drop and when a signal ends the program.
#[derive(Debug)]
pub struct HiddenName {
    path: TempPath,
    _registration: Option<Registration<CString>>,
}

impl Temporary {
    /// Creates a file with the permissions that the umask allows.
    pub fn create(directory: &Path) -> io::Result<Self> {
        first_output::prepare();
        match unnamed(directory) {
            Some(file) => Ok(Temporary { file, directory: directory.to_owned(), name: None, has_own_mode: false }),
            None => Self::create_named(directory),
        }
    }

    /// Creates a file with a hidden name.
    pub fn create_named(directory: &Path) -> io::Result<Self> {
        let create = |path: &Path| File::options().read(true).write(true).create_new(true).open(path);
        let (file, name) = HiddenName::make(directory, create)?;
        lock(&file);
        Ok(Temporary { file, directory: directory.to_owned(), name: Some(name), has_own_mode: false })
    }

    /// The open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The open file, for writing.
    pub fn file_mut(&mut self) -> &mut File {
        &mut self.file
    }

    /// The directory that the file is in.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps the mode of a new file, instead of taking the mode of the file that it replaces.
    pub fn keep_mode(&mut self) {
        self.has_own_mode = true;
    }

    /// Gives the file a mode without the bits of the umask, which it keeps.
    #[cfg(unix)]
    pub fn set_new_mode(&mut self, mode: u32) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        self.has_own_mode = true;
        self.file.set_permissions(Permissions::from_mode(mode & 0o777 & !umask()))
    }

    /// Other systems have no modes.
    #[cfg(not(unix))]
    pub fn set_new_mode(&mut self, _mode: u32) -> io::Result<()> {
        Ok(())
    }

    /// Gives the file its final name. An existing file of that name is replaced atomically, and passes on its mode.
    pub fn persist(self, path: &Path) -> io::Result<()> {
        self.take_mode(path)?;
        if self.name.is_none() {
            match link(&self.file, path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                linked => return linked,
            }
        }
        self.into_hidden()?.rename(path)
    }

    /// Gives the file its final name, in place of a file that `is_expected` accepts. If it does not accept the file,
    /// leaves it and returns false.
    pub fn swap(self, path: &Path, is_expected: impl Fn(&Path) -> bool) -> io::Result<bool> {
        self.take_mode(path)?;
        let is_swapped = self.into_hidden()?.swap(path, is_expected)?;
        if is_swapped {
            sync_directory(super::destination::directory(path));
        }
        Ok(is_swapped)
    }

    /// Gives the file a name that no file has.
    #[cfg(target_os = "linux")]
    pub fn link_to(&self, path: &Path) -> io::Result<()> {
        match &self.name {
            Some(name) => std::fs::hard_link(name.path(), path),
            None => link(&self.file, path),
        }
    }

    /// Returns the open file. A hidden name is removed.
    #[cfg(target_os = "linux")]
    pub fn into_file(self) -> File {
        self.file
    }

    fn take_mode(&self, path: &Path) -> io::Result<()> {
        match std::fs::symlink_metadata(path) {
            Ok(old) if old.is_file() && !self.has_own_mode => self.file.set_permissions(access_bits(old.permissions())),
            _ => Ok(()),
        }
    }

    fn into_hidden(self) -> io::Result<HiddenName> {
        let Temporary { file, directory, name, .. } = self;
        match name {
            Some(name) => Ok(name),
            None => {
                lock(&file);
                Ok(HiddenName::make(&directory, |path| link(&file, path))?.1)
            }
        }
    }

    /// Copies the bytes to another file.
    pub fn copy_to(&mut self, to: &mut File) -> io::Result<()> {
        self.file.rewind()?;
        io::copy(&mut self.file, to).map(drop)
    }
}

impl HiddenName {
    /// Calls `make` with an unused hidden path in a directory, to create a file there.
    pub fn make<T>(directory: &Path, mut make: impl FnMut(&Path) -> io::Result<T>) -> io::Result<(T, HiddenName)> {
        let made = Builder::new().prefix(PREFIX).make_in(directory, |path| {
            let registration = register_in(&HIDDEN_FILES, path);
            Ok((make(path)?, registration))
        });
        let ((made, _registration), path) = made.map_err(without_temporary_path)?.into_parts();
        Ok((made, HiddenName { path, _registration }))
    }

    /// Chooses an unused hidden name for a file that an output replaces. Signal handlers do not remove it.
    pub fn of_backup(directory: &Path) -> io::Result<HiddenName> {
        let made = Builder::new().prefix(BACKUP_PREFIX).make_in(directory, |path| match path.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => Ok(()),
        });
        let ((), path) = made.map_err(without_temporary_path)?.into_parts();
        Ok(HiddenName { path, _registration: None })
    }

    /// The hidden path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its final name; a file of that name is replaced.
    pub fn rename(self, path: &Path) -> io::Result<()> {
        self.path.persist(path).map_err(|error| error.error)
    }

    /// Exchanges the file with the one at a path, and removes the latter if `is_expected` accepts it. Otherwise the two
    /// are exchanged again, and the result is false. On file systems that do not exchange files, this one is renamed.
    #[cfg(target_os = "linux")]
    fn swap(self, path: &Path, is_expected: impl Fn(&Path) -> bool) -> io::Result<bool> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        let exchange = || renameat_with(CWD, self.path(), CWD, path, RenameFlags::EXCHANGE);
        match exchange() {
            Ok(()) if is_expected(self.path()) => Ok(true),
            Ok(()) => exchange().map(|()| false).map_err(io::Error::from),
            Err(_) if is_expected(path) => self.rename(path).map(|()| true),
            Err(_) => Ok(false),
        }
    }

    /// Other systems have no such call.
    #[cfg(not(target_os = "linux"))]
    fn swap(self, path: &Path, is_expected: impl Fn(&Path) -> bool) -> io::Result<bool> {
        if is_expected(path) { self.rename(path).map(|()| true) } else { Ok(false) }
    }
}

/// Locks a file, and returns whether no other process has locked it. The lock of a hidden file shows that its process
/// continues. Not every file system has locks.
#[cfg(target_os = "linux")]
pub fn lock(file: &File) -> bool {
    rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
}

/// Other systems do not look for hidden files.
#[cfg(not(target_os = "linux"))]
pub fn lock(_file: &File) -> bool {
    false
}

/// Writes the names in a directory to the disk. Not every file system supports this.
fn sync_directory(directory: &Path) {
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
}

/// Reads the umask. Reading requires setting it: for a moment, other threads create files for their owner only.
#[cfg(unix)]
fn umask() -> u32 {
    // SAFETY: the calls have no requirements.
    unsafe {
        let mask = libc::umask(0o077);
        libc::umask(mask);
        #[allow(clippy::useless_conversion, reason = "16 bits on some systems")]
        mask.into()
    }
}

/// Registers a path for signal handlers. A relative path remains valid: the program never changes its directory.
#[cfg(unix)]
pub fn register_in(registry: &'static Registry<CString>, path: &Path) -> Option<Registration<CString>> {
    use std::os::unix::ffi::OsStrExt;
    CString::new(path.as_os_str().as_bytes()).ok().map(|path| registry.add(path))
}

/// Other systems have no handlers.
#[cfg(not(unix))]
pub fn register_in(_registry: &'static Registry<CString>, _path: &Path) -> Option<Registration<CString>> {
    None
}

/// Returns permissions without the set-ID and sticky bits: they were granted to other bytes.
#[cfg(unix)]
pub fn access_bits(old: Permissions) -> Permissions {
    use std::os::unix::fs::PermissionsExt;
    Permissions::from_mode(old.mode() & 0o777)
}

#[cfg(not(unix))]
pub fn access_bits(old: Permissions) -> Permissions {
    old
}

/// Creates a file without a name; `None` if the file system does not support it or `link` could not name it later.
#[cfg(target_os = "linux")]
fn unnamed(directory: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags, open};
    if !Path::new(OWN_DESCRIPTORS).is_dir() {
        return None;
    }
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    open(directory, flags, Mode::from_raw_mode(0o666)).ok().map(File::from)
}

/// Other systems have no such files.
#[cfg(not(target_os = "linux"))]
fn unnamed(_directory: &Path) -> Option<File> {
    None
}

/// Links to the open files of this process; absent where `/proc` is not mounted.
#[cfg(target_os = "linux")]
const OWN_DESCRIPTORS: &str = "/proc/self/fd";

/// Gives a file without a name its first one.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    use rustix::fs::{AtFlags, CWD, linkat};
    let open_file = format!("{OWN_DESCRIPTORS}/{}", file.as_raw_fd());
    Ok(linkat(CWD, open_file, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

#[cfg(not(target_os = "linux"))]
fn link(_file: &File, _path: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Removes the temporary name that `tempfile` adds to an error; it means nothing to users.
fn without_temporary_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause.to_owned()),
        None => error,
    }
}
