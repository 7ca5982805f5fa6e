//! The option `--device`.

use clap::Args;

use super::failure::{Failure, parser};
use super::headings::SELECTION;
use super::known_names;
use fatbin_core::scan::inventory::File;
use fatbin_ops::analyze::select::NamedDevice;

/// Word for the devices of all GPUs that have a name.
pub const ALL: &str = "all";

/// Value of the option.
#[derive(Debug, Clone)]
enum Requested {
    All,
    Named(NamedDevice),
}

/// The devices that a command is about. A command may require them.
#[derive(Debug, Args)]
pub struct DeviceArguments {
    /// Devices, such as H100, MI300X, sm_90 or gfx90a:sramecc+:xnack-; all for every GPU with a name
    #[arg(
        help_heading = SELECTION,
        long,
        alias = "for-device",
        value_name = "DEVICE",
        value_delimiter = ',',
        value_parser = known_names::device(parser(parse)),
        hide_possible_values = true
    )]
    device: Vec<Requested>,
}

fn parse(name: &str) -> Result<Requested, Failure> {
    if name.eq_ignore_ascii_case(ALL) { Ok(Requested::All) } else { Ok(Requested::Named(NamedDevice::parse(name)?)) }
}

impl DeviceArguments {
    /// Returns whether the option is not given.
    pub fn is_empty(&self) -> bool {
        self.device.is_empty()
    }

    /// Returns whether `all` is among the values.
    pub fn are_all(&self) -> bool {
        self.device.iter().any(|it| matches!(it, Requested::All))
    }

    /// Returns the devices that have a name on the command line, each once.
    pub fn named(&self) -> Vec<NamedDevice> {
        let mut devices: Vec<NamedDevice> = Vec::new();
        for requested in &self.device {
            if let Requested::Named(device) = requested
                && !devices.iter().any(|known| known.name == device.name)
            {
                devices.push(device.clone());
            }
        }
        devices
    }

    /// Returns the devices. `all` stands for every GPU with a name.
    pub fn devices(&self) -> Vec<NamedDevice> {
        self.with(NamedDevice::of_gpus())
    }

    /// Returns the devices. `all` stands for the platforms that the files have code for.
    pub fn of_files<'a>(&self, files: impl Iterator<Item = &'a File>) -> Vec<NamedDevice> {
        self.with(NamedDevice::all(files))
    }

    /// Adds the devices of `all` to the named ones.
    fn with(&self, all: impl IntoIterator<Item = NamedDevice>) -> Vec<NamedDevice> {
        let mut devices = self.named();
        if self.are_all() {
            let others: Vec<_> =
                all.into_iter().filter(|it| !devices.iter().any(|named| named.name == it.name)).collect();
            devices.extend(others);
        }
        devices
    }
}
