//! Releases of products that load device code.

use std::fmt;

use fatbin_core::format::readers::Product;
use fatbin_core::scan::inventory::{File, FileFormat};
use fatbin_core::target::metal;

/// A release of a product. Releases of one product are ordered by their age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The product.
    pub product: Product,
    /// Major and minor number. For CUDA, this is the version of the driver's interface (`cuDriverGetVersion`).
    pub version: (u32, u32),
    /// Patch level of a system. 0 for other products.
    pub patch: u32,
    /// Number of the driver for Linux, or for Windows in the floors of a file for Windows, where one is known.
    pub driver: Option<DriverNumber>,
}

/// System that a driver is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DriverSystem {
    /// Linux.
    Linux,
    /// Windows.
    Windows,
}

impl DriverSystem {
    /// Returns the system of the drivers that load the code of a file.
    pub fn of(file: &File) -> DriverSystem {
        match file.format {
            Some(FileFormat::Pe | FileFormat::Coff) => DriverSystem::Windows,
            _ => DriverSystem::Linux,
        }
    }
}

/// Number of an NVIDIA driver, such as 550.54.14. Missing parts are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverNumber(pub [u32; 3]);

impl Release {
    /// Creates a release without a patch level and the number of a driver.
    pub const fn new(product: Product, version: (u32, u32)) -> Release {
        Release { product, version, patch: 0, driver: None }
    }

    /// Creates a release of a system.
    pub fn of_system(system: metal::System, release: metal::Release) -> Release {
        let metal::Release { major, minor, patch } = release;
        Release { patch, ..Release::new(Product::Apple(system), (major, minor)) }
    }
}

impl fmt::Display for DriverNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [branch, 0, 0] => write!(f, "{branch}"),
            [branch, minor, 0] => write!(f, "{branch}.{minor:02}"),
            [branch, minor, patch] => write!(f, "{branch}.{minor:02}.{patch:02}"),
        }
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.version;
        match (self.product, self.driver) {
            (Product::Llvm, _) => write!(f, "LLVM {major}"),
            (Product::Rocm, _) => write!(f, "ROCm {major}.{minor}"),
            (Product::Apple(system), _) => {
                let release = metal::Release { major, minor, patch: self.patch };
                write!(f, "{} {release}", system.name())
            }
            (Product::Cuda, None) => write!(f, "CUDA {major}.{minor}"),
            (Product::Cuda, Some(driver)) => write!(f, "CUDA {major}.{minor} (driver {driver})"),
        }
    }
}
