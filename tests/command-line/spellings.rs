//! The two spellings of AMD's targets, `amdgcn-amd-amdhsa` with a processor and `amdgpu9.0a-amd-amdhsa`: one target in every
//! command, printed as it is in the file, written as `--id-style` specifies.

use crate::Sandbox;

const LEGACY: &str = "hip-amdgcn-amd-amdhsa--gfx90a";
const SUBARCH: &str = "hip-amdgpu9.0a-amd-amdhsa--gfx90a";
const SHORT: &str = "hip-amdgpu9.0a-amd-amdhsa--";

/// Returns a directory with a code object, and a bundle of it for each spelling.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    for (name, id) in [("legacy", LEGACY), ("subarch", SUBARCH), ("short", SHORT)] {
        assert_eq!(
            sandbox.fatbin(&format!("bundle --raw --type o --id-style as-given --target {id}=a -o {name}")).status,
            0
        );
    }
    sandbox
}

#[test]
fn bundle_writes_the_requested_spelling_and_warns_of_ids_that_hip_does_not_find() {
    let sandbox = sandbox();
    let rows = [
        ("", [LEGACY, LEGACY, LEGACY]),
        ("--id-style legacy", [LEGACY, LEGACY, LEGACY]),
        ("--id-style subarch", [SUBARCH, SUBARCH, SHORT]),
        ("--id-style as-given", [LEGACY, SUBARCH, SHORT]),
    ];
    for (style, stored) in rows {
        for (given, stored) in [LEGACY, SUBARCH, SHORT].into_iter().zip(stored) {
            let run = sandbox.fatbin(&format!("bundle --raw --type o {style} --target {given}=a -o out"));
            let warning = match stored {
                LEGACY => String::new(),
                _ => format!("fatbin: warning: {stored}: no HIP runtime finds this entry; use --id-style legacy\n"),
            };
            assert_eq!((run.status, run.err), (0, warning), "{style} {given}");
            assert_eq!(sandbox.fatbin("list out").ok(), format!("{stored}\n"), "{style} {given}");
        }
    }
    let openmp = sandbox.fatbin(&format!(
        "bundle --raw --type o --id-style subarch --target {}=a -o out",
        LEGACY.replace("hip", "openmp")
    ));
    assert_eq!((openmp.status, openmp.err.as_str()), (0, ""), "libomptarget does not read IDs");
}

#[test]
fn bundle_refuses_two_spellings_of_one_target_and_targets_without_a_spelling() {
    let sandbox = sandbox();
    let cases = [
        (format!("--target {LEGACY}=a --target {SUBARCH}=a"), format!("duplicate target {LEGACY}")),
        (format!("--id-style as-given --target {LEGACY}=a --target {SHORT}=a"), format!("duplicate target {SHORT}")),
        (
            format!("--id-style as-given --target {LEGACY}:xnack+=a --target {SHORT}=a"),
            format!(
                "conflicting targets {LEGACY} and {LEGACY}:xnack+: all entries for a processor must set the same features"
            ),
        ),
        (
            "--id-style subarch --target hip-amdgcn-amd-amdhsa--gfx940=a".to_owned(),
            "--target hip-amdgcn-amd-amdhsa--gfx940: gfx940 has no amdgpu triple; use --id-style legacy".to_owned(),
        ),
        (
            "--target hip-amdgpu9.0a-amd-amdhsa--gfx942=a".to_owned(),
            "--target: \"hip-amdgpu9.0a-amd-amdhsa--gfx942\": gfx942 is not a processor of amdgpu9.0a-amd-amdhsa"
                .to_owned(),
        ),
    ];
    for (arguments, message) in cases {
        let run = sandbox.fatbin(&format!("bundle --raw --type o {arguments} -o out"));
        let last = run.err.lines().last().unwrap_or_default();
        assert_eq!((run.status, last), (2, format!("fatbin: {message}").as_str()), "{arguments}");
    }
}

#[test]
fn every_command_finds_the_target_by_either_spelling() {
    let sandbox = sandbox();
    for file in ["legacy", "subarch", "short"] {
        for id in
            [LEGACY, SUBARCH, SHORT, "hipv4-amdgpu-amd-amdhsa--gfx90a", "hip-amdgpu9.0a-amd-amdhsa--gfx90a:xnack+"]
        {
            sandbox.fatbin(&format!("unbundle --target {id}=out {file}")).ok();
            assert_eq!(sandbox.read("out"), sandbox.read("a"), "{file} {id}");
        }
        let run = sandbox.fatbin(&format!("unbundle --target hip-amdgpu9.42-amd-amdhsa--=out {file}"));
        assert_eq!(run.status, 1, "{file}: {}", run.err);
        let filters =
            ["--arch gfx90a", "--arch amdgpu9.0a", "--triple amdgcn-amd-amdhsa", "--triple amdgpu9.0a-amd-amdhsa"];
        for filter in filters {
            sandbox.fatbin(&format!("extract {filter} --to out {file}")).ok();
            assert_eq!(sandbox.read("out"), sandbox.read("a"), "{file} {filter}");
        }
        let run = sandbox.fatbin(&format!("extract --triple amdgpu9.42-amd-amdhsa --to out {file}"));
        assert_eq!(run.status, 1, "{file}: {}", run.err);
        for (policy, status) in
            [("require = ['gfx90a']", 0), ("only = ['amdgpu9.0a']", 0), ("forbid = ['amdgpu9.0a']", 1)]
        {
            sandbox.file("policy.toml", format!("archs.{policy}\n"));
            assert_eq!(sandbox.fatbin(&format!("check --policy policy.toml {file}")).status, status, "{file} {policy}");
        }
    }
}

