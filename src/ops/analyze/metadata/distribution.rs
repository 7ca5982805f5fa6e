//! Metadata of Debian and RPM packages about devices.
//!
//! Debian's ROCm packages name their processors, separated by spaces, in the field `X-ROCm-GPU-Architecture`;
//! rocm-target-arch of pkg-rocm-tools 0.9.6 reads it (its manual page). No RPM distribution provides names of devices:
//! `gpu(NAME)` follows `pkgconfig(NAME)`. ROCm 10 has a package of each library for each processor, and one for all:
//! `amdrocm-blas-gfx942`, `amdrocm-blas`. Dependencies on one of them are written as in ROCm/AMDMIGraphX, pull request
//! 5120, because weak dependencies do not install any.

use super::device_code::DeviceCode;

/// Names of the devices and PTX that the code is for, sorted.
fn names(code: &DeviceCode) -> Vec<String> {
    let amd = code.amd_processors().into_iter().map(str::to_owned);
    let spirv = code.has_amd_spirv.then(|| "amdgcnspirv".to_owned());
    let cubins = code.cubins.iter().map(ToString::to_string);
    let ptx = code.ptx.iter().map(|arch| arch.to_string().replacen("sm_", "compute_", 1));
    amd.chain(spirv).chain(cubins).chain(ptx).collect()
}

/// Returns whether the formats can describe the code.
pub fn describes(code: &DeviceCode) -> bool {
    !names(code).is_empty()
}

/// Returns substitution variables for `debian/PACKAGE.substvars`. Each of `packages` exists for all devices, and with
/// the name of a device at the end for one.
pub fn debian(code: &DeviceCode, packages: &[String]) -> String {
    let mut text = format!("gpu:Architecture={}\n", names(code).join(" "));
    if !packages.is_empty() {
        let alternatives = packages.iter().map(|package| {
            let of_devices = names(code).into_iter().map(|name| format!(" | {package}-{name}"));
            format!("{package}{}", of_devices.collect::<String>())
        });
        text += &format!("gpu:Depends={}\n", alternatives.collect::<Vec<_>>().join(", "));
    }
    text
}

/// Returns lines for a spec file. Rich dependencies are of RPM 4.13.
pub fn rpm(code: &DeviceCode, packages: &[String]) -> String {
    let mut text: String = names(code).iter().map(|name| format!("Provides: gpu({name})\n")).collect();
    for package in packages {
        let of_devices = names(code).into_iter().map(|name| format!("{package}-{name} or "));
        text += &format!("Requires: ({}{package})\n", of_devices.collect::<String>());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::device_code::tests::code;
    use super::*;

    #[test]
    fn names_devices_and_alternatives() {
        let packages = ["amdrocm-blas".to_owned(), "amdrocm-dnn".to_owned()];
        let both = code("gfx942 gfx90a:xnack+");
        let expected = "gpu:Architecture=gfx90a gfx942\n\
                        gpu:Depends=amdrocm-blas | amdrocm-blas-gfx90a | amdrocm-blas-gfx942, \
                        amdrocm-dnn | amdrocm-dnn-gfx90a | amdrocm-dnn-gfx942\n";
        assert_eq!(debian(&both, &packages), expected);
        assert_eq!(debian(&code("sm_90 compute_90"), &[]), "gpu:Architecture=sm_90 compute_90\n");
        let expected = "Provides: gpu(gfx1200)\nProvides: gpu(gfx1201)\n\
                        Requires: (amdrocm-blas-gfx1200 or amdrocm-blas-gfx1201 or amdrocm-blas)\n";
        assert_eq!(rpm(&code("gfx12-generic"), &packages[..1]), expected);
        assert!(!describes(&code("spirv")) && describes(&code("amdgcnspirv")));
    }
}
