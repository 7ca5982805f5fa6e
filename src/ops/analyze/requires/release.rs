//! Releases of products that load device code.

use std::fmt;

use fatbin_core::format::readers::Product;

/// A release of a product. Releases of one product are ordered by their age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The product.
    pub product: Product,
    /// Major and minor number. For CUDA, this is the version of the driver's interface (`cuDriverGetVersion`).
    pub version: (u32, u32),
    /// Number of the driver for Linux, where one is known.
    pub driver: Option<DriverNumber>,
}

/// Number of an NVIDIA driver, such as 550.54.14. Missing parts are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverNumber(pub [u32; 3]);

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
            (Product::Apple(system), _) => write!(f, "{} {major}.{minor}", system.name()),
            (Product::Cuda, None) => write!(f, "CUDA {major}.{minor}"),
            (Product::Cuda, Some(driver)) => write!(f, "CUDA {major}.{minor} (driver {driver})"),
        }
    }
}
