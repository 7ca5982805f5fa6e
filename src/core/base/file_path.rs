//! Paths of files on disk and in archives.
//!
//! Reports print `ARCHIVE!MEMBER`. A `!`, or on Linux a `\`, may also be part of a name, so a printed path cannot be taken apart:
//! code that needs a part asks the value.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::path::{self, Path, PathBuf};

/// Separates an archive from its member in reports.
const ENTERS: char = '!';

/// Path of a file on disk, or of a member of an archive. It is used as the text that reports print.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath {
    text: String,
    /// Offsets in the text of the names of members, from the outermost archive on.
    members: Vec<usize>,
    /// The path on disk, if it is not UTF-8.
    not_utf8: Option<PathBuf>,
}

impl FilePath {
    /// Path of a file on disk.
    pub fn new(path: impl AsRef<Path>) -> FilePath {
        let path = path.as_ref();
        match path.to_str() {
            Some(text) => FilePath { text: text.to_owned(), ..FilePath::default() },
            None => FilePath { text: escaped(path), members: Vec::new(), not_utf8: Some(path.to_owned()) },
        }
    }

    /// Path of a member of this archive.
    pub fn with_member(&self, name: &str) -> FilePath {
        let mut inner = self.clone();
        inner.text.push(ENTERS);
        inner.members.push(inner.text.len());
        inner.text += name;
        inner
    }

    /// Reads a printed path: each `!` enters an archive.
    #[doc(hidden)]
    pub fn parse(text: &str) -> FilePath {
        let mut parts = text.split(ENTERS);
        let on_disk = FilePath::new(parts.next().unwrap_or_default());
        parts.fold(on_disk, |archive, name| archive.with_member(name))
    }

    /// The path as reports print it. Bytes that are not UTF-8 are escaped.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The path as reports print it, for errors.
    #[doc(hidden)]
    pub fn printed(&self) -> &Path {
        Path::new(&self.text)
    }

    /// Path of the file, or of the outermost archive around it, on disk.
    pub fn on_disk(&self) -> &Path {
        match &self.not_utf8 {
            Some(path) => path,
            None => Path::new(self.on_disk_text()),
        }
    }

    /// The path on disk as reports print it.
    #[doc(hidden)]
    pub fn on_disk_text(&self) -> &str {
        self.members.first().map_or(&self.text, |start| self.before(*start))
    }

    /// Names of the members that lead to the file, from the outermost archive on.
    pub fn members(&self) -> impl DoubleEndedIterator<Item = &str> {
        let ends = self.members.iter().skip(1).map(|start| start.saturating_sub(ENTERS.len_utf8()));
        let ends = ends.chain([self.text.len()]);
        self.members.iter().zip(ends.collect::<Vec<_>>()).filter_map(|(start, end)| self.text.get(*start..end))
    }

    /// Name of the member that the file is in its archive; `None` for a file on disk.
    pub fn member(&self) -> Option<&str> {
        self.members.last().and_then(|start| self.text.get(*start..))
    }

    /// Printed path of the archive around the file; `None` for a file on disk.
    #[doc(hidden)]
    pub fn archive(&self) -> Option<&str> {
        self.members.last().map(|start| self.before(*start))
    }

    /// The file itself: the name of the member, or the path on disk.
    #[doc(hidden)]
    pub fn innermost(&self) -> &str {
        self.member().unwrap_or(&self.text)
    }

    /// Name of the file without directories.
    #[doc(hidden)]
    pub fn name(&self) -> &str {
        self.split_name().1
    }

    /// The printed path up to the name, with the separator at its end, and the name.
    #[doc(hidden)]
    pub fn split_name(&self) -> (&str, &str) {
        self.split_before(1)
    }

    /// The printed path up to its last `count` components, with the separator at its end, and these components.
    #[doc(hidden)]
    pub fn split_before(&self, count: usize) -> (&str, &str) {
        let sizes = self.components_from_end().take(count).map(|component| component.len().saturating_add(1));
        let size = sizes.fold(0, usize::saturating_add).saturating_sub(1);
        self.text.split_at(self.text.len().saturating_sub(size))
    }

