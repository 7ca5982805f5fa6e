//! Cleaning up after libomptarget, which writes an image to a file in /tmp to load it from there, whatever TMPDIR says, and
//! leaves it behind.
//!
//! It is done once, when no program of ours runs any more: a file that one trial finds may be what another is about to
//! load. What goes is only what is newer than this run and holds, to the byte, an image that a trial has made.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// The name that a trial gives to a device image for libomptarget.
const IMAGE: &str = "device.so";

/// Removes what was left since `start`. What cannot be read or removed stays: it is somebody else's.
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
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            collect_images(&path, images);
        } else if path.file_name().is_some_and(|name| name == IMAGE) {
            images.extend(fs::read(&path).ok());
        }
    }
}
