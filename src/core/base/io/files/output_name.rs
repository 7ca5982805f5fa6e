//! Names that come from an input and lead to a file below a directory of the user's.
//!
//! [`FileSet::output_in`](super::FileSet::output_in) accepts no other names. An [`OutputName`] is not a path: it cannot
//! be joined to one, so text from an input does not choose a directory.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::os_string;
use crate::base::error::{Error, Result};
use crate::base::escape::is_escaped;

/// Name of a file below a directory: at least one component, none of them `.` or `..`, without separators, control
/// characters and characters that are not displayed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutputName(PathBuf);

/// Text that is not an [`OutputName`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidName {
    /// Text that leads elsewhere, or nowhere.
    #[error("{0:?} is not the name of a file in the directory")]
    Elsewhere(String),
    /// Text that looks like another one.
    #[error("{0:?} has control characters, or others that are not displayed")]
    Characters(String),
}

impl OutputName {
    /// Returns the name of a file in a directory, if the text is one.
    pub fn parse(name: &str) -> Result<Self, InvalidName> {
        let plain = OutputName::of(name);
        if plain.0.as_os_str() == name {
            return Ok(plain);
        }
        let error = if name.contains(is_escaped) { InvalidName::Characters } else { InvalidName::Elsewhere };
        Err(error(name.to_owned()))
    }

    /// Returns the name of a file below a directory, if the text is one. Components are separated by `/`.
    pub fn parse_path(path: &str) -> Result<Self, InvalidName> {
        let names: Result<Vec<OutputName>, InvalidName> = path.split('/').map(OutputName::parse).collect();
        match names {
            Ok(names) => Ok(OutputName(names.into_iter().map(|name| name.0).collect())),
            Err(InvalidName::Elsewhere(_)) => Err(InvalidName::Elsewhere(path.to_owned())),
            Err(InvalidName::Characters(_)) => Err(InvalidName::Characters(path.to_owned())),
        }
    }

    /// Returns the name of a file in a directory. Each character that a name does not have becomes `_`, and so does each
    /// dot of `.` and `..`.
    pub fn of(name: impl AsRef<OsStr>) -> Self {
        Self::of_bytes(name.as_ref().as_encoded_bytes())
    }

    /// Like [`Self::of`], for bytes that need not be UTF-8.
    pub fn of_bytes(name: &[u8]) -> Self {
        let mut bytes = Vec::new();
        for chunk in name.utf8_chunks() {
            let plain = chunk.valid().replace(|c| is_separator(c) || is_escaped(c), "_");
            bytes.extend_from_slice(plain.as_bytes());
            // A terminal without UTF-8 obeys the control characters of ISO 8859.
            bytes.extend(chunk.invalid().iter().map(|byte| if (0x80..0xa0).contains(byte) { b'_' } else { *byte }));
        }
        if bytes.iter().all(|byte| *byte == b'.') && bytes.len() <= 2 {
            bytes = vec![b'_'; bytes.len().max(1)];
        }
        OutputName(os_string(&bytes).into())
    }

    /// Returns the name of a file below a directory, with the components of a path. An empty path becomes `_`.
    pub fn of_path(components: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let path: PathBuf = components.into_iter().map(|name| OutputName::of(name).0).collect();
        if path.as_os_str().is_empty() { OutputName::of("") } else { OutputName(path) }
    }

    /// Returns the name in a directory of this name.
    pub fn in_directory(&self, directory: &str) -> Self {
        OutputName(OutputName::of(directory).0.join(&self.0))
    }

    /// Returns the name with more text at its end.
    pub fn with_end(&self, end: &str) -> Self {
        let mut name = self.0.file_name().unwrap_or_default().to_owned();
        name.push(end);
        OutputName(self.0.with_file_name(OutputName::of(name).0))
    }

    /// Path relative to the directory, for reports.
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// The directories in the name, from the outermost to the innermost.
    pub(super) fn directories(&self) -> impl Iterator<Item = &OsStr> {
        self.0.parent().into_iter().flat_map(Path::components).map(Component::as_os_str)
    }

    /// Returns the path of an input of this name. A symbolic link below the directory is an error: it may lead anywhere.
    pub fn existing_in(&self, directory: &Path) -> Result<PathBuf> {
        let mut path = directory.to_owned();
        for component in &self.0 {
            path.push(component);
            if path.is_symlink() {
                return Err(Error::SymbolicLink { path });
            }
        }
        Ok(path)
    }
}

/// Writes the components with `/` between them, on all systems.
impl fmt::Display for OutputName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let components: Vec<_> = self.0.iter().map(OsStr::to_string_lossy).collect();
        f.write_str(&components.join("/"))
    }
}

