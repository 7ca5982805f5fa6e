//! The tables of the sources as tests: each row is an image, a device, and the source's verdict on them.

use super::processors::PROCESSORS;
use super::runs_on::LoadMethod::{self, *};
use super::runs_on::{Code, CodeForm, Incompatibility};
use super::{Device, Platform, triple};

const NO: Option<LoadMethod> = None;

fn verdict(form: CodeForm, triple: Option<&str>, arch: &str, device: &str) -> Result<LoadMethod, Incompatibility> {
    let devices = Device::parse(device).unwrap();
    assert_eq!(devices.len(), 1, "{device} names one device");
    Code { form, triple, arch: Some(arch).filter(|arch| !arch.is_empty()) }.runs_on(&devices[0])
}

fn check(form: CodeForm, rows: &[(&str, &str, Option<LoadMethod>)]) {
    for &(arch, device, expected) in rows {
        let found = verdict(form, None, arch, device);
        assert_eq!(found.clone().ok(), expected, "{arch} {form:?} on {device}: {found:?}");
    }
}

#[test]
fn a_cubin_runs_on_its_own_and_later_minor_versions_of_one_major_version() {
    // The examples of the compatibility guides, and every desktop pair that was sold.
    check(
        CodeForm::Machine,
        &[
            ("sm_50", "sm_50", Some(Exact)),
            ("sm_50", "sm_52", Some(Compatible)),
            ("sm_52", "sm_50", NO),
            ("sm_60", "sm_61", Some(Compatible)),
            ("sm_61", "sm_60", NO),
            ("sm_60", "sm_70", NO),
            ("sm_70", "sm_75", Some(Compatible)),
            ("sm_75", "sm_70", NO),
            ("sm_70", "sm_80", NO),
            ("sm_75", "sm_80", NO),
            ("sm_80", "sm_80", Some(Exact)),
            ("sm_80", "sm_86", Some(Compatible)),
            ("sm_80", "sm_89", Some(Compatible)),
            ("sm_86", "sm_89", Some(Compatible)),
            ("sm_86", "sm_80", NO),
            ("sm_89", "sm_86", NO),
            ("sm_80", "sm_90", NO),
            ("sm_89", "sm_90", NO),
            ("sm_90", "sm_90", Some(Exact)),
            ("sm_90", "sm_100", NO),
            ("sm_100", "sm_100", Some(Exact)),
            ("sm_100", "sm_103", Some(Compatible)),
            ("sm_103", "sm_100", NO),
            ("sm_100", "sm_107", Some(Compatible)),
            ("sm_103", "sm_107", Some(Compatible)),
            ("sm_107", "sm_103", NO),
            ("sm_107", "sm_110", NO),
            ("sm_100", "sm_110", NO),
            ("sm_100", "sm_120", NO),
            ("sm_120", "sm_121", Some(Compatible)),
            ("sm_121", "sm_120", NO),
        ],
    );
}

#[test]
fn machine_code_of_desktop_and_embedded_parts_is_not_compatible() {
    check(
        CodeForm::Machine,
        &[
            ("sm_52", "sm_53", NO),
            ("sm_60", "sm_62", NO),
            ("sm_61", "sm_62", NO),
            ("sm_70", "sm_72", NO),
            ("sm_72", "sm_75", NO),
            ("sm_80", "sm_87", NO),
            ("sm_86", "sm_87", NO),
            ("sm_87", "sm_89", NO),
            ("sm_100", "sm_101", NO),
            ("sm_101", "sm_103", NO),
            ("sm_53", "sm_53", Some(Exact)),
            ("sm_87", "sm_87", Some(Exact)),
            ("sm_110", "sm_110", Some(Exact)),
        ],
    );
}

#[test]
fn code_for_the_former_name_of_an_architecture_runs_on_it() {
    for (form, way) in [(CodeForm::Machine, Compatible), (CodeForm::Ptx, FromPtx)] {
        check(
            form,
            &[
                ("sm_101", "sm_110", Some(way)),
                ("sm_101f", "sm_110", Some(way)),
                ("sm_101a", "sm_110", Some(way)),
                ("sm_101a", "sm_120", NO),
                ("sm_101f", "sm_120", NO),
                ("sm_110", "sm_101", NO),
                ("sm_110a", "sm_101", NO),
            ],
        );
    }
}

#[test]
fn ptx_runs_on_its_own_and_every_later_version() {
    check(
        CodeForm::Ptx,
        &[
            ("sm_50", "sm_50", Some(FromPtx)),
            ("sm_50", "sm_121", Some(FromPtx)),
            ("sm_70", "sm_75", Some(FromPtx)),
            ("sm_70", "sm_80", Some(FromPtx)),
            ("sm_80", "sm_87", Some(FromPtx)),
            ("sm_80", "sm_90", Some(FromPtx)),
            ("sm_90", "sm_80", NO),
            ("sm_86", "sm_80", NO),
            ("sm_90", "sm_100", Some(FromPtx)),
            ("sm_100", "sm_103", Some(FromPtx)),
            ("sm_100", "sm_120", Some(FromPtx)),
            ("sm_120", "sm_100", NO),
        ],
    );
}

