//! Releases of CUDA: their drivers, and the features that each release introduced. Driver numbers are for Linux on
//! x86-64, unless Windows is named.

use super::{DriverNumber, Floor, Release};
use fatbin_core::format::readers::Product;
use fatbin_core::target::nvptx::{Arch, FIRST_DATED, NEWEST, OLDEST, first_release};

/// A release and the driver that was shipped with it, if its number is known.
type DriverRow = ((u32, u32), Option<[u32; 3]>);

/// Source: NVIDIA, CUDA Toolkit Release Notes, CUDA Toolkit and Corresponding Driver Versions, minimum of the general
/// releases. CUDA 12.7 had no toolkit, only drivers of branch 565. The numbers for 13.4 and 13.5 are not known.
const DRIVERS: [DriverRow; 34] = [
    ((7, 0), Some([346, 46, 0])),
    ((7, 5), Some([352, 31, 0])),
    ((8, 0), Some([367, 48, 0])),
    ((9, 0), Some([384, 81, 0])),
    ((9, 1), Some([390, 46, 0])),
    ((9, 2), Some([396, 26, 0])),
    ((10, 0), Some([410, 48, 0])),
    ((10, 1), Some([418, 39, 0])),
    ((10, 2), Some([440, 33, 0])),
    ((11, 0), Some([450, 51, 5])),
    ((11, 1), Some([455, 23, 0])),
    ((11, 2), Some([460, 27, 3])),
    ((11, 3), Some([465, 19, 1])),
    ((11, 4), Some([470, 42, 1])),
    ((11, 5), Some([495, 29, 5])),
    ((11, 6), Some([510, 39, 1])),
    ((11, 7), Some([515, 43, 4])),
    ((11, 8), Some([520, 61, 5])),
    ((12, 0), Some([525, 60, 13])),
    ((12, 1), Some([530, 30, 2])),
    ((12, 2), Some([535, 54, 3])),
    ((12, 3), Some([545, 23, 6])),
    ((12, 4), Some([550, 54, 14])),
    ((12, 5), Some([555, 42, 2])),
    ((12, 6), Some([560, 28, 3])),
    ((12, 7), Some([565, 0, 0])),
    ((12, 8), Some([570, 26, 0])),
    ((12, 9), Some([575, 51, 3])),
    ((13, 0), Some([580, 65, 6])),
    ((13, 1), Some([590, 44, 1])),
    ((13, 2), Some([595, 45, 4])),
    ((13, 3), Some([610, 43, 2])),
    ((13, 4), None),
    ((13, 5), None),
];

/// Drivers that load cubins of every toolkit with the same major number. Source: NVIDIA, CUDA Compatibility, Minor
/// Version Compatibility. Cubins of earlier toolkits need the driver of their release.
const FAMILIES: [((u32, u32), [u32; 3]); 3] =
    [((11, 0), [450, 80, 2]), ((12, 0), [525, 60, 13]), ((13, 0), [580, 65, 6])];

/// Like [`DRIVERS`], for Windows. CUDA 13 has no driver for Windows. Source: as above, table of CUDA 13.2 Update 2.
const WINDOWS_DRIVERS: [((u32, u32), [u32; 3]); 27] = [
    ((7, 0), [347, 62, 0]),
    ((7, 5), [353, 66, 0]),
    ((8, 0), [369, 30, 0]),
    ((9, 0), [385, 54, 0]),
    ((9, 1), [391, 29, 0]),
    ((9, 2), [397, 44, 0]),
    ((10, 0), [411, 31, 0]),
    ((10, 1), [418, 96, 0]),
    ((10, 2), [441, 22, 0]),
    ((11, 0), [451, 48, 0]),
    ((11, 1), [456, 38, 0]),
    ((11, 2), [460, 82, 0]),
    ((11, 3), [465, 89, 0]),
    ((11, 4), [471, 11, 0]),
    ((11, 5), [496, 4, 0]),
    ((11, 6), [511, 23, 0]),
    ((11, 7), [516, 1, 0]),
    ((11, 8), [520, 6, 0]),
    ((12, 0), [527, 41, 0]),
    ((12, 1), [531, 14, 0]),
    ((12, 2), [536, 25, 0]),
    ((12, 3), [545, 84, 0]),
    ((12, 4), [551, 61, 0]),
    ((12, 5), [555, 85, 0]),
    ((12, 6), [560, 76, 0]),
    ((12, 8), [570, 65, 0]),
    ((12, 9), [576, 2, 0]),
];

