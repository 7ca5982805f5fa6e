//! Releases of CUDA whose compilers support an architecture.

use super::{ARCHITECTURES, Arch};

/// A release of CUDA: major and minor number.
pub type CudaRelease = (u32, u32);

/// Architectures, each with the first release that supports it. Source: LLVM, NVPTXTargetParser.def (337115da).
const FIRST: [(&[&str], CudaRelease); 16] = [
    (&["sm_50", "sm_52", "sm_53"], (7, 0)),
    (&["sm_60", "sm_61", "sm_62"], (8, 0)),
    (&["sm_70"], (9, 0)),
    (&["sm_72"], (9, 1)),
    (&["sm_75"], (10, 0)),
    (&["sm_80"], (11, 0)),
    (&["sm_86"], (11, 1)),
    (&["sm_87"], (11, 4)),
    (&["sm_89", "sm_90"], (11, 8)),
    (&["sm_90a"], (12, 0)),
    (&["sm_100", "sm_100a", "sm_101", "sm_101a", "sm_120", "sm_120a"], (12, 8)),
    (&["sm_100f", "sm_101f", "sm_103", "sm_103a", "sm_103f"], (12, 9)),
    (&["sm_120f", "sm_121", "sm_121a", "sm_121f"], (12, 9)),
    (&["sm_88", "sm_110", "sm_110a", "sm_110f"], (13, 0)),
    (&["sm_107", "sm_107a", "sm_107f"], (13, 4)),
    // Supported by the oldest release in the source, and perhaps by earlier releases.
    (&["sm_30", "sm_32", "sm_35", "sm_37"], OLDEST),
];

/// The oldest release in the source of [`FIRST`].
pub const OLDEST: CudaRelease = (7, 0);

/// The first architecture that [`OLDEST`] introduced.
pub const FIRST_DATED: u32 = 50;

/// The newest release in the tables.
pub const NEWEST: CudaRelease = (13, 5);

/// Numbers of architectures, each range with the last release that supports it. Source: `ptxas --help` of CUDA 11.8,
/// 12.0, 12.9, 13.0 and 13.5; CUDA release notes for sm_30 and sm_32.
const LAST: [(std::ops::RangeInclusive<u32>, CudaRelease); 5] =
    [(20..=21, (8, 0)), (30..=32, (10, 2)), (35..=37, (11, 8)), (50..=72, (12, 9)), (101..=101, (12, 9))];

/// Returns the first release that supports an architecture; `None` for an unknown one.
pub fn first_release(arch: Arch) -> Option<CudaRelease> {
    let name = arch.to_string();
    FIRST.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, first)| *first)
}

/// Returns the architectures without a suffix that the compilers of a release support, in order.
pub fn architectures_of(release: CudaRelease) -> impl Iterator<Item = Arch> {
    let archs = ARCHITECTURES.iter().map(|it| Arch { number: it.number, suffix: None });
    archs.filter(move |arch| {
        let last = LAST.iter().find(|(numbers, _)| numbers.contains(&arch.number)).map(|(_, last)| *last);
        first_release(*arch).is_some_and(|first| first <= release) && last.is_none_or(|last| release <= last)
    })
}
