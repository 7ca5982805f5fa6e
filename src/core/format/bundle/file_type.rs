//! Types of files that can be bundled, and the form of a bundle of each.
//!
//! Source: Clang Offload Bundler document, Supported File Formats; `clang-offload-bundler --help` of LLVM 22.1.8, which
//! also lists `hipi`.

/// Form of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BundleForm {
    /// An index, followed by the files.
    Binary,
    /// The files between lines that begin with the comment syntax of their language.
    Text {
        /// Start of a comment line in the language.
        comment: &'static str,
    },
    /// The host's object with a section for each file; a binary bundle where the host's file is not an object.
    Object,
    /// An archive whose members are bundles.
    Archive,
}

/// A type of file, by the name that users specify.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileType {
    /// Name, the operand of `--type`.
    pub name: &'static str,
    /// Form of a bundle of such files.
    pub form: BundleForm,
    /// Description of such files.
    pub meaning: &'static str,
}

const C: BundleForm = BundleForm::Text { comment: "//" };
const HASH: BundleForm = BundleForm::Text { comment: "#" };
const IR: BundleForm = BundleForm::Text { comment: ";" };

/// Every type.
pub const FILE_TYPES: [FileType; 12] = [
    FileType { name: "i", form: C, meaning: "preprocessed C" },
    FileType { name: "ii", form: C, meaning: "preprocessed C++" },
    FileType { name: "cui", form: C, meaning: "preprocessed CUDA" },
    FileType { name: "hipi", form: C, meaning: "preprocessed HIP" },
    FileType { name: "d", form: HASH, meaning: "dependencies, for make" },
    FileType { name: "ll", form: IR, meaning: "LLVM IR as text" },
    FileType { name: "bc", form: BundleForm::Binary, meaning: "LLVM bitcode" },
    FileType { name: "s", form: HASH, meaning: "assembly" },
    FileType { name: "o", form: BundleForm::Object, meaning: "objects" },
    FileType { name: "a", form: BundleForm::Archive, meaning: "archives of bundles" },
    FileType { name: "gch", form: BundleForm::Binary, meaning: "precompiled headers" },
    FileType { name: "ast", form: BundleForm::Binary, meaning: "clang's syntax trees" },
];

/// Possible starts of a line between texts.
pub const COMMENTS: [&str; 3] = ["//", "#", ";"];

impl FileType {
    /// Returns the type with this name.
    pub fn named(name: &str) -> Option<FileType> {
        FILE_TYPES.into_iter().find(|file_type| file_type.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_comment_syntax_is_recognized() {
        for file_type in FILE_TYPES {
            if let BundleForm::Text { comment } = file_type.form {
                assert!(COMMENTS.contains(&comment), "{}", file_type.name);
            }
            assert_eq!(FileType::named(file_type.name), Some(file_type));
        }
        assert_eq!(FileType::named("obj"), None);
    }
}
