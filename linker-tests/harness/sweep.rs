//! Removal of the temporary files of libomptarget, which copies images to /tmp, regardless of TMPDIR, and leaves them there.
//!
//! Files are removed once, after the last program has ended: another trial may be about to load one. Only files are removed
//! that are newer than this run and equal to an image that a trial has made.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// Name of the device images for libomptarget.
const IMAGE: &str = "device.so";

/// Removes the files since `start`. Files that cannot be read or removed belong to other users and stay.
pub fn after_libomptarget(start: SystemTime) {
    let mut images = HashSet::new();
    collect_images(Path::new(env!("CARGO_TARGET_TMPDIR")), &mut images);
    let Ok(entries) = fs::read_dir("/tmp") else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with("tmpfile_");
        let is_new = entry.metadata().and_then(|metadata| metadata.modified()).is_ok_and(|modified| modified >= start);
        if is_ours && is_new && fs::read(entry.path()).is_ok_and(|bytes| images.contains(&bytes)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn collect_images(directory: &Path, images: &mut HashSet<Vec<u8>>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        // A link is not followed: Wine's directory has one to the root of the file system.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect_images(&path, images);
        } else if path.file_name().is_some_and(|name| name == IMAGE) {
            images.extend(fs::read(&path).ok());
        }
    }
}
