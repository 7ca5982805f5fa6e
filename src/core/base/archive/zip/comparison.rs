//! Comparison of a file with its row in `RECORD`, while the file is read.

use std::borrow::Cow;

use sha2::digest::DynDigest;
use sha2::{Sha256, Sha384, Sha512};

use crate::base::bytes::total;
use crate::base::error::{Cause, Malformed};

/// Number of bytes that are hashed in a step of work.
const BYTES_PER_STEP: u64 = 64;

/// A hash algorithm of records: its name, and a function that starts a hash. PyPA requires SHA-256 or better.
#[derive(Debug, Clone, Copy)]
pub struct Algorithm {
    /// Precedes the encoded hash.
    name: &'static str,
    start: fn() -> Box<dyn DynDigest>,
}

const ALGORITHMS: [Algorithm; 3] = [
    Algorithm { name: "sha256=", start: || Box::<Sha256>::default() },
    Algorithm { name: "sha384=", start: || Box::<Sha384>::default() },
    Algorithm { name: "sha512=", start: || Box::<Sha512>::default() },
];

impl Algorithm {
    /// Returns the algorithm of a hash as a record states it.
    pub fn of(hash: &[u8]) -> Option<Self> {
        ALGORITHMS.into_iter().find(|algorithm| hash.starts_with(algorithm.name.as_bytes()))
    }
}

/// A member of a wheel that is compared with its row.
pub struct RowComparison<'a> {
    name: Cow<'a, str>,
    /// Offset of its directory entry from the start of the file.
    at: u64,
    /// Stated hash with its algorithm; empty if none is compared.
    hash: &'a [u8],
    /// Stated size; empty if the row has none.
    stated_size: &'a [u8],
    hasher: Option<(Algorithm, Box<dyn DynDigest>)>,
    size: u64,
}

impl std::fmt::Debug for RowComparison<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowComparison").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<'a> RowComparison<'a> {
    /// Starts with no bytes.
    pub fn new(name: Cow<'a, str>, at: u64, hash: &'a [u8], stated_size: &'a [u8]) -> Self {
        let hasher = Algorithm::of(hash).map(|algorithm| (algorithm, (algorithm.start)()));
        RowComparison { name, at, hash, stated_size, hasher, size: 0 }
    }

    /// Returns whether the bytes are hashed.
    pub fn hashes(&self) -> bool {
        self.hasher.is_some()
    }

    /// Steps of work for adding bytes.
    pub fn work(&self, bytes: u64) -> u64 {
        if self.hashes() { bytes / BYTES_PER_STEP } else { 0 }
    }

    /// Adds the next bytes of the member.
    pub fn add(&mut self, bytes: &[u8]) {
        if let Some((_, hasher)) = &mut self.hasher {
            hasher.update(bytes);
        }
        self.add_size(bytes.len() as u64);
    }

    /// Adds the number of the next bytes, which are not hashed.
    pub fn add_size(&mut self, size: u64) {
        self.size = total([self.size, size]);
    }

    /// Returns the contradiction, if there is one.
    pub fn finish(self) -> Option<Malformed> {
        let name = self.name.clone();
        let offset = self.at;
        let why = self.difference()?;
        Some(Malformed { field: "wheel", offset, cause: Cause::Described(format!("{name} {why}")) })
    }

    fn difference(self) -> Option<String> {
        if let Some((Algorithm { name, .. }, mut hasher)) = self.hasher {
            let stated = self.hash.get(name.len()..).unwrap_or_default();
            let stated = String::from_utf8_lossy(stated.split(|&byte| byte == b'=').next().unwrap_or_default());
            let mut digest = vec![0; hasher.output_size()];
            hasher.finalize_into_reset(&mut digest).expect("the size of the digest");
            let hash = url_safe_base64(&digest);
            if stated != hash {
                return Some(format!("differs from RECORD, which states {name}{stated}; the file has {name}{hash}"));
            }
        }
        let size = self.size.to_string();
        let stated = String::from_utf8_lossy(self.stated_size);
        let is_right = stated.is_empty() || stated == size;
        if is_right { None } else { Some(format!("has {size} bytes, and {stated} in RECORD")) }
    }
}

/// Encodes bytes in base64 with `-` and `_`, without padding (RFC 4648, section 5).
pub fn url_safe_base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().chain(&[0; 3]).take(3).fold(0_usize, |group, &byte| group << 8 | usize::from(byte));
        // The digits of the bytes, and one for the bits that are left.
        for (digit, _) in [group >> 18, group >> 12, group >> 6, group].into_iter().zip(0..=chunk.len()) {
            text.push(DIGITS.get(digit & 63).copied().unwrap_or_default().into());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_every_length() {
        let encoded = ["", "_w", "__8", "____", "-_8", "Zm9vYmFy"];
        for (bytes, encoded) in
            [&b""[..], b"\xff", b"\xff\xff", b"\xff\xff\xff", b"\xfb\xff", b"foobar"].iter().zip(encoded)
        {
            assert_eq!(url_safe_base64(bytes), encoded);
        }
    }

    /// Hashes of "abc" (FIPS 180-2), in base64.
    #[test]
    fn a_member_that_differs_from_its_row_contradicts_it() {
        let good = "sha256=ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";
        let compare = |hash: &str, size: &str| {
            let mut comparison = RowComparison::new("a".into(), 7, hash.as_bytes(), size.as_bytes());
            comparison.add(b"a");
            comparison.add(b"bc");
            comparison.finish().map(|error| error.to_string())
        };
        for (hash, size) in [
            (good, "3"),
            (&format!("{good}="), ""),
            ("sha384=ywB1P0WjXou1oD1pmsZQBycsMqsO3tFjGotgWkP_W-2AhgcroefMI1i67KE0yCWn", "3"),
            ("sha512=3a81oZNherrMQXNJriBBMRLm-k6JqX6iCp7u5ktV05ohkpkqJ0_BqDa6PCOj_uu9RU1EI2Q86A4qmslPpUyknw", "3"),
            ("", "3"),
            ("", ""),
            ("md5=0", ""),
        ] {
            assert_eq!(compare(hash, size), None, "{hash}");
        }
        let stated =
            |algorithm: &str| format!("wheel at 0x7: a differs from RECORD, which states {algorithm}=x; the file has");
        for algorithm in ["sha256", "sha384", "sha512"] {
            let found = compare(&format!("{algorithm}=x"), "3").unwrap();
            assert!(found.starts_with(&stated(algorithm)), "{found}");
        }
        for hash in [good, ""] {
            assert_eq!(compare(hash, "4").unwrap(), "wheel at 0x7: a has 3 bytes, and 4 in RECORD");
        }
    }
}