#[test]
fn code_with_suffix_a_runs_on_its_own_version_only() {
    for (form, way) in [(CodeForm::Machine, Exact), (CodeForm::Ptx, FromPtx)] {
        check(
            form,
            &[
                ("sm_90a", "sm_90", Some(way)),
                ("sm_90a", "sm_80", NO),
                ("sm_90a", "sm_100", NO),
                ("sm_100a", "sm_100", Some(way)),
                ("sm_100a", "sm_103", NO),
                ("sm_103a", "sm_103", Some(way)),
                ("sm_103a", "sm_100", NO),
                ("sm_110a", "sm_110", Some(way)),
                ("sm_120a", "sm_120", Some(way)),
                ("sm_120a", "sm_121", NO),
                ("sm_121a", "sm_121", Some(way)),
            ],
        );
    }
}

#[test]
fn code_with_suffix_f_runs_on_later_members_of_the_family() {
    for (form, own, later) in [(CodeForm::Machine, Exact, Compatible), (CodeForm::Ptx, FromPtx, FromPtx)] {
        check(
            form,
            &[
                ("sm_100f", "sm_100", Some(own)),
                ("sm_100f", "sm_103", Some(later)),
                ("sm_103f", "sm_103", Some(own)),
                ("sm_103f", "sm_100", NO),
                ("sm_100f", "sm_107", Some(later)),
                ("sm_103f", "sm_107", Some(later)),
                ("sm_107f", "sm_107", Some(own)),
                ("sm_107f", "sm_103", NO),
                ("sm_107f", "sm_110", NO),
                ("sm_110f", "sm_110", Some(own)),
                ("sm_120f", "sm_120", Some(own)),
                ("sm_120f", "sm_121", Some(later)),
                ("sm_121f", "sm_121", Some(own)),
                ("sm_121f", "sm_120", NO),
                ("sm_100f", "sm_110", NO),
                ("sm_100f", "sm_120", NO),
                ("sm_120f", "sm_100", NO),
                ("sm_110f", "sm_120", NO),
            ],
        );
    }
}

#[test]
fn features_that_a_code_object_sets_must_match() {
    check(
        CodeForm::Machine,
        &[
            ("gfx90a", "gfx90a:sramecc+:xnack-", Some(Exact)),
            ("gfx90a:xnack-", "gfx90a:sramecc+:xnack-", Some(Exact)),
            ("gfx90a:sramecc+", "gfx90a:sramecc+:xnack-", Some(Exact)),
            ("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-", Some(Exact)),
            ("gfx90a:xnack+", "gfx90a:sramecc+:xnack-", NO),
            ("gfx90a:sramecc-", "gfx90a:sramecc+:xnack-", NO),
            ("gfx90a:sramecc-:xnack-", "gfx90a:sramecc+:xnack-", NO),
            ("gfx908", "gfx90a:sramecc+:xnack-", NO),
            ("gfx90a", "gfx908:sramecc+:xnack-", NO),
            ("gfx1030", "gfx1030", Some(Exact)),
            ("gfx1030", "gfx1031", NO),
            ("fiji", "gfx803", Some(Exact)),
        ],
    );
}

#[test]
fn a_generic_code_object_runs_on_the_members_of_its_processor_only() {
    // Members according to the AMDGPU usage guide, with 909, which its own table includes; the recent
    // ones, `AMDGPUTargetParser.def` of LLVM 23.
    let families = [
        ("gfx9-generic", "900 902 904 906 909 90c"),
        ("gfx9-4-generic", "940 941 942 950"),
        ("gfx10-1-generic", "1010 1011 1012 1013"),
        ("gfx10-3-generic", "1030 1031 1032 1033 1034 1035 1036"),
        ("gfx11-generic", "1100 1101 1102 1103 1150 1151 1152 1153 1154"),
        ("gfx11-7-generic", "1170 1171 1172"),
        ("gfx12-generic", "1200 1201"),
        ("gfx12-5-generic", "1250 1251"),
        ("gfx13-generic", "1310"),
    ];
    for (generic, members) in families {
        for processor in PROCESSORS.iter().filter(|processor| !processor.name.ends_with("-generic")) {
            let is_member = members.split(' ').any(|number| processor.name == *format!("gfx{number}"));
            let expected = is_member.then_some(Generic);
            for device in Device::parse(&processor.name).unwrap() {
                let code = Code { form: CodeForm::Machine, triple: None, arch: Some(generic) };
                assert_eq!(code.runs_on(&device).ok(), expected, "{generic} on {device}");
            }
        }
    }
    check(
        CodeForm::Machine,
        &[
            ("gfx9-4-generic:xnack-", "gfx942:sramecc+:xnack-", Some(Generic)),
            ("gfx9-4-generic:xnack+", "gfx942:sramecc+:xnack-", NO),
            ("gfx9-4-generic:sramecc+", "gfx950:sramecc+:xnack-", Some(Generic)),
        ],
    );
}

