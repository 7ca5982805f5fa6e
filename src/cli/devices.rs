//! Values of the option `--device`.

use super::failure::{Context, Result};

use crate::analyze::select::NamedDevice;
use crate::scan::inventory::File;

/// Word for the devices of all GPUs that have a name.
const ALL: &str = "all";

/// Devices of a command line.
#[derive(Debug)]
pub struct RequestedDevices {
    named: Vec<NamedDevice>,
    are_all: bool,
}

impl RequestedDevices {
    /// Parses the values of the option.
    pub fn parse(names: &[String]) -> Result<RequestedDevices> {
        let is_all = |name: &&String| name.eq_ignore_ascii_case(ALL);
        let parse = |name: &String| NamedDevice::parse(name).with_context(|| format!("--device {name}"));
        let named = names.iter().filter(|name| !is_all(name)).map(parse).collect::<Result<_>>()?;
        Ok(RequestedDevices { named, are_all: names.iter().any(|name| is_all(&name)) })
    }

    /// Returns whether the option is not given.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.are_all
    }

    /// Returns whether `all` is among the values.
    pub fn are_all(&self) -> bool {
        self.are_all
    }

    /// Returns the devices. `all` stands for the platforms that the files have code for.
    pub fn of_files<'a>(&self, files: impl Iterator<Item = &'a File>) -> Vec<NamedDevice> {
        let mut devices = self.named.clone();
        if self.are_all {
            devices.extend(
                NamedDevice::all(files).into_iter().filter(|it| !self.named.iter().any(|own| own.name == it.name)),
            );
        }
        devices
    }
}
