//! `fatbin diff --lost`: only what is gone fails.

use serde_json::Value;

use crate::schema::check_document;
use crate::{Sandbox, fixture};

/// PTX with these kernels, whose bodies have some instructions.
fn ptx(arch: &str, kernels: &[&str], instructions: usize) -> String {
    let body = "mov.u32 %r1, %tid.x;\n".repeat(instructions);
    let entry = |name: &&str| format!(".visible .entry {name}()\n{{\n.reg .b32 %r<2>;\n{body}ret;\n}}\n");
    let entries: String = kernels.iter().map(entry).collect();
    format!(".version 7.0\n.target {arch}\n.address_size 64\n{entries}")
}

/// Adds a library of PTX: the kernels for each architecture.
fn library(sandbox: &Sandbox, path: &str, images: &[(&str, &[&str])], instructions: usize) {
    let mut words = format!("wrap --kind cuda -o {path}");
    for (number, (arch, kernels)) in images.iter().enumerate() {
        sandbox.file(&format!("{number}.ptx"), ptx(arch, kernels, instructions));
        words += &format!(" {number}.ptx");
    }
    std::fs::create_dir_all(sandbox.path(path).parent().unwrap()).unwrap();
    sandbox.fatbin(&words).ok();
}

/// A build: paths, and the kernels for each architecture.
type Build<'a> = [(&'a str, &'a [(&'a str, &'a [&'a str])])];

fn build(sandbox: &Sandbox, name: &str, files: &Build<'_>, instructions: usize) {
    for (path, images) in files {
        library(sandbox, &format!("{name}/{path}"), images, instructions);
    }
}

const TWO: &[(&str, &[&str])] = &[("sm_80", &["one", "two"]), ("sm_90", &["one", "two"])];

#[test]
fn only_what_is_gone_fails() {
    let old: &Build<'_> = &[("a.o", TWO), ("b.o", &[("sm_80", &["three"])])];
    let cases: [(&str, &Build<'_>, &[&str]); 8] = [
        ("the same", old, &[]),
        ("more", &[old[0], old[1], ("c.o", TWO)], &[]),
        ("a file", &[old[0]], &["b.o: the file is gone, 1 image, 1 kernel"]),
        ("another name", &[old[0], ("renamed.o", &[("sm_80", &["three", "four"])])], &[]),
        (
            "other kernels",
            &[old[0], ("renamed.o", &[("sm_80", &["four"])])],
            &["b.o: the file is gone, 1 image, 1 kernel"],
        ),
        ("an arch", &[("a.o", &[TWO[0]]), old[1]], &["a.o: no code for sm_90 (ptx), 2 kernels"]),
        ("a kernel", &[("a.o", &[TWO[0], ("sm_90", &["one"])]), old[1]], &["a.o: sm_90 (ptx): 1 kernel gone: two"]),
        ("a moved kernel", &[("a.o", &[TWO[0], ("sm_90", &["one"])]), old[1], ("c.o", &[("sm_90", &["two"])])], &[]),
    ];
    for (name, new, lost) in cases {
        let sandbox = Sandbox::new();
        build(&sandbox, "old", old, 1);
        // Code that grew is not lost.
        build(&sandbox, "new", new, 9);
        sandbox.fatbin("lock -o old.lock old").ok();
        for before in ["old", "old.lock"] {
            let run = sandbox.fatbin_with_answer(&format!("diff --lost {before} new"));
            let expected = match lost.len() {
                0 => "nothing is lost\n".to_owned(),
                parts => format!("{parts} part lost\n"),
            };
            assert!(run.out.contains(&expected), "{name}: expected {expected}\n{}", run.out);
            assert!(lost.iter().all(|line| run.out.contains(&format!("{line}\n"))), "{name}: {}", run.out);
            assert_eq!(run.status, i32::from(!lost.is_empty()), "{name}");
        }
        let json = sandbox.fatbin_with_answer("diff --lost --json old new");
        let document: Value = serde_json::from_str(&json.out).unwrap();
        check_document(&sandbox, "diff", &document);
        assert_eq!(document["lost"].as_array().unwrap().len(), lost.len(), "{name}");
    }
}

#[test]
fn the_worst_loss_is_the_first() {
    let sandbox = Sandbox::new();
    build(&sandbox, "old", &[("a.o", TWO), ("b.o", TWO), ("c.o", &[("sm_80", &["three"])])], 1);
    build(&sandbox, "new", &[("a.o", &[TWO[0], ("sm_90", &["one"])]), ("b.o", &[TWO[0]])], 1);
    let run = sandbox.fatbin_with_answer("diff --lost old new");
    let places = ["c.o: the file is gone", "b.o: no code for sm_90", "a.o: sm_90 (ptx): 1 kernel gone"];
    let places = places.map(|text| run.out.find(text).unwrap_or_else(|| panic!("{text}: {}", run.out)));
    assert!(places.is_sorted(), "{}", run.out);
}

#[test]
fn compression_loses_nothing() {
    let sandbox = Sandbox::new();
    sandbox.file("image", fixture("answer-gfx90a.hsaco"));
    let bundle = "bundle --type o --target hip-amdgcn-amd-amdhsa--gfx90a=image";
    sandbox.fatbin(&format!("{bundle} -o old")).ok();
    sandbox.fatbin(&format!("{bundle} --compress -o new")).ok();
    assert_eq!(sandbox.fatbin("diff old new").status, 1);
    assert_eq!(sandbox.fatbin("diff --lost old new").ok(), "nothing is lost\n");
}

#[test]
fn kernels_of_openmp_are_named_by_function_and_line() {
    let sandbox = Sandbox::new();
    build(&sandbox, "old", &[("a.o", &[("sm_80", &["__omp_offloading_fe00_99435b_main_l3"])])], 1);
    build(&sandbox, "new", &[("a.o", &[("sm_80", &["__omp_offloading_801_1f_main_l3"])])], 1);
    sandbox.fatbin("diff --lost old new").ok();
    build(&sandbox, "other", &[("a.o", &[("sm_80", &["__omp_offloading_801_1f_main_l4"])])], 1);
    assert_eq!(sandbox.fatbin_with_answer("diff --lost old other").status, 1);
}
