//! Tests of the page as text; its behavior is tested in a browser (`linker-tests/page`).

use std::io::Read;

use flate2::read::GzDecoder;
use serde_json::Value;

use super::Page;
use super::base64::BASE64;
use fatbin_core::base::bytes::Limits;
use fatbin_core::base::codec::Codec;
use fatbin_core::base::error::Cause;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::base::io::Access;
use fatbin_core::format::{ContainerType, ImageKind};
use fatbin_core::image::{Category, Inspection, Kernel, SourceLine};
use fatbin_core::scan::inventory::{Container, File, Image, StoredBytes};
use fatbin_ops::analyze::survey::{ImageSurvey, Survey};
use fatbin_ops::check::{Evaluation, Finding, ImageLocation, Outcome, Rule, Verdict};

fn image(triple: &str, arch: &str, image_kind: ImageKind) -> Image {
    Image {
        image_kind,
        triple: Some(triple.to_owned()),
        arch: Some(arch.to_owned()),
        offset: Some(64),
        size: Some(100),
        codec: Some(Codec::Zstd),
        full_size: Some(1000),
        stored: StoredBytes { start: 64, size: 100, part: None },
        ..Image::default()
    }
}

fn container(images: Vec<Image>) -> Container {
    Container {
        container_type: ContainerType::CudaFatbin,
        version: None,
        section: None,
        offset: Some(0),
        size: 200,
        codec: None,
        registration: Default::default(),
        images,
        start: 0,
    }
}

fn kernel(name: &str) -> Kernel {
    Kernel { name: name.to_owned(), code_size: Some(16), registers: Some(8), ..Default::default() }
}

fn inside(kernels: Vec<Kernel>) -> ImageSurvey {
    ImageSurvey { inspection: Some(Inspection { kernels, ..Default::default() }), ..Default::default() }
}

fn surveyed(path: &str, images: Vec<(Image, ImageSurvey)>) -> Survey {
    let (images, image_surveys) = images.into_iter().unzip();
    let file = File { size: 300, containers: vec![container(images)], ..File::empty(FilePath::parse(path)) };
    Survey { file, image_surveys, host: None, packed: None, limits: Limits::default() }
}

fn cubin(arch: &str) -> Image {
    image("nvptx64-nvidia-cuda", arch, ImageKind::Elf)
}

fn page(files: &[&Survey], verdict: Option<&Verdict>) -> fatbin_core::base::error::Result<String> {
    let mut page = Page::new();
    for file in files {
        page.add((*file).clone());
    }
    page.text(verdict, Access::read())
}

fn with_kernel(name: &str) -> String {
    page(&[&surveyed("lib.so", vec![(cubin("sm_90"), inside(vec![kernel(name)]))])], None).unwrap()
}

/// Text between the tags of the document, as a browser finds it.
fn document(page: &str) -> &str {
    let (_, rest) = page.split_once("<script type=\"application/gzip\" id=\"data\">").unwrap();
    rest.split_once("</script>").unwrap().0
}

fn data(page: &str) -> Value {
    let sextet = |digit: u8| BASE64.iter().position(|known| *known == digit).unwrap() as u32;
    let mut packed = Vec::new();
    for group in document(page).as_bytes().chunks(4) {
        let digits: Vec<u32> = group.iter().filter(|digit| **digit != b'=').map(|digit| sextet(*digit)).collect();
        let bits = digits.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - digits.len()));
        packed.extend_from_slice(&bits.to_be_bytes()[1..digits.len()]);
    }
    let mut text = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn hostile_names_stay_inside_the_document() {
    let usual = with_kernel("k");
    for name in
        ["</script><script>alert(1)</script>", "<!--<script>", "]]>", "{{script}}", "\"}],\"x\":[", "\\\u{0}\n'&amp;"]
    {
        let page = with_kernel(name);
        assert!(!document(&page).contains(['<', '>', '&']), "{name}");
        assert_eq!(page.replace(document(&page), ""), usual.replace(document(&usual), ""), "{name}");
        let shown = data(&page)["names"][0][0].as_str().unwrap().to_owned();
        assert_eq!(shown, name.replace('\u{0}', "\\u{0}").replace('\n', "\\n"));
    }
}

