//! `requires`: the oldest releases that load the device code of files.

mod json;
mod text;

pub use json::{required_json, requires_document, unread_json};
pub(super) use text::or_newer;
pub use text::requires_text;

use fatbin_ops::analyze::host_runtime::HostRuntime;
use fatbin_ops::analyze::select::{DeviceNeed, FileFloors, NamedDevice};

/// A file with the floors on some devices.
#[derive(Debug)]
pub struct RequiredFile<'a> {
    /// The floors of the file.
    pub floors: FileFloors<'a>,
    /// The devices.
    pub devices: Vec<RequiredDevice>,
    /// Number of further devices that the code is for.
    pub omitted_devices: usize,
    /// Libraries of runtimes that host code needs.
    pub host: Option<&'a HostRuntime>,
}

/// A device, and what it needs.
#[derive(Debug)]
pub struct RequiredDevice {
    /// The device.
    pub device: NamedDevice,
    /// Anything in the file runs on the device.
    pub runs: bool,
    /// What it needs; nothing if nothing in the file runs on it, or no floor is known.
    pub needs: Vec<DeviceNeed>,
}
