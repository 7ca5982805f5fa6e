//! `RECORD` of a wheel whose members change.

use std::collections::HashMap;

use fatbin_core::base::archive::zip::comparison::url_safe_base64;
use fatbin_core::base::archive::zip::record::rows;

/// Hash and size of a file with new bytes.
#[derive(Debug, Clone, Copy)]
pub struct RecordedFile {
    pub sha256: [u8; 32],
    pub size: u64,
}

/// Returns a record with new hashes and sizes of these files. All other bytes stay. A row without a hash does not get
/// one.
pub fn with_files(record: &[u8], files: &HashMap<String, RecordedFile>) -> Vec<u8> {
    let mut out = Vec::with_capacity(record.len());
    for row in rows(record) {
        let text = row.columns.trim_ascii_end();
        let file = str::from_utf8(&row.file()).ok().and_then(|file| files.get(file));
        out.extend(row.path);
        match file {
            Some(file) if text.starts_with(b",") && !text.starts_with(b",,") => {
                let hash = url_safe_base64(&file.sha256);
                out.extend(format!(",sha256={hash},{}", file.size).bytes());
                out.extend(row.columns.iter().skip(text.len()));
            }
            _ => out.extend(row.columns),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_changed_files_get_their_hash_and_size() {
        let file = RecordedFile { sha256: [0; 32], size: 7 };
        let zeros = format!("sha256={}", "A".repeat(43));
        let names = ["a/b.so", "a,\"c\"\n.so", "p-1.dist-info/RECORD"];
        let files = HashMap::from(names.map(|name| (name.to_owned(), file)));
        let record =
            "a/b.so,sha256=x,1\r\na/b.so.1,sha512=y,2\n\"a,\"\"c\"\"\n.so\",sha512=z,3\np-1.dist-info/RECORD,,\n";
        let expected = format!(
            "a/b.so,{zeros},7\r\na/b.so.1,sha512=y,2\n\"a,\"\"c\"\"\n.so\",{zeros},7\np-1.dist-info/RECORD,,\n"
        );
        assert_eq!(String::from_utf8(with_files(record.as_bytes(), &files)).unwrap(), expected);
        // Without a line break at the end, without columns, and with an open quote.
        for (record, expected) in [
            ("a/b.so,sha256=x,1", format!("a/b.so,{zeros},7")),
            ("a/b.so", "a/b.so".to_owned()),
            ("\"a/b.so,sha256=x,1", "\"a/b.so,sha256=x,1".to_owned()),
        ] {
            assert_eq!(String::from_utf8(with_files(record.as_bytes(), &files)).unwrap(), expected);
        }
    }
}
