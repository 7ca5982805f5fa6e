//! An NVIDIA driver as users name it: by its number, or by the CUDA release of its interface.

use std::fmt;

use super::{Floor, Limit, cuda};
use fatbin_core::target::Device;
use fatbin_core::target::nvptx::Arch;

/// A driver that must load code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Driver {
    /// A driver with the interface of a release of CUDA.
    Cuda((u32, u32)),
    /// A number or the start of one: `550` is the newest driver of that branch.
    Number(Vec<u32>),
}

/// Smallest number of a driver's branch; smaller numbers are releases of CUDA.
const FIRST_BRANCH: u32 = 100;

impl Driver {
    /// Parses `550`, `550.54.14` or `driver-550`, and `12.4` or `cuda-12.4`.
    pub fn parse(text: &str) -> Option<Driver> {
        let (numbers, is_number) = match (text.strip_prefix("driver-"), text.strip_prefix("cuda-")) {
            (Some(numbers), _) => (numbers, Some(true)),
            (None, Some(numbers)) => (numbers, Some(false)),
            (None, None) => (text, None),
        };
        // `parse` accepts a sign.
        if numbers.contains('+') {
            return None;
        }
        let parts: Vec<u32> = numbers.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
        match (parts.as_slice(), is_number) {
            ([branch, ..], None | Some(true)) if *branch >= FIRST_BRANCH && parts.len() <= 3 => {
                Some(Driver::Number(parts))
            }
            ([major], None | Some(false)) if *major < FIRST_BRANCH => Some(Driver::Cuda((*major, 0))),
            ([major, minor], None | Some(false)) if *major < FIRST_BRANCH => Some(Driver::Cuda((*major, *minor))),
            _ => None,
        }
    }

    /// Returns whether the driver is of this branch or an earlier one. `release` is the CUDA release of the branch.
    pub fn is_at_most(&self, branch: u32, release: (u32, u32)) -> bool {
        match self {
            Driver::Cuda(own) => *own <= release,
            Driver::Number(parts) => parts.first().is_some_and(|own| *own <= branch),
        }
    }

    /// Returns whether the driver loads code with a floor; `None` if that is not known.
    pub fn loads(&self, floor: Floor) -> Option<bool> {
        if self.reaches(floor.least) == Some(false) {
            return Some(false);
        }
        floor.most.and_then(|most| self.reaches(most)).filter(|reaches| *reaches)
    }

    /// Returns whether the driver supports a device; `None` if that is not known. It supports every device of other
    /// vendors.
    pub fn supports(&self, device: &Device) -> Option<bool> {
        let &Device::Nvidia(number) = device else { return Some(true) };
        self.loads(cuda::arch(Arch { number, suffix: None }))
    }

    fn reaches(&self, limit: Limit) -> Option<bool> {
        let Some(release) = limit.release else { return Some(true) };
        let is_reached = |own: (u32, u32)| own > release.version || own == release.version && !limit.is_after;
        match (self, release.driver) {
            (Driver::Cuda(own), _) => Some(is_reached(*own)),
            (Driver::Number(parts), Some(first)) if !limit.is_after => Some(cuda::is_at_least(parts, first.0)),
            (Driver::Number(parts), _) => cuda::release_of_driver(parts).map(is_reached),
        }
    }
}

/// Formats the driver as a noun.
impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Driver::Cuda((major, minor)) => write!(f, "the driver of CUDA {major}.{minor}"),
            Driver::Number(parts) => {
                let part = |(index, part): (usize, &u32)| {
                    if index == 0 { part.to_string() } else { format!("{part:02}") }
                };
                let parts: Vec<String> = parts.iter().enumerate().map(part).collect();
                write!(f, "driver {}", parts.join("."))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(text: &str) -> Driver {
        Driver::parse(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn numbers_and_releases_differ_in_size() {
        let cases = [
            ("550", "driver 550"),
            ("550.54.14", "driver 550.54.14"),
            ("525.60.03", "driver 525.60.03"),
            ("driver-450", "driver 450"),
            ("12.4", "the driver of CUDA 12.4"),
            ("cuda-13", "the driver of CUDA 13.0"),
        ];
        for (text, name) in cases {
            assert_eq!(driver(text).to_string(), name);
        }
        for text in ["", "x", "550.", "550.54.14.1", "cuda-550", "driver-12", "12.4.1", "-1", "+550", "12.x", "R550"] {
            assert_eq!(Driver::parse(text), None, "{text}");
        }
    }

    #[test]
    fn branches_follow_releases() {
        let is_at_most_580 = |text| driver(text).is_at_most(580, (13, 0));
        assert_eq!(["550", "580.159.04", "13.0", "590", "13.1"].map(is_at_most_580), [true, true, true, false, false]);
    }

    #[test]
    fn drivers_load_what_their_release_supports() {
        let since = |version| Floor::since(cuda::release(version));
        let cases = [
            ("550", since((12, 4)), Some(true)),
            ("550.54.14", since((12, 4)), Some(true)),
            ("550.54.13", since((12, 4)), Some(false)),
            ("12.4", since((12, 4)), Some(true)),
            ("12.3", since((12, 4)), Some(false)),
            ("450", cuda::toolkit((11, 8)), Some(true)),
            ("450.51.06", cuda::toolkit((11, 8)), Some(false)),
            ("11.0", cuda::toolkit((11, 8)), Some(true)),
            ("550", since((6, 5)), Some(true)),
            ("610", since((13, 5)), Some(false)),
            // The table has no number for CUDA 13.4 and 13.5.
            ("615", since((13, 5)), None),
            ("550", cuda::ptx((9, 6)), Some(false)),
            ("13.5", cuda::ptx((9, 6)), Some(false)),
            ("13.6", cuda::ptx((9, 6)), None),
            ("550", Floor::UNKNOWN, None),
            ("340", Floor::NONE, Some(true)),
            ("12.3", since((12, 4)).and(Floor::UNKNOWN), Some(false)),
            ("12.4", since((12, 4)).and(Floor::UNKNOWN), None),
        ];
        for (text, floor, loads) in cases {
            assert_eq!(driver(text).loads(floor), loads, "{text} {floor}");
        }
    }
}
