//! The page of `--html`: when it is written, and its contents. linker-tests/page tests its behavior in a browser.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::Sandbox;

/// Characters of Base64 (RFC 4648, section 4).
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns a page with its data unpacked.
fn unpacked(sandbox: &Sandbox, path: &str) -> String {
    let page = String::from_utf8(sandbox.read(path)).unwrap();
    let (before, rest) = page.split_once("id=\"data\">").unwrap();
    let (packed, after) = rest.split_once('<').unwrap();
    let mut bits = packed.chars().filter_map(|digit| BASE64.find(digit)).fold(Vec::new(), |mut bits, digit| {
        bits.extend((0..6).rev().map(|bit| digit >> bit & 1));
        bits
    });
    bits.truncate(bits.len() / 8 * 8);
    let bytes: Vec<u8> = bits.chunks(8).map(|byte| byte.iter().fold(0, |value, bit| value << 1 | *bit as u8)).collect();
    let mut data = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut data).unwrap();
    format!("{before}{data}{after}")
}

#[test]
fn writes_a_page_with_the_selected_images() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "b");
    sandbox.fatbin("wrap --kind openmp -o w.o a b").ok();
    assert_eq!(sandbox.fatbin("inspect --html page.html --arch sm_90 w.o").ok(), "");
    let page = String::from_utf8(sandbox.read("page.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
    let page = unpacked(&sandbox, "page.html");
    assert!(page.contains("\"label\":\"sm_90\"") && !page.contains("gfx90a"), "{page}");
    let run = sandbox.fatbin("inspect --html nowhere/page.html w.o");
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    let run = sandbox.fatbin("inspect --html page.html missing");
    assert_eq!(run.status, 2, "{}", run.err);
    assert!(unpacked(&sandbox, "page.html").contains("missing: cannot open"));
}

#[test]
fn check_page_has_findings_and_keeps_output_and_status() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a").file("policy.toml", "[archs]\nrequire = [\"sm_89\"]\n");
    let without = sandbox.fatbin("check --policy policy.toml a");
    let with = sandbox.fatbin("check --policy policy.toml --html page.html a");
    assert_eq!(without, with);
    assert_eq!(with.status, 1, "{}", with.out);
    let page = unpacked(&sandbox, "page.html");
    assert!(page.contains("\"verdict\":{\"outcome\":\"violated\""), "{page}");
    assert!(page.contains("answer_kernel"), "kernels are shown although nothing is demanded of them: {page}");
}

/// The map of a wheel has its other members and the archive, too: the bytes of all parts add up to the file.
#[test]
fn the_page_of_a_wheel_has_every_byte() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("wrap --kind hip -o hip.o a").ok();
    let size = crate::size::wheel(&sandbox);
    sandbox.file("policy.toml", "");
    for command in ["inspect", "check --policy policy.toml"] {
        sandbox.fatbin(&format!("{command} --html page.html a-1.0-py3-none-any.whl")).ok();
        let page = unpacked(&sandbox, "page.html");
        let (_, data) = page.split_once("<script type=\"application/gzip\" ").unwrap();
        let (data, _) = data.split_once("/script>").unwrap();
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        let rests = data["packages"][0]["rests"].as_array().unwrap();
        let rests: Vec<u64> = rests.iter().map(|rest| rest[1].as_u64().unwrap()).collect();
        assert!(rests.len() == 3 && !rests.contains(&0), "{data}");
        let place = &data["places"][0];
        assert_eq!((data["files"].as_array().unwrap().len(), &place["package"]), (1, &0.into()), "{data}");
        assert_eq!(rests.iter().sum::<u64>() + place["packed"].as_u64().unwrap(), size, "{command}: {data}");
    }
}