/// On Windows, a colon follows a drive, or precedes a stream of the file.
fn is_separator(c: char) -> bool {
    std::path::is_separator(c) || (cfg!(windows) && c == ':')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts that lead elsewhere, and the names that they become.
    const ELSEWHERE: [(&str, &str); 8] = [
        ("", "_"),
        (".", "_"),
        ("..", "__"),
        ("/", "_"),
        ("/etc/passwd", "_etc_passwd"),
        ("../../victim", ".._.._victim"),
        ("a/../../b", "a_.._.._b"),
        ("a/", "a_"),
    ];

    /// Texts with characters that are not displayed, and the names that they become.
    const CHARACTERS: [(&str, &str); 5] = [
        ("a\u{1b}[31mb", "a_[31mb"),
        ("a\nb\r\tc\0", "a_b__c_"),
        ("\u{7f}\u{9b}2J", "__2J"),
        ("exe\u{202e}gpj.so", "exe_gpj.so"),
        ("\u{200b}..", "_.."),
    ];

    /// Names that stay as they are.
    const PLAIN: [&str; 9] = ["a", ".bashrc", "...", "a..b", "gfx90a:xnack+", "-o", "é Ω 键", "a b", "%2e%2e"];

    #[test]
    fn text_becomes_a_name_without_separators_and_hidden_characters() {
        for (text, expected) in ELSEWHERE.into_iter().chain(CHARACTERS) {
            assert_eq!(OutputName::of(text).to_string(), expected, "{text:?}");
            assert_eq!(OutputName::of(text).directories().count(), 0);
            assert_eq!(OutputName::of(expected).to_string(), expected);
        }
        for name in PLAIN.into_iter().filter(|name| cfg!(unix) || !name.contains(':')) {
            assert_eq!(OutputName::parse(name).unwrap(), OutputName::of(name));
            assert_eq!(OutputName::of(name).to_string(), name);
        }
    }

    #[test]
    fn a_stated_name_is_refused_with_its_cause() {
        for (text, _) in ELSEWHERE {
            assert_eq!(OutputName::parse(text), Err(InvalidName::Elsewhere(text.to_owned())));
        }
        for (text, _) in CHARACTERS {
            assert_eq!(OutputName::parse(text), Err(InvalidName::Characters(text.to_owned())));
            let path = format!("directory/{text}");
            assert_eq!(OutputName::parse_path(&path), Err(InvalidName::Characters(path)));
        }
        for path in ["", "/a", "a//b", "a/", "./a", "a/..", "../a", "a/../../b"] {
            assert_eq!(OutputName::parse_path(path), Err(InvalidName::Elsewhere(path.to_owned())));
        }
    }

    #[test]
    fn a_path_has_the_components_that_it_states() {
        let path = OutputName::parse_path(".kpack/a/x.kpack").unwrap();
        assert_eq!(path, OutputName::of_path([".kpack", "a", "x.kpack"]));
        assert_eq!(path, OutputName::of("x.kpack").in_directory("a").in_directory(".kpack"));
        assert_eq!((path.to_string().as_str(), path.directories().count()), (".kpack/a/x.kpack", 2));
        assert_eq!(path.with_end("~2").to_string(), ".kpack/a/x.kpack~2");
        assert_eq!(path.with_end("/../x").to_string(), ".kpack/a/x.kpack_.._x");
        assert_eq!(OutputName::of_path(["..", "/x"]).to_string(), "__/_x");
        assert_eq!(OutputName::of_path([""; 0]), OutputName::of("_"));
    }

    #[cfg(unix)]
    #[test]
    fn bytes_of_other_encodings_stay_unless_they_are_control_characters() {
        for (bytes, expected) in
            [(b"\xe9\xe8.so".as_slice(), b"\xe9\xe8.so".as_slice()), (b"\x9b2J\xff\x1b", b"_2J\xff_")]
        {
            assert_eq!(OutputName::of_bytes(bytes).as_path().as_os_str().as_encoded_bytes(), expected);
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_input_is_not_reached_through_links() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/file"), "").unwrap();
        for (target, link) in [("real", "link"), ("file", "real/second"), ("missing", "dangling")] {
            std::os::unix::fs::symlink(target, root.join(link)).unwrap();
        }
        let existing = |path: &str| OutputName::parse_path(path).unwrap().existing_in(root);
        assert_eq!(existing("real/file").unwrap(), root.join("real/file"));
        assert_eq!(existing("real/missing").unwrap(), root.join("real/missing"));
        for (path, link) in [("link/file", "link"), ("real/second", "real/second"), ("dangling", "dangling")] {
            let error = existing(path).unwrap_err();
            assert_eq!(error.path(), Some(&*root.join(link)), "{error}");
        }
        // The directory itself is the user's choice.
        let below_link = OutputName::of("file").existing_in(&root.join("link"));
        assert_eq!(below_link.unwrap(), root.join("link/file"));
    }
}