#[test]
fn every_processor_runs_its_own_code_only() {
    for own in PROCESSORS.iter().filter(|processor| !processor.name.ends_with("-generic")) {
        for other in PROCESSORS.iter().filter(|processor| !processor.name.ends_with("-generic")) {
            for device in Device::parse(&other.name).unwrap() {
                let code = Code { form: CodeForm::Machine, triple: Some(triple::AMDGCN), arch: Some(&own.name) };
                assert_eq!(code.runs_on(&device).is_ok(), own.name == other.name, "{:?} on {device}", own.name);
            }
        }
    }
}

#[test]
fn spirv_is_compiled_by_drivers_that_accept_it() {
    let spirv = Some("spirv64-intel-unknown");
    let ahead = Some("spir64_gen-unknown-unknown");
    assert_eq!(verdict(CodeForm::SpirV, spirv, "", "spir64"), Ok(FromSpirV));
    assert_eq!(verdict(CodeForm::SpirV, spirv, "", "intel_gpu_pvc"), Ok(FromSpirV));
    assert_eq!(verdict(CodeForm::SpirV, Some("spirv64-amd-amdhsa"), "amdgcnspirv", "gfx1100"), Ok(FromSpirV));
    assert_eq!(verdict(CodeForm::SpirV, spirv, "", "gfx1100"), Err(Incompatibility::Platform(Platform::SpirV)));
    assert_eq!(verdict(CodeForm::SpirV, spirv, "", "sm_90"), Err(Incompatibility::Platform(Platform::SpirV)));
    assert_eq!(verdict(CodeForm::Machine, ahead, "pvc", "intel_gpu_pvc"), Ok(Exact));
    assert!(verdict(CodeForm::Machine, ahead, "pvc", "intel_gpu_dg2_g10").is_err());
    assert_eq!(verdict(CodeForm::Machine, ahead, "bmg", "intel_gpu_lnl_m"), Ok(Compatible));
    assert_eq!(verdict(CodeForm::Machine, ahead, "", "intel_gpu_pvc"), Err(Incompatibility::UnspecifiedDevice));
}

#[test]
fn a_host_runs_its_own_code() {
    assert_eq!(verdict(CodeForm::Machine, Some("x86_64-unknown-linux-gnu"), "", "x86_64"), Ok(Exact));
    assert_eq!(verdict(CodeForm::Bitcode, Some("x86_64-pc-linux-gnu"), "", "x86_64"), Ok(FromBitcode));
    assert!(verdict(CodeForm::Machine, Some("aarch64-unknown-linux-gnu"), "", "x86_64").is_err());
}

#[test]
fn programs_with_64_bits_load_no_32_bit_code() {
    for form in [CodeForm::Machine, CodeForm::Ptx] {
        assert_eq!(
            verdict(form, Some("nvptx-nvidia-cuda"), "sm_75", "sm_75").unwrap_err().to_string(),
            "it has 32-bit addresses, and 64-bit programs load 64-bit code only"
        );
        assert!(verdict(form, Some("nvptx64-nvidia-cuda"), "sm_75", "sm_75").is_ok());
    }
}

#[test]
fn every_incompatibility_has_a_message() {
    let cases = [
        (CodeForm::Machine, "sm_86", "sm_90", "it is for 8.6, the device is 9.0: another major version"),
        (CodeForm::Machine, "sm_86", "sm_80", "it is for 8.6 and later, the device is 8.0"),
        (CodeForm::Ptx, "sm_90", "sm_80", "it is for 9.0 and later, the device is 8.0"),
        (
            CodeForm::Machine,
            "sm_80",
            "sm_87",
            "it is for 8.0, the device is 8.7: desktop and embedded parts are not binary compatible",
        ),
        (CodeForm::Ptx, "sm_90a", "sm_100", "it is for 9.0 with suffix a, which runs on 9.0 only; the device is 10.0"),
        (
            CodeForm::Machine,
            "sm_103f",
            "sm_100",
            "it is for 10.3 with suffix f, which runs on later members of its family only; the device is 10.0",
        ),
        (CodeForm::Machine, "gfx90a:xnack+", "gfx90a:sramecc+:xnack-", "it requires xnack+, not xnack-"),
        (CodeForm::Machine, "gfx908", "gfx1100", "it is for gfx908, not for gfx1100"),
        (CodeForm::Machine, "sm_90", "gfx1100", "it is for NVIDIA devices"),
        (CodeForm::LinkTime, "sm_90", "sm_90", "it is input for a device linker, not machine code"),
        (CodeForm::Machine, "", "sm_90", "it does not state its target"),
    ];
    for (form, arch, device, words) in cases {
        assert_eq!(verdict(form, None, arch, device).unwrap_err().to_string(), words);
    }
}