#[test]
fn scan_prints_triples_as_they_are_and_the_processor_that_they_state() {
    let sandbox = sandbox();
    for (file, triple) in
        [("legacy", "amdgcn-amd-amdhsa"), ("subarch", "amdgpu9.0a-amd-amdhsa"), ("short", "amdgpu9.0a-amd-amdhsa")]
    {
        let json: serde_json::Value =
            serde_json::from_str(&sandbox.fatbin(&format!("scan --json {file}")).ok()).unwrap();
        let image = &json["files"][0]["containers"][0]["images"][0];
        assert_eq!((&image["triple"], &image["arch"]), (&triple.into(), &"gfx90a".into()), "{file}");
    }
    // The container alone states the processor of an image without a header.
    sandbox
        .file("text", "no header")
        .fatbin("pack -o packed --image file=text,triple=amdgpu9.4-amd-amdhsa,kind=openmp")
        .ok();
    let listed = sandbox.fatbin("scan packed").ok();
    assert!(listed.contains(" amdgpu9.4-amd-amdhsa  gfx9-4-generic "), "{listed}");
}

#[test]
fn a_build_in_the_other_spelling_has_the_same_device_code() {
    let sandbox = sandbox();
    for (file, other) in [("legacy", "subarch"), ("short", "legacy")] {
        sandbox.fatbin(&format!("lock {file} -o lock")).ok();
        let run = sandbox.fatbin(&format!("diff --code-only lock {other}"));
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{file} and {other}: {}", run.out);
    }
}

#[test]
fn select_reports_an_entry_that_hip_does_not_find() {
    let sandbox = sandbox();
    assert_eq!(sandbox.fatbin("select --device gfx90a:sramecc+:xnack- legacy").status, 0);
    let run = sandbox.fatbin("select --device amdgpu9.0a:sramecc+:xnack- subarch");
    let reason = format!("HIP does not find {SUBARCH}, whose triple is not amdgcn-amd-amdhsa");
    assert!(run.status == 1 && run.out.contains(&reason), "{}: {}", run.status, run.out);
}

#[test]
fn pack_spells_triples() {
    let sandbox = sandbox();
    let rows = [
        ("a", "amdgcn-amd-amdhsa"),
        ("--id-style subarch a", "amdgpu9.0a-amd-amdhsa"),
        ("--image file=a,triple=amdgpu9.0a-amd-amdhsa", "amdgpu9.0a-amd-amdhsa"),
        ("--id-style legacy --image file=a,triple=amdgpu9.0a-amd-amdhsa", "amdgcn-amd-amdhsa"),
    ];
    for (arguments, triple) in rows {
        sandbox.fatbin(&format!("pack {arguments} -o out")).ok();
        let listed = sandbox.fatbin("scan out").ok();
        assert!(listed.contains(&format!(" {triple}  gfx90a  elf ")), "{arguments}: {listed}");
    }
    sandbox
        .file("text", "no header")
        .fatbin("pack --id-style legacy --image file=text,triple=amdgpu9.4-amd-amdhsa -o out")
        .ok();
    let listed = sandbox.fatbin("scan out").ok();
    assert!(listed.contains(" amdgcn-amd-amdhsa  gfx9-4-generic "), "the triple no longer states it: {listed}");
}

#[test]
fn wrap_takes_a_code_object_by_either_spelling() {
    let sandbox = sandbox();
    for triple in ["amdgcn-amd-amdhsa", "amdgpu9.0a-amd-amdhsa"] {
        sandbox.fatbin(&format!("wrap --kind hip --image file=a,triple={triple} -o out.o")).ok();
        let ids = sandbox.fatbin("scan --json out.o").ok();
        assert!(ids.contains("\"hipv4-amdgcn-amd-amdhsa--gfx90a\""), "{triple}: {ids}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn link_writes_the_spelling_that_hip_finds() {
    let sandbox = sandbox();
    sandbox.fatbin("pack -o packed --image file=a,triple=amdgpu9.0a-amd-amdhsa,kind=hip").ok();
    let rows = [("", LEGACY), ("--id-style subarch", SUBARCH), ("--id-style as-given", SUBARCH)];
    for (style, id) in rows {
        let run = sandbox.fatbin(&format!("link {style} --emit-fatbin-only -- ld packed -o out"));
        assert_eq!((run.status, run.err.contains("no HIP runtime finds")), (0, id != LEGACY), "{style}: {}", run.err);
        let listed = sandbox.fatbin("list out").ok();
        assert!(listed.lines().any(|line| line == id), "{style}: {listed}");
    }
}
