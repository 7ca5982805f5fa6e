//! Errors of the operating system, described like other errors: in lower case, without numbers, and with what is missing.

use std::io;
use std::path::Path;

/// Describes an error in lower case, and without its number.
pub fn describe_io(error: &io::Error) -> String {
    let text = error.to_string();
    let Some((message, _)) = text.split_once(" (os error ") else { return text };
    let mut letters = message.chars();
    let is_word = message.chars().nth(1).is_some_and(char::is_lowercase);
    match letters.next() {
        Some(first) if is_word => first.to_lowercase().chain(letters).collect(),
        _ => message.to_owned(),
    }
}

/// Describes the error of a program that cannot be started.
pub fn describe_start(cause: &io::Error) -> String {
    if cause.kind() == io::ErrorKind::NotFound { "no such program".to_owned() } else { describe_io(cause) }
}

/// Names the directory that is missing, or the file that is in the place of a directory.
pub fn describe_failure(path: &Path, action: &str, cause: &io::Error) -> String {
    if action == "run" {
        return describe_start(cause);
    }
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.is_dir());
    match (action, cause.kind(), parent) {
        ("create", io::ErrorKind::NotFound, Some(parent)) => {
            format!("the directory {} does not exist", parent.display())
        }
        ("create", io::ErrorKind::NotADirectory, Some(parent)) => format!("{} is not a directory", parent.display()),
        ("create", io::ErrorKind::AlreadyExists, _) if path.is_file() => {
            "it is a file, and a directory is needed".to_owned()
        }
        _ => describe_io(cause),
    }
}