    /// Names of the archives around the file without directories, from the innermost.
    #[doc(hidden)]
    pub fn archives(&self) -> impl Iterator<Item = &str> {
        let members = self.members().rev().skip(1).map(|name| last_component(name, true));
        let on_disk = self.member().map(|_| last_component(self.on_disk_text(), false));
        members.chain(on_disk)
    }

    /// The components of the printed path, from the last: directories, archives, names.
    #[doc(hidden)]
    pub fn components_from_end(&self) -> impl Iterator<Item = &str> {
        let of_members = self.members().rev().flat_map(|name| name.rsplit(is_separator_in_archive));
        of_members.chain(self.on_disk_text().rsplit(path::is_separator))
    }

    /// The printed path with `/` between directories.
    #[doc(hidden)]
    pub fn with_slashes(&self) -> Cow<'_, str> {
        if cfg!(windows) { Cow::Owned(self.text.replace('\\', "/")) } else { Cow::Borrowed(&self.text) }
    }

    fn before(&self, member: usize) -> &str {
        member.checked_sub(ENTERS.len_utf8()).and_then(|end| self.text.get(..end)).unwrap_or(&self.text)
    }
}

/// Archives that were made on Windows also have `\`: those of the librarian of Visual Studio, and zip files of old programs.
fn is_separator_in_archive(c: char) -> bool {
    matches!(c, '/' | '\\')
}

fn last_component(path: &str, is_member: bool) -> &str {
    let is_separator = if is_member { is_separator_in_archive } else { path::is_separator };
    path.rsplit(is_separator).next().unwrap_or(path)
}

/// Escapes the bytes of a path that are not UTF-8, so that two paths do not become one.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text += chunk.valid();
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    text
}

impl Deref for FilePath {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl AsRef<str> for FilePath {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl From<&Path> for FilePath {
    fn from(path: &Path) -> FilePath {
        FilePath::new(path)
    }
}

impl From<FilePath> for String {
    fn from(path: FilePath) -> String {
        path.text
    }
}

impl PartialEq<str> for FilePath {
    fn eq(&self, text: &str) -> bool {
        self.text == text
    }
}

impl PartialEq<&str> for FilePath {
    fn eq(&self, text: &&str) -> bool {
        self.text == *text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_the_separator_of_archives_stays_one_name() {
        let loose = FilePath::new("d!1/a!b.so");
        assert_eq!((loose.name(), loose.member(), loose.archive()), ("a!b.so", None, None));
        let inner = FilePath::new("d!1/w.zip").with_member("lib/a!b.tar").with_member("c!d");
        assert_eq!(inner, "d!1/w.zip!lib/a!b.tar!c!d");
        assert_eq!(inner.on_disk(), Path::new("d!1/w.zip"));
        assert_eq!(inner.members().collect::<Vec<_>>(), ["lib/a!b.tar", "c!d"]);
        assert_eq!(inner.archive(), Some("d!1/w.zip!lib/a!b.tar"));
        assert_eq!(inner.split_name(), ("d!1/w.zip!lib/a!b.tar!", "c!d"));
        let components: Vec<_> = inner.components_from_end().collect();
        assert_eq!(components, ["c!d", "a!b.tar", "lib", "w.zip", "d!1"]);
    }

    #[test]
    fn printed_paths_enter_an_archive_at_each_mark() {
        assert_eq!(FilePath::parse("w.whl!lib/x.so"), FilePath::new("w.whl").with_member("lib/x.so"));
        assert_eq!(FilePath::parse("x.so"), FilePath::new("x.so"));
        assert_ne!(FilePath::parse("w.whl!x.so"), FilePath::new("w.whl!x.so"));
    }

    #[cfg(unix)]
    #[test]
    fn names_that_are_not_utf8_stay_apart_and_lead_to_their_files() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let path = |bytes: &'static [u8]| Path::new(OsStr::from_bytes(bytes));
        let [first, second] = [b"x\xff.so", b"x\xfe.so"].map(|bytes| FilePath::new(path(bytes)));
        assert_eq!((&*first, &*second), (r"x\xff.so", r"x\xfe.so"));
        assert_eq!(first.with_member("m").on_disk(), path(b"x\xff.so"));
    }
}