/// Like [`FAMILIES`], for Windows.
const WINDOWS_FAMILIES: [((u32, u32), [u32; 3]); 2] = [((11, 0), [452, 39, 0]), ((12, 0), [528, 33, 0])];

/// Returns a release with the number of its driver for Windows, if that is known. `is_family`: the driver loads the
/// cubins of every toolkit with the same major number.
pub fn on_windows(release: Release, is_family: bool) -> Release {
    if release.product != Product::Cuda {
        return release;
    }
    let number = |rows: &[((u32, u32), [u32; 3])]| {
        rows.iter().find(|(version, _)| *version == release.version).map(|(_, driver)| DriverNumber(*driver))
    };
    let family = if is_family { number(&WINDOWS_FAMILIES) } else { None };
    Release { driver: family.or_else(|| number(&WINDOWS_DRIVERS)), ..release }
}

/// Versions of the PTX ISA, each with the first release whose driver compiles it. Source: cuda-bindings 13.5.0 of
/// NVIDIA, `cuda/bindings/utils/_ptx_utils.py`; the newest version that ptxas accepts agrees for 11.8, 12.0, 12.4,
/// 12.8, 12.9, 13.0 and
/// 13.5.
const PTX: [((u16, u16), (u32, u32)); 44] = [
    ((1, 0), (1, 0)),
    ((1, 1), (1, 1)),
    ((1, 2), (2, 0)),
    ((1, 3), (2, 1)),
    ((1, 4), (2, 2)),
    ((2, 0), (3, 0)),
    ((2, 1), (3, 1)),
    ((2, 2), (3, 2)),
    ((2, 3), (4, 0)),
    ((3, 0), (4, 1)),
    ((3, 1), (5, 0)),
    ((3, 2), (5, 5)),
    ((4, 0), (6, 0)),
    ((4, 1), (6, 5)),
    ((4, 2), (7, 0)),
    ((4, 3), (7, 5)),
    ((5, 0), (8, 0)),
    ((6, 0), (9, 0)),
    ((6, 1), (9, 1)),
    ((6, 2), (9, 2)),
    ((6, 3), (10, 0)),
    ((6, 4), (10, 1)),
    ((6, 5), (10, 2)),
    ((7, 0), (11, 0)),
    ((7, 1), (11, 1)),
    ((7, 2), (11, 2)),
    ((7, 3), (11, 3)),
    ((7, 4), (11, 4)),
    ((7, 5), (11, 5)),
    ((7, 6), (11, 6)),
    ((7, 7), (11, 7)),
    ((7, 8), (11, 8)),
    ((8, 0), (12, 0)),
    ((8, 1), (12, 1)),
    ((8, 2), (12, 2)),
    ((8, 3), (12, 3)),
    ((8, 4), (12, 4)),
    ((8, 5), (12, 5)),
    ((8, 6), (12, 7)),
    ((8, 7), (12, 8)),
    ((8, 8), (12, 9)),
    ((9, 0), (13, 0)),
    ((9, 1), (13, 1)),
    ((9, 2), (13, 2)),
];

/// Like [`PTX`], the newest versions.
const NEWEST_PTX: [((u16, u16), (u32, u32)); 3] = [((9, 3), (13, 3)), ((9, 4), (13, 4)), ((9, 5), (13, 5))];

/// First release with Tile IR.
const FIRST_TILE_IR: (u32, u32) = (13, 1);

/// Returns a release of CUDA with its driver.
pub fn release(version: (u32, u32)) -> Release {
    let driver = DRIVERS.iter().find(|(known, _)| *known == version).and_then(|(_, driver)| driver.map(DriverNumber));
    Release { driver, ..Release::new(Product::Cuda, version) }
}

/// Returns the CUDA release of a driver; `None` for a driver that is older or newer than the table. Missing parts of a
/// version number are taken from the newest driver.
pub fn release_of_driver(parts: &[u32]) -> Option<(u32, u32)> {
    let (_, newest) = DRIVERS.iter().rev().find_map(|(version, driver)| Some((version, (*driver)?)))?;
    if parts.first() > newest.first() {
        return None;
    }
    let mut rows = DRIVERS.iter().rev();
    rows.find(|(_, driver)| driver.is_some_and(|first| is_at_least(parts, first))).map(|(version, _)| *version)
}

