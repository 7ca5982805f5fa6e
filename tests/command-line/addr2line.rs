//! `fatbin addr2line`: locations in containers, and those that cannot be found. The sources themselves are compared with the
//! vendors' tools by the linker tests.

use crate::{Run, Sandbox};

/// Returns a directory with `a`, an object with two images that have the same kernel.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a-debug.hsaco", "amd").fixture("answer-sm_90-debug.cubin", "nvidia");
    sandbox.fatbin("wrap --kind openmp -o a amd nvidia").ok();
    sandbox
}

#[test]
fn searches_the_images_of_containers() {
    let sandbox = sandbox();
    let text = "answer_kernel+0x10\n  answer_kernel at /answer/answer.c:16:50\n";
    for line in ["--arch gfx90a a answer_kernel+0x10", "--image 0 a answer_kernel+0x10", "amd answer_kernel+0x10"] {
        assert_eq!(sandbox.fatbin(&format!("addr2line {line}")).ok(), text, "{line}");
    }
    assert_eq!(sandbox.fatbin("addr2line amd 0x1510").ok(), text.replace("answer_kernel+0x10\n", "0x1510\n"));
    let text = "answer_kernel+16\n  answer_kernel at /answer/answer.c:16\n";
    assert_eq!(sandbox.fatbin("addr2line --arch sm_90 a answer_kernel+16").ok(), text);
}

#[test]
fn a_function_in_several_images_needs_one_of_them() {
    let Run { status, out, err } = sandbox().fatbin("addr2line a answer_kernel+0");
    let expected =
        "fatbin: a: answer_kernel+0: in images 0 (gfx90a), 1 (sm_90); select one of them with --arch or --image\n";
    assert_eq!((status, out.as_str(), err.as_str()), (2, "", expected));
}

#[test]
fn locations_that_are_in_no_image_are_errors() {
    let sandbox = sandbox();
    for (line, message) in [
        ("nvidia 0x10", "0x10: functions of sm_90 images all begin at address 0; specify FUNCTION+OFFSET"),
        ("amd answer_kernal+0", "answer_kernal+0: no image has the function; did you mean answer_kernel?"),
        ("amd answer_kernel+4096", "answer_kernel+4096: the function is shorter"),
    ] {
        let Run { status, out, err } = sandbox.fatbin(&format!("addr2line {line}"));
        assert_eq!(
            (status, out.as_str(), err.as_str()),
            (2, "", format!("fatbin: {}: {message}\n", &line[..line.find(' ').unwrap()]).as_str()),
            "{line}"
        );
    }
    let run = sandbox.fatbin("addr2line amd answer_kernel");
    assert!(run.status == 2 && run.err.contains("expected FUNCTION+OFFSET or 0xADDRESS"), "{}", run.err);
}

#[test]
fn a_location_without_a_source_is_not_found() {
    let sandbox = sandbox();
    sandbox.fixture("answer-gfx90a.hsaco", "plain");
    let Run { status, out, .. } = sandbox.fatbin("addr2line plain answer_kernel+0");
    assert_eq!((status, out.as_str()), (1, "answer_kernel+0\n  answer_kernel at ??\n"));
}

#[test]
fn json_has_the_fields_of_the_schema() {
    let parse = |run: Run| serde_json::from_str::<serde_json::Value>(&run.ok()).unwrap();
    let document = parse(sandbox().fatbin("addr2line --json amd answer_kernel+0x10"));
    let frame = &document["locations"][0]["frames"][0];
    assert_eq!((frame["line"].as_u64(), frame["column"].as_u64()), (Some(16), Some(50)), "{document}");
    let schema = parse(Sandbox::new().fatbin("schema addr2line"));
    assert!(jsonschema::is_valid(&schema, &document), "{document}");
}
