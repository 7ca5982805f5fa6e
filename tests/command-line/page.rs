//! The page of `--html`: when it is written, and its contents. linker-tests/page tests its behavior in a browser.

use crate::Sandbox;

#[test]
fn writes_a_page_with_the_selected_images() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("wrap --kind openmp -o w.o a b").ok();
    assert_eq!(sandbox.fatbin("inspect --html page.html --arch sm_90 w.o").ok(), "");
    let page = String::from_utf8(sandbox.read("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    assert!(page.contains("\"label\":\"sm_90\"") && !page.contains("gfx90a"), "{page}");
    let run = sandbox.fatbin("inspect --html nowhere/page.html w.o");
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    let run = sandbox.fatbin("inspect --html page.html missing");
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(String::from_utf8(sandbox.read("page.html")).unwrap().contains("missing: cannot open"));
}

#[test]
fn check_page_has_findings_and_keeps_output_and_status() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").file("policy.toml", "[archs]\nrequire = [\"sm_89\"]\n");
    let without = sandbox.fatbin("check --policy policy.toml a");
    let with = sandbox.fatbin("check --policy policy.toml --html page.html a");
    assert_eq!(without, with);
    assert_eq!(with.status, 1, "{}", with.out);
    let page = String::from_utf8(sandbox.read("page.html")).unwrap();
    assert!(page.contains("\"verdict\":{\"outcome\":\"violated\""), "{page}");
    assert!(page.contains("answer_kernel"), "kernels are shown although nothing is demanded of them: {page}");
}
