//! `verify` for people: a line for each file.

use super::text::{counted, printable};
use crate::inventory::File;

/// How many device images a file has, and in how many places something is wrong with it.
pub fn verified_text(file: &File, wrong: usize) -> String {
    let images = match file.device_images().count() {
        0 => "no device images".to_owned(),
        count => counted(count, "device image"),
    };
    let told = match wrong {
        0 if file.device_images().next().is_some() => format!("{images}, whole"),
        0 => images,
        wrong => format!("{images}, {}", counted(wrong, "problem")),
    };
    format!("{}: {told}\n", printable(&file.path))
}
