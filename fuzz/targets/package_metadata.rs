//! Reads arbitrary bytes as the metadata of a package. The path of the file precedes them, with a NUL between.

#![no_main]

use fatbin::scan::FilePath;
use fatbin_fuzz::fuzz_target;
use fatbin_ops::analyze::metadata::{DeviceCode, PackageMetadata};

fuzz_target!(|data: &[u8]| {
    let Some(split) = data.iter().position(|&byte| byte == 0) else { return };
    let (path, bytes) = (FilePath::parse(&String::from_utf8_lossy(&data[..split])), &data[split + 1..]);
    let has_path = PackageMetadata::has_path(&path);
    let metadata = match PackageMetadata::parse(&path, bytes) {
        Ok(Some(metadata)) => metadata,
        Ok(None) => return,
        Err(error) => return fatbin_fuzz::check_text(&error.to_string()),
    };
    assert!(has_path && metadata.covers(&path), "metadata is a file of its package");
    let nothing = DeviceCode::default();
    assert_eq!(metadata.accepts(&nothing), None);
    for claim in &metadata.claims {
        let _ = claim.meaning.contradiction(&nothing);
        for number in 0..200 {
            let _ = claim.meaning.accepts_nvidia(number);
        }
    }
});