#[test]
fn escapes_invisible_characters() {
    let page = with_kernel("a\u{202e}b\u{2066}c\u{200b}d\u{2028}e\u{feff}f\u{7f}g\u{1b}[31m é");
    assert_eq!(data(&page)["names"][0][0], "a\\u{202e}b\\u{2066}c\\u{200b}d\\u{2028}e\\u{feff}f\\u{7f}g\\u{1b}[31m é");
}

#[test]
fn escapes_hostile_text_in_every_field() {
    let evil = "\u{202e}</script><img src=x>";
    let mut file = surveyed(evil, vec![(cubin(evil), inside(vec![kernel(evil)]))]);
    let inspection = file.image_surveys[0].inspection.as_mut().unwrap();
    inspection.kernels[0].source = Some(SourceLine { file: evil.to_owned(), line: 1 });
    file.file.failure = Some(evil.to_owned());
    file.file.errors.push(fatbin_core::base::bytes::View::new(b"").malformed(
        "x",
        0,
        Cause::Described(evil.to_owned()),
    ));
    let place = ImageLocation { number: 0, offset: Some(64), arch: Some(evil.to_owned()) };
    let finding = Finding {
        rule: Rule::RequiredArchs,
        outcome: Outcome::Violated,
        path: evil.to_owned(),
        image: Some(place),
        kernel: Some(evil.to_owned()),
        message: evil.to_owned(),
        detail: Some(evil.to_owned()),
        remedy: None,
    };
    let evaluation = Evaluation { path: evil.to_owned(), rule: Rule::RequiredArchs, outcome: Outcome::Violated };
    let page =
        page(&[&file], Some(&Verdict { findings: vec![finding], evaluations: vec![evaluation], ..Verdict::default() }))
            .unwrap();
    assert!(!document(&page).contains('<') && !page.contains('\u{202e}'));
    assert!(data(&page).to_string().matches("\\\\u{202e}").count() >= 10, "{}", data(&page));
}

#[test]
fn loads_nothing_and_allows_only_its_own_style_and_script() {
    let page = with_kernel("k");
    for address in ["http:", "https:", "url(", "@import", "//www", "src=", "<link"] {
        assert!(!page.contains(address), "{address}");
    }
    assert!(page.contains("default-src 'none'; script-src 'sha256-") && page.contains("; style-src 'sha256-"));
    assert!(!page.contains("unsafe-inline") && !page.contains(" style=\"") && !page.contains("innerHTML"));
}

#[test]
fn equal_files_give_equal_pages() {
    let files = || {
        let kernels = || (0..50).map(|number| kernel(&format!("k{number}"))).collect::<Vec<_>>();
        let amd = image("amdgcn-amd-amdhsa", "gfx90a", ImageKind::Elf);
        vec![surveyed("a", vec![(cubin("sm_90"), inside(kernels())), (amd, inside(kernels()))])]
    };
    let page = || page(&files().iter().collect::<Vec<_>>(), None).unwrap();
    assert_eq!(page(), page());
}

#[test]
fn marks_gaps_on_the_devices_of_a_container() {
    let both = || inside(vec![kernel("a"), kernel("b")]);
    let amd = image("amdgcn-amd-amdhsa", "gfx90a", ImageKind::Elf);
    let images = vec![(cubin("sm_89"), inside(vec![kernel("a")])), (cubin("sm_80"), both()), (amd, inside(vec![]))];
    let data = data(&page(&[&surveyed("lib.so", images)], None).unwrap());
    let archs: Vec<&str> = data["archs"].as_array().unwrap().iter().map(|it| it["label"].as_str().unwrap()).collect();
    assert_eq!(archs, ["gfx90a", "sm_80", "sm_89"]);
    assert_eq!(data["devices"], serde_json::json!(["gfx90a", "sm_80", "sm_89"]));
    assert_eq!(data["names"], serde_json::json!([["a", null], ["b", null]]));
    let shown = |row: &Value| -> Vec<&str> {
        let pattern = data["patterns"][row[1].as_u64().unwrap() as usize].as_array().unwrap();
        pattern.iter().map(|cell| data["cells"][cell.as_u64().unwrap() as usize]["look"].as_str().unwrap()).collect()
    };
    let rows = data["coverage"].as_array().unwrap();
    assert_eq!((&rows[0][0], shown(&rows[0])), (&1.into(), vec!["other", "native", "gap"]));
    assert_eq!((&rows[1][0], shown(&rows[1])), (&0.into(), vec!["other", "native", "native"]));
    let columns: Vec<u64> =
        data["files"][0]["images"].as_array().unwrap().iter().map(|it| it["arch"].as_u64().unwrap()).collect();
    let columns: Vec<&Value> = columns.into_iter().map(|number| &data["columns"][number as usize]).collect();
    assert_eq!(columns, [2, 1, 0]);
}

