//! The files on disk that a page is about: what identifies them later.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::report::text::printable;
use fatbin_core::base::bytes::hexadecimal;
use fatbin_ops::analyze::survey::Survey;

/// A file on disk.
#[derive(Serialize)]
pub struct InputData {
    path: String,
    /// Version in the name of a wheel.
    version: Option<String>,
    size: u64,
    /// Day of the last change, in UTC.
    date: Option<String>,
    sha256: String,
}

/// Maximum number of files that are listed, because each is hashed.
const MAX_INPUTS: usize = 16;

/// Paths of the files on disk that hold the surveyed ones, at most one more than are listed.
#[derive(Default)]
pub struct Inputs(Vec<String>);

impl Inputs {
    /// Adds the file on disk of a surveyed one. Members of a package follow one another.
    pub fn add(&mut self, survey: &Survey) {
        let package = survey.packed.as_ref().map(|packed| packed.package.to_string_lossy());
        let path = package.as_deref().unwrap_or(&survey.file.path);
        if self.0.len() <= MAX_INPUTS && self.0.last().is_none_or(|last| last != path) {
            self.0.push(path.to_owned());
        }
    }

    /// Reads the files; none if there are many.
    pub fn read(self) -> Vec<InputData> {
        let paths = if self.0.len() > MAX_INPUTS { Vec::new() } else { self.0 };
        paths.iter().filter_map(|path| InputData::read(path)).collect()
    }
}

impl InputData {
    /// `None` for what is no file, or cannot be read any more.
    fn read(path: &str) -> Option<InputData> {
        let mut file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(size) => hash.update(&buffer[..size]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        Some(InputData {
            path: printable(path),
            version: wheel_version(path).map(printable),
            size: metadata.len(),
            date: metadata.modified().ok().and_then(date),
            sha256: hexadecimal(&hash.finalize()),
        })
    }
}

/// Wheels are named `PACKAGE-VERSION-...whl`.
fn wheel_version(path: &str) -> Option<&str> {
    Path::new(path).file_name()?.to_str()?.strip_suffix(".whl")?.split('-').nth(1)
}

/// Formats a time as a day.
fn date(time: SystemTime) -> Option<String> {
    let mut days = time.duration_since(UNIX_EPOCH).ok()?.as_secs() / (24 * 60 * 60);
    let mut year = 1970_u64;
    let mut month = 1;
    loop {
        let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let length = match month {
            2 => 28 + u64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        if days < length {
            return Some(format!("{year}-{month:02}-{:02}", days + 1));
        }
        days -= length;
        year += u64::from(month == 12);
        month = month % 12 + 1;
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let cases = [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (1_709_251_199, "2024-02-29"),
            (1_709_251_200, "2024-03-01"),
            (4_107_542_400, "2100-03-01"),
            (1_798_761_599, "2026-12-31"),
        ];
        for (seconds, day) in cases {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)).as_deref(), Some(day));
        }
    }

    #[test]
    fn wheels_state_their_version() {
        assert_eq!(wheel_version("a/torch-2.9.0+cu130-cp312-cp312-linux_x86_64.whl"), Some("2.9.0+cu130"));
        assert_eq!(wheel_version("a/libtorch-2.so"), None);
    }
}
