//! `requires`: the oldest releases that load the device code of files.

mod json;
mod text;

pub use json::requires_json;
pub(super) use text::named;
pub use text::requires_text;

use crate::analyze::select::{DeviceNeed, FileFloors};

/// A file with the floors on some devices.
#[derive(Debug)]
pub struct RequiredFile<'a> {
    /// The floors of the file.
    pub floors: FileFloors<'a>,
    /// Names of devices, each with what it needs; nothing if nothing in the file runs on it, or no floor is known.
    pub devices: Vec<(String, Vec<DeviceNeed>)>,
    /// Names of devices that can run some code without a known minimum release of any product.
    pub without_floor: Vec<String>,
    /// Number of further devices that the code is for.
    pub omitted_devices: usize,
}