/// Returns whether a driver is not older than another. Missing parts of its version number are taken from the newest
/// driver.
pub fn is_at_least(parts: &[u32], first: [u32; 3]) -> bool {
    parts >= first.get(..parts.len()).unwrap_or(&first)
}

/// Returns the floor of PTX with a version of the ISA.
pub fn ptx(version: (u16, u16)) -> Floor {
    let mut rows = PTX.iter().chain(&NEWEST_PTX);
    if let Some((_, first)) = rows.clone().find(|(known, _)| *known == version) {
        return Floor::since(release(*first));
    }
    match rows.rfind(|(known, _)| *known < version) {
        // A version that was never published.
        Some((_, before)) if *before < NEWEST => Floor { most: None, ..Floor::since(release(*before)) },
        Some(_) => newer(),
        None => Floor::UNKNOWN,
    }
}

/// Returns the floor of Tile IR. Its versions are those of the releases of CUDA since 13.1.
pub fn tile_ir((major, minor): (u16, u16)) -> Floor {
    match (u32::from(major), u32::from(minor)) {
        version if version > NEWEST => newer(),
        version if version >= FIRST_TILE_IR => Floor::since(release(version)),
        _ => Floor::UNKNOWN,
    }
}

/// Returns the floor of machine code for an architecture, including the floor of the architecture's devices.
pub fn arch(arch: Arch) -> Floor {
    match first_release(arch) {
        Some(OLDEST) if arch.number < FIRST_DATED => Floor::until(release(OLDEST)),
        Some(first) => Floor::since(release(first)),
        None if arch.suffix.is_some() => Floor { most: None, ..self::arch(Arch { suffix: None, ..arch }) },
        None => Floor::UNKNOWN,
    }
}

/// Returns the floor of cubins that tools of a release wrote.
pub fn toolkit((major, minor): (u16, u16)) -> Floor {
    let version = (u32::from(major), u32::from(minor));
    if let Some((family, driver)) = FAMILIES.iter().find(|((family, _), _)| *family == version.0) {
        return Floor::since(Release { driver: Some(DriverNumber(*driver)), ..release(*family) });
    }
    if PTX.iter().any(|(_, known)| *known == version) {
        return Floor::since(release(version));
    }
    if version > NEWEST { newer() } else { Floor::UNKNOWN }
}