#[test]
fn lists_decompressed_and_stored_sizes() {
    let outside_kernels = Box::new([(Category::Debug, 700), (Category::Undivided, 30)]);
    let inspection = Inspection { kernels: vec![kernel("k")], outside_kernels, ..Default::default() };
    let inside = ImageSurvey { inspection: Some(inspection), ..Default::default() };
    let data = data(&page(&[&surveyed("lib.so", vec![(cubin("sm_90"), inside)])], None).unwrap());
    let file = &data["files"][0];
    assert_eq!(
        (&file["code"], &file["images"][0]["size"], &file["images"][0]["stored"]),
        (&200.into(), &1000.into(), &100.into())
    );
    assert_eq!(file["rests"], serde_json::json!([["[not device code]", 100, 100], ["[container headers]", 100, 100]]));
    let code = data["figures"].as_array().unwrap().iter().position(|figure| figure["key"] == "code").unwrap();
    assert_eq!(file["images"][0]["kernels"][0][1][code], 16);
    assert_eq!(file["images"][0]["rests"], serde_json::json!([["debug", 700], ["elf", 30]]));
}

#[test]
fn leaves_out_images_that_were_not_inspected() {
    let images = vec![(cubin("sm_80"), ImageSurvey::default()), (cubin("sm_90"), inside(vec![kernel("k")]))];
    let data = data(&page(&[&surveyed("lib.so", images)], None).unwrap());
    let images = data["files"][0]["images"].as_array().unwrap();
    assert_eq!((images.len(), &images[0]["index"], data["archs"].as_array().unwrap().len()), (1, &1.into(), 1));
}

#[test]
fn names_the_innermost_container_of_nested_images() {
    let mut outer = image("", "", ImageKind::Fatbin);
    outer.containers = vec![Container { container_type: ContainerType::Ccob, ..container(vec![cubin("sm_90")]) }];
    let host = Image { kind: Some(fatbin_core::target::OffloadKind::Host), ..cubin("x") };
    let file =
        File { containers: vec![container(vec![host, outer, cubin("sm_80")])], ..File::empty(FilePath::parse("f")) };
    let file = Survey {
        file,
        image_surveys: vec![inside(vec![]), inside(vec![])],
        host: None,
        packed: None,
        limits: Limits::default(),
    };
    let data = data(&page(&[&file], None).unwrap());
    let containers: Vec<&Value> =
        data["files"][0]["images"].as_array().unwrap().iter().map(|it| &it["container"]).collect();
    assert_eq!(containers, ["ccob", "cuda-fatbin"]);
}

#[test]
fn contains_findings_and_passed_rules() {
    let evaluation = |rule, outcome| Evaluation { path: "lib.so".to_owned(), rule, outcome };
    let finding = Finding {
        rule: Rule::RequiredArchs,
        outcome: Outcome::Violated,
        path: "lib.so".to_owned(),
        image: Some(ImageLocation { number: 3, offset: Some(4096), arch: Some("sm_80".to_owned()) }),
        kernel: None,
        message: "no code for sm_89".to_owned(),
        detail: Some("sm_80".to_owned()),
        remedy: None,
    };
    let evaluations =
        vec![evaluation(Rule::Readable, Outcome::Passed), evaluation(Rule::RequiredArchs, Outcome::Violated)];
    let data = data(&page(&[], Some(&Verdict { findings: vec![finding], evaluations, ..Verdict::default() })).unwrap());
    let verdict = &data["verdict"];
    assert_eq!(verdict["outcome"], "violated");
    assert_eq!(verdict["findings"][0]["image"], "image 3 (sm_80) at 0x1000");
    assert_eq!(verdict["rules"][0][0], "readable");
    assert_eq!(verdict["evaluations"][0]["outcome"], "passed");
}
