//! kpack archives: listed, extracted, verified, and chosen from.

use fatbin_core::format::kpack::{KpackMember, KpackProperties, write};

use crate::{Sandbox, fixture};

const KEY: &str = "lib/libtest.so#0";

/// Writes an archive with code for a processor, and for the same processor with xnack.
fn sandbox(level: Option<i32>, arches: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let [any, xnack] = ["answer-gfx90a.hsaco", "answer-gfx90a-xnack+.hsaco"].map(fixture);
    let properties = KpackProperties { group_name: "test", family: "gfx90a", arches };
    let members = [
        KpackMember { key: KEY, arch: "gfx90a", image: &any },
        KpackMember { key: KEY, arch: "gfx90a:xnack+", image: &xnack },
        KpackMember { key: "lib/libtest.so#1", arch: "gfx90a", image: &any },
    ];
    sandbox.file("test.kpack", write(&properties, &members, level).unwrap().to_vec());
    sandbox
}

const ARCHES: [&str; 2] = ["gfx90a", "gfx90a:xnack+"];

#[test]
fn archives_are_listed_with_the_keys_of_their_code_objects() {
    for (level, codec) in [(None, "none"), (Some(3), "zstd")] {
        let sandbox = sandbox(level, &ARCHES);
        let document: serde_json::Value =
            serde_json::from_str(&sandbox.fatbin("scan --json --hash test.kpack").ok()).unwrap();
        let container = &document["files"][0]["containers"][0];
        assert_eq!((&container["type"], &container["version"]), (&"kpack".into(), &1.into()));
        let images = container["images"].as_array().unwrap();
        assert_eq!(images.len(), 3);
        for (image, (key, arch)) in
            images.iter().zip([(KEY, "gfx90a"), (KEY, "gfx90a:xnack+"), ("lib/libtest.so#1", "gfx90a")])
        {
            assert_eq!((&image["id"], &image["arch"]), (&key.into(), &arch.into()));
            assert_eq!((&image["codec"], &image["image"]), (&codec.into(), &"elf".into()));
            assert!(image["offset"].is_u64() && image["size"].is_u64());
        }
        sandbox.fatbin("extract -o out --arch gfx90a:xnack+ test.kpack").ok();
        let names: Vec<_> = std::fs::read_dir(sandbox.path("out")).unwrap().map(|it| it.unwrap().path()).collect();
        let [only] = &names[..] else { panic!("{names:?}") };
        assert_eq!(std::fs::read(only).unwrap(), fixture("answer-gfx90a-xnack+.hsaco"));
        assert!(sandbox.fatbin("inspect test.kpack").ok().contains("answer_kernel"));
        assert_eq!(sandbox.fatbin("verify test.kpack").ok(), "test.kpack: 3 device images, intact\n");
    }
}

#[test]
fn each_code_object_is_a_choice_of_its_own_and_more_features_come_first() {
    let sandbox = sandbox(None, &ARCHES);
    let out = sandbox.fatbin("select --device gfx90a:sramecc+:xnack+ test.kpack").ok();
    assert!(out.contains("selects image 1\n") && out.contains("selects image 2\n"), "{out}");
    assert!(out.starts_with("test.kpack: MI250X gfx90a:sramecc+:xnack+: 2 choices: all native\n"), "{out}");
    let run = sandbox.fatbin("select --device gfx942 test.kpack");
    assert_eq!(run.status, 1, "{}", run.out);
}

#[test]
fn verify_reports_contradictions_in_archives() {
    let run = sandbox(None, &["gfx90a", "gfx942"]).fatbin("verify -v test.kpack");
    assert_eq!((run.status, run.err.lines().count()), (2, 2), "{}", run.err);
    assert!(run.err.contains("gfx90a:xnack+ is not in gfx_arches; loaders do not find its code"), "{}", run.err);
    assert!(run.err.contains("gfx_arches lists gfx942, for which there is no code"), "{}", run.err);
    for level in [None, Some(3)] {
        let sandbox = Sandbox::new();
        let properties = KpackProperties { group_name: "test", family: "gfx942", arches: &["gfx942"] };
        let [other, host] = ["answer-gfx90a.hsaco", "answer-x86_64.so"].map(fixture);
        for (image, own) in [(&other, "gfx90a"), (&host, "x86_64-unknown-linux-gnu")] {
            let members = [KpackMember { key: KEY, arch: "gfx942", image }];
            sandbox.file("test.kpack", write(&properties, &members, level).unwrap().to_vec());
            let run = sandbox.fatbin("verify test.kpack");
            assert_eq!((run.status, run.err.lines().count()), (2, 1), "{}", run.err);
            assert!(run.err.ends_with(&format!(", the image's own header {own}\n")), "{}", run.err);
        }
    }
}

#[test]
fn archives_that_are_cut_are_errors() {
    let sandbox = sandbox(None, &ARCHES);
    let bytes = sandbox.read("test.kpack");
    let run = sandbox.file("cut.kpack", &bytes[..bytes.len() - 1]).fatbin("scan cut.kpack");
    assert_eq!((run.status, run.err.lines().count()), (2, 1), "{}", run.err);
    assert!(run.err.starts_with("fatbin: cut.kpack: kpack"), "{}", run.err);
}

#[test]
fn archives_are_pruned_to_the_code_that_devices_need() {
    for level in [None, Some(3)] {
        let sandbox = sandbox(level, &ARCHES);
        sandbox.fatbin("prune --drop gfx90a:xnack+ test.kpack -o pruned").ok();
        assert_eq!(sandbox.fatbin("verify pruned").ok(), "pruned: 2 device images, intact\n");
        assert!(sandbox.read("pruned").len() < sandbox.read("test.kpack").len());
        let out = sandbox.fatbin("scan pruned").ok();
        assert!(!out.contains("xnack"), "{out}");
        sandbox.fatbin("prune --device gfx90a:sramecc+:xnack+ test.kpack -o pruned").ok();
        assert_eq!(sandbox.fatbin("verify pruned").ok(), "pruned: 2 device images, intact\n");
    }
}