/// Floor of anything that needs a release newer than the tables.
fn newer() -> Floor {
    Floor::after(release(NEWEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_core::target::nvptx::ARCHITECTURES;

    #[test]
    fn drivers_for_windows_have_other_numbers() {
        let release = |version| release(version);
        let cases = [
            (release((12, 0)), true, "CUDA 12.0 (driver 528.33)"),
            (release((12, 0)), false, "CUDA 12.0 (driver 527.41)"),
            (release((12, 4)), false, "CUDA 12.4 (driver 551.61)"),
            (release((10, 2)), true, "CUDA 10.2 (driver 441.22)"),
            (release((13, 0)), true, "CUDA 13.0"),
            (Release::new(Product::Rocm, (6, 4)), false, "ROCm 6.4"),
        ];
        for (linux, is_family, expected) in cases {
            assert_eq!(on_windows(linux, is_family).to_string(), expected);
        }
        assert!(WINDOWS_DRIVERS.is_sorted());
        assert!(WINDOWS_DRIVERS.iter().all(|(version, _)| DRIVERS.iter().any(|(known, _)| known == version)));
    }

    fn floor_of_arch(name: &str) -> String {
        arch(Arch::parse(name).unwrap()).to_string()
    }

    #[test]
    fn tables_are_sorted() {
        assert!(DRIVERS.is_sorted());
        let numbers: Vec<[u32; 3]> = DRIVERS.iter().filter_map(|(_, driver)| *driver).collect();
        assert!(numbers.is_sorted());
        assert!(PTX.iter().chain(&NEWEST_PTX).is_sorted());
        assert!(PTX.iter().chain(&NEWEST_PTX).map(|(_, cuda)| cuda).is_sorted());
        assert_eq!(NEWEST_PTX.last().unwrap().1, NEWEST);
        assert_eq!(DRIVERS.last().unwrap().0, NEWEST);
    }

    #[test]
    fn ptx_needs_the_release_that_introduced_its_version() {
        assert_eq!(ptx((7, 0)).to_string(), "CUDA 11.0 (driver 450.51.05)");
        assert_eq!(ptx((8, 6)).to_string(), "CUDA 12.7 (driver 565)");
        assert_eq!(ptx((8, 7)).to_string(), "CUDA 12.8 (driver 570.26)");
        assert_eq!(ptx((9, 5)).to_string(), "CUDA 13.5");
        assert_eq!(ptx((4, 1)).to_string(), "CUDA 6.5");
        assert_eq!(ptx((9, 6)).to_string(), "unknown, newer than CUDA 13.5");
        assert_eq!(ptx((8, 9)).to_string(), "unknown, at least CUDA 12.9 (driver 575.51.03)");
        assert_eq!(ptx((0, 9)), Floor::UNKNOWN);
    }

    /// `tileiras` 13.5 calls 13.6 an unsupported version.
    #[test]
    fn tile_ir_needs_the_release_of_its_version() {
        assert_eq!(tile_ir((13, 1)).to_string(), "CUDA 13.1 (driver 590.44.01)");
        assert_eq!(tile_ir((13, 5)).to_string(), "CUDA 13.5");
        assert_eq!(tile_ir((13, 6)).to_string(), "unknown, newer than CUDA 13.5");
        assert_eq!(tile_ir((13, 0)), Floor::UNKNOWN);
    }

    #[test]
    fn cubins_need_the_first_driver_of_their_family() {
        for minor in [0, 1, 8] {
            assert_eq!(toolkit((11, minor)).to_string(), "CUDA 11.0 (driver 450.80.02)");
        }
        assert_eq!(toolkit((12, 9)).to_string(), "CUDA 12.0 (driver 525.60.13)");
        assert_eq!(toolkit((13, 5)).to_string(), "CUDA 13.0 (driver 580.65.06)");
        assert_eq!(toolkit((10, 2)).to_string(), "CUDA 10.2 (driver 440.33)");
        assert_eq!(toolkit((9, 1)).to_string(), "CUDA 9.1 (driver 390.46)");
        assert_eq!(toolkit((6, 5)).to_string(), "CUDA 6.5");
        assert_eq!(toolkit((10, 7)), Floor::UNKNOWN);
        assert_eq!(toolkit((14, 0)).to_string(), "unknown, newer than CUDA 13.5");
    }

    #[test]
    fn architectures_need_the_release_that_introduced_them() {
        assert_eq!(floor_of_arch("sm_80"), "CUDA 11.0 (driver 450.51.05)");
        assert_eq!(floor_of_arch("sm_90"), "CUDA 11.8 (driver 520.61.05)");
        assert_eq!(floor_of_arch("sm_90a"), "CUDA 12.0 (driver 525.60.13)");
        assert_eq!(floor_of_arch("sm_120"), "CUDA 12.8 (driver 570.26)");
        assert_eq!(floor_of_arch("sm_121a"), "CUDA 12.9 (driver 575.51.03)");
        assert_eq!(floor_of_arch("sm_107f"), "CUDA 13.4");
        assert_eq!(floor_of_arch("sm_35"), "CUDA 7.0 (driver 346.46) or older");
        assert_eq!(floor_of_arch("sm_130"), "unknown");
        assert_eq!(floor_of_arch("sm_90f"), "unknown, at least CUDA 11.8 (driver 520.61.05)");
    }

    #[test]
    fn every_architecture_since_cuda_7_is_dated() {
        for architecture in ARCHITECTURES.iter().filter(|it| it.number >= FIRST_DATED) {
            let suffixes = architecture.suffixes.iter().map(|suffix| Some(*suffix));
            for suffix in std::iter::once(None).chain(suffixes) {
                let arch = Arch { number: architecture.number, suffix };
                assert!(first_release(arch).is_some(), "{arch}");
            }
        }
    }

    #[test]
    fn drivers_belong_to_releases() {
        let release = |parts: &[u32]| release_of_driver(parts);
        assert_eq!(release(&[550]), Some((12, 4)));
        assert_eq!(release(&[550, 54, 14]), Some((12, 4)));
        assert_eq!(release(&[550, 40]), Some((12, 3)));
        assert_eq!(release(&[470]), Some((11, 4)));
        assert_eq!(release(&[611]), None);
        assert_eq!(release(&[340]), None);
    }
}
