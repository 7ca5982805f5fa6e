//! The text of a lock, made file by file.

use super::{LockedFile, summary, text};

/// What the text of a lock contains.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LockForm {
    /// Only what does not differ between builds of one source.
    pub code_only: bool,
    /// A summary for readers.
    pub summary: bool,
}

impl LockForm {
    /// Returns the entries of a file. A package has thousands of files, and their text is a tenth of their size in memory.
    pub fn entries(self, mut file: LockedFile) -> String {
        file.sort();
        if self.code_only {
            file.keep_code_only();
        }
        let mut text = String::new();
        if self.summary {
            summary::write_file(&mut text, &file);
        } else {
            text::write_file(&mut text, &file);
        }
        text.shrink_to_fit();
        text
    }

    /// Returns the first lines, in front of the entries of files in the order of their paths.
    pub fn head(self) -> String {
        if self.summary { summary::head() } else { text::head() }
    }
}
