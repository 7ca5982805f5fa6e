//! Destinations of the path of an output.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum number of links that are followed, as on Linux.
const MAX_LINKS: usize = 40;

/// Name of standard output in messages.
pub const STANDARD_OUTPUT: &str = "standard output";

/// Destination of a path.
#[derive(Debug)]
pub enum Destination {
    /// A file, which may not exist yet; never a symbolic link.
    File(PathBuf),
    /// A device, a pipe or an open file: its name in messages, and the file, open for writing.
    Special(PathBuf, File),
    /// A directory.
    Directory,
}

impl Destination {
    /// Follows a path; `-` is standard output.
    pub fn of(path: &Path) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Destination::Special(STANDARD_OUTPUT.into(), standard_output()?));
        }
        if let Some(number) = open_file(path) {
            return Ok(Destination::Special(path.to_owned(), duplicate(number)?));
        }
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Ok(Destination::Directory),
            Ok(metadata) if !metadata.is_file() => {
                Ok(Destination::Special(path.to_owned(), File::options().write(true).open(path)?))
            }
            Ok(_) => path.canonicalize().map(Destination::File),
            Err(_) => follow_dangling(path).map(Destination::File),
        }
    }
}

/// Returns whether a path leads to standard output: `-`, `/dev/stdout` or another name of it.
pub fn is_standard_output(path: &Path) -> bool {
    path == Path::new("-") || open_file(path) == Some(1)
}

/// Returns the directory of a file.
pub fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the path of the file that creating `path` would create: symbolic links to files that do not exist are
/// followed.
fn follow_dangling(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(target) => path = directory(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// Returns whether a file is a device that is not a disk.
pub fn is_device(file: &File) -> bool {
    #[cfg(unix)]
    return file.metadata().is_ok_and(|it| std::os::unix::fs::FileTypeExt::is_char_device(&it.file_type()));
    #[cfg(not(unix))]
    return file.metadata().is_ok_and(|it| !it.is_file());
}

fn standard_output() -> io::Result<File> {
    super::standard_output::check()?;
    let stdout = io::stdout();
    #[cfg(unix)]
    let file = std::os::fd::AsFd::as_fd(&stdout).try_clone_to_owned();
    #[cfg(windows)]
    let file = std::os::windows::io::AsHandle::as_handle(&stdout).try_clone_to_owned();
    file.map(File::from)
}

/// Returns the descriptor number that a path such as `/dev/stdout` or `/dev/fd/3` refers to. A regular file that is
/// open must be written through its descriptor, because the process that opened it expects the bytes there.
#[cfg(unix)]
fn open_file(path: &Path) -> Option<i32> {
    let own = [format!("/proc/{}/fd", std::process::id()), "/dev/fd".to_owned()];
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let parent = directory(&path).canonicalize().ok()?;
        if own.iter().any(|own| parent == Path::new(own)) {
            return path.file_name()?.to_str()?.parse().ok();
        }
        path = parent.join(std::fs::read_link(&path).ok()?);
    }
    None
}

/// Other systems have no such paths.
#[cfg(not(unix))]
fn open_file(_path: &Path) -> Option<i32> {
    None
}

#[cfg(unix)]
fn duplicate(number: i32) -> io::Result<File> {
    if number == 1 {
        return standard_output();
    }
    if number < 0 {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: the number is not negative. Duplicating a descriptor that is not open is an error, and files that this
    // process itself opens are not closed while its arguments are parsed.
    let descriptor = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
    descriptor.try_clone_to_owned().map(File::from)
}

#[cfg(not(unix))]
fn duplicate(_number: i32) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}
