//! Releases of nvJitLink that link LTO-IR.
//!
//! A release links the versions up to its own: nvJitLink 13.0.88 refuses version 1.67 ("may need newer version of
//! nvJitLink library"), 13.5.37 links versions 1.65 and 1.67. Versions of LTO-IR by release: files of nvcc 13.0 and 13.5;
//! for CUDA 12.4 see `fatbin_core::format::lto_ir`.

/// Releases of CUDA, each with the version of its LTO-IR, in order.
const VERSIONS: [((u16, u16), (u16, u16)); 3] = [((1, 61), (12, 4)), ((1, 65), (13, 0)), ((1, 67), (13, 5))];

/// Returns the releases of nvJitLink that link a version, as a noun.
pub fn nvjitlink(version: (u16, u16)) -> String {
    let next = VERSIONS.iter().find(|(known, _)| *known >= version);
    let previous = VERSIONS.iter().rfind(|(known, _)| *known < version);
    let text = |(_, (major, minor)): &((u16, u16), (u16, u16))| format!("CUDA {major}.{minor}");
    match (previous, next) {
        (_, Some(exact)) if exact.0 == version => format!("nvJitLink of {} or newer", text(exact)),
        (Some(previous), Some(next)) => format!("nvJitLink newer than {}, at most of {}", text(previous), text(next)),
        (None, Some(next)) => format!("nvJitLink of {} or older", text(next)),
        (Some(previous), None) => format!("nvJitLink newer than {}", text(previous)),
        (None, None) => "nvJitLink".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_releases_link_earlier_versions() {
        let cases = [
            ((1, 60), "nvJitLink of CUDA 12.4 or older"),
            ((1, 61), "nvJitLink of CUDA 12.4 or newer"),
            ((1, 64), "nvJitLink newer than CUDA 12.4, at most of CUDA 13.0"),
            ((1, 65), "nvJitLink of CUDA 13.0 or newer"),
            ((1, 67), "nvJitLink of CUDA 13.5 or newer"),
            ((1, 68), "nvJitLink newer than CUDA 13.5"),
        ];
        for (version, expected) in cases {
            assert_eq!(nvjitlink(version), expected);
        }
    }
}
