//! `verify` for people: a line for each file.

use super::text::{counted, printable};
use crate::format::ImageKind;
use crate::inventory::File;

/// How many device images a file has, and in how many places something is wrong with it.
pub fn verified_text(file: &File, wrong: usize) -> String {
    let images = match file.device_images().count() {
        0 => "no device images".to_owned(),
        count => counted(count, "device image"),
    };
    // Of these nothing but the size that their container states can be looked at.
    let unknown = file.device_images().filter(|image| image.image_kind == ImageKind::Unknown).count();
    let told = match (wrong, unknown) {
        (0, 0) if file.device_images().next().is_some() => format!("{images}, whole"),
        (0, 0) => images,
        (0, unknown) => format!("{images}, whole as far as can be told: {unknown} of unknown form"),
        (wrong, _) => format!("{images}, {}", counted(wrong, "problem")),
    };
    format!("{}: {told}\n", printable(&file.path))
}
