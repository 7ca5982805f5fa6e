//! Labels of groups.

use fatbin_core::target::natural_order;

/// Label of a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Label {
    /// A name in the file, or a path.
    Name(String),
    /// Bytes that have no such property.
    Rest(Rest),
}

/// Bytes that are not in an image, or not in a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rest {
    /// Everything outside of containers and sections for them.
    NotDeviceCode,
    /// Padding between containers, and after the last, in sections for them.
    Padding,
    /// Other bytes in these sections.
    Unexplained,
    /// Headers and tables of containers, and padding in them.
    ContainerHeaders,
    /// Host code in a bundle.
    HostCode,
    /// Bytes of images that belong to no kernel.
    NotInKernels,
    /// Bytes of images that belong to no section.
    NotInSections,
}

impl Rest {
    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Rest::NotDeviceCode => "not-device-code",
            Rest::Padding => "padding",
            Rest::Unexplained => "unexplained",
            Rest::ContainerHeaders => "container-headers",
            Rest::HostCode => "host-code",
            Rest::NotInKernels => "not-in-kernels",
            Rest::NotInSections => "not-in-sections",
        }
    }

    /// Name in tables.
    pub fn text(self) -> &'static str {
        match self {
            Rest::NotDeviceCode => "[not device code]",
            Rest::Padding => "[padding between containers]",
            Rest::Unexplained => "[unexplained]",
            Rest::ContainerHeaders => "[container headers]",
            Rest::HostCode => "[host code in bundles]",
            Rest::NotInKernels => "[not in kernels]",
            Rest::NotInSections => "[headers and padding of images]",
        }
    }
}

impl Label {
    /// Returns the text in tables.
    pub fn text(&self) -> &str {
        match self {
            Label::Name(name) => name,
            Label::Rest(rest) => rest.text(),
        }
    }

    /// Key that sorts labels as readers expect it.
    pub fn natural_order(&self) -> impl Ord + use<> {
        match self {
            Label::Name(name) => (false, natural_order(name)),
            Label::Rest(rest) => (true, natural_order(rest.name())),
        }
    }
}
