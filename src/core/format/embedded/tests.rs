//! Tests of the readers of images without a container: exact extents, and no match in anything else.

use super::*;
use crate::format::bitcode::test_writer::BitWriter;

pub fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// A module in the form of clang 22: capabilities Addresses and Linkage, the memory model, and one function.
pub fn spirv() -> Vec<u8> {
    let words = [0x0723_0203, 0x0001_0400, 0, 24, 0, 0x2_0011, 4, 0x2_0011, 5, 0x3_000e, 2, 2];
    let function = [0x5_0036, 20, 7, 0, 21, 0x2_00f8, 9, 0x1_00fd, 0x1_0038];
    words.into_iter().chain(function).flat_map(u32::to_le_bytes).collect()
}

/// A module for a target, after an identification and before its strings.
pub fn bitcode(triple: &str) -> Vec<u8> {
    let mut writer = BitWriter::default();
    let operands: Vec<u64> = triple.bytes().map(u64::from).collect();
    writer.block(2, 13, |_| {}).block(2, 8, |module| {
        module.record(1, &[2]).record(2, &operands);
    });
    writer.block(2, 23, |_| {}).bytes()
}

fn region(bytes: &[u8], may_hold_text: bool) -> Region<'_> {
    Region { view: View::new(bytes), may_hold_text }
}

/// Finds the first image by its hints, as a search does.
fn search(bytes: &[u8], may_hold_text: bool) -> Option<(usize, Vec<u8>, bool)> {
    (0..bytes.len()).find_map(|at| {
        let hint = HINTS.iter().find(|hint| bytes[at..].starts_with(hint.bytes))?;
        let image = (hint.find)(region(bytes, may_hold_text), at as u64).ok()?;
        Some((image.view.start() as usize, image.view.data().to_vec(), image.has_stated_end))
    })
}

/// A zebin with the machine and the note of code for MUSA.
fn musa() -> Vec<u8> {
    let mut bytes = fixture("answer-dg2.zebin");
    bytes[18..20].copy_from_slice(&253_u16.to_le_bytes());
    let owner = bytes.windows(8).position(|word| word == b"IntelGT\0").unwrap();
    bytes[owner - 4..owner + 8].copy_from_slice(b"\x40\0\0\0MTGPU\0\0\0");
    bytes
}

/// Other files with the number of the machine are for ARCv3.
#[test]
fn code_for_musa_has_a_note() {
    let image = crate::format::DeviceImage::identify(View::new(&musa()));
    assert_eq!((image.triple.as_deref(), image.own_size), (Some("mtgpu-mt-musa"), Some(musa().len() as u64)));
    assert!(crate::format::bare_device_file(View::new(&musa())).unwrap().is_ok());
    let mut other = musa();
    let owner = other.windows(5).position(|word| word == b"MTGPU").unwrap();
    other[owner] = b'm';
    assert_eq!(search(&other, false), None);
    assert_eq!(crate::format::bare_device_file(View::new(&other)), None);
}

#[test]
fn an_image_between_other_bytes_is_found_with_its_exact_extent() {
    let elf = ["answer-gfx90a.hsaco", "answer-sm_90.cubin"].map(fixture);
    for image in elf.into_iter().chain([musa(), fixture("answer-sm_80.ptx"), spirv()]) {
        for (before, after) in [(0, 0), (1, 1), (7, 4096)] {
            let padding = |size: usize| vec![0_u8; size];
            let bytes = [padding(before), image.clone(), padding(after)].concat();
            assert_eq!(search(&bytes, true), Some((before, image.clone(), true)));
            assert_eq!(search(&bytes, false), Some((before, image.clone(), true)));
        }
        let image_and_text = [&image[..], b"\0text behind it"].concat();
        assert_eq!(search(&image_and_text, true), Some((0, image, true)));
    }
}

#[test]
fn the_start_of_a_region_may_be_an_image() {
    for image in [fixture("answer-gfx90a.hsaco"), fixture("answer-sm_90.cubin"), fixture("answer-sm_80.ptx"), spirv()] {
        let bytes = [&image[..], b"\0rest"].concat();
        let found = at_start(region(&bytes, true)).expect("an image");
        assert_eq!(found.view.data(), image);
        let container = found.container();
        assert_eq!(container.container_type, ContainerType::Embedded);
        assert_eq!(at_start(region(&[b"x", &bytes[..]].concat(), true)), None);
    }
}

#[test]
fn a_truncated_image_is_none() {
    for image in [fixture("answer-gfx90a.hsaco"), fixture("answer-sm_90.cubin"), spirv()] {
        for end in (0..image.len()).step_by(image.len() / 200 + 1) {
            assert_eq!(search(&image[..end], true), None, "{end}");
        }
    }
}

#[test]
fn elf_files_for_hosts_and_with_invalid_fields_are_none() {
    assert_eq!(search(&fixture("answer-x86_64.so"), true), None);
    for file in ["answer-gfx90a.hsaco", "answer-sm_90.cubin"] {
        let good = fixture(file);
        // Identification, type, machine, version, flags, sizes, and the index of the section with names.
        for at in [7, 8, 9, 12, 15, 16, 18, 20, 52, 54, 58, 62] {
            let mut damaged = good.clone();
            damaged[at] ^= 0x40;
            assert_eq!(search(&damaged, true), None, "{file} {at}");
        }
    }
    let mut cubin = fixture("answer-sm_90.cubin");
    let table = u64::from_le_bytes(cubin[40..48].try_into().unwrap()) as usize;
    cubin[table + 4] = 1;
    assert_eq!(search(&cubin, true), None, "section 0");
}

#[test]
fn spirv_without_functions_or_of_another_version_is_none() {
    let good = spirv();
    for (word, value) in
        [(1, 0x0001_0700_u32), (1, 0x0002_0000), (3, 0), (3, 1 << 22), (4, 1), (5, 0x2_0012), (9, 0x4_000e)]
    {
        let mut damaged = good.clone();
        damaged[word * 4..][..4].copy_from_slice(&value.to_le_bytes());
        assert_eq!(search(&damaged, true), None, "{word} {value:#x}");
    }
    assert_eq!(search(&good[..12 * 4], true), None);
    // The first of two modules back to back ends where the second begins.
    assert_eq!(search(&good.repeat(2), true), Some((0, good, true)));
}

#[test]
fn bitcode_for_hosts_is_none() {
    let padded = |bytes: &[u8]| [&[0; 3], bytes, &[0; 64]].concat();
    for triple in ["amdgcn-amd-amdhsa", "nvptx64-nvidia-cuda", "spir64-unknown-unknown"] {
        let image = bitcode(triple);
        assert_eq!(search(&padded(&image), true), Some((3, image, true)), "{triple}");
    }
    for triple in ["x86_64-unknown-linux-gnu", "wasm32-unknown-unknown", ""] {
        assert_eq!(search(&padded(&bitcode(triple)), true), None, "{triple}");
    }
}

const HEADER: &str = "//\n// Generated by LLVM NVPTX Back-End\n//\n\n.version 7.0\n.target sm_80\n.address_size 64\n\n";
const FUNCTION: &str =
    ".visible .entry k(\n\t.param .u64 k_param_0 // one\n)\n.maxntid 128, 1, 1\n{\n\tret; /* } */\n}\n";

fn ptx(text: &str, may_hold_text: bool) -> Option<(String, bool)> {
    let (_, bytes, has_stated_end) = search(text.as_bytes(), may_hold_text)?;
    Some((String::from_utf8(bytes).unwrap(), has_stated_end))
}

#[test]
fn ptx_ends_at_a_nul_or_with_its_last_statement() {
    let tails = [
        "",
        ".global .align 4 .b8 x[4] = {1, 2, 3, 4};\n",
        ".file\t1 \"/src/a.cu\"\n.section .debug_str\n{\n.b8 1\n}\n",
        ".weak .func (.param .b32 r) f(.param .b32 x)\n;\n.alias g, f;\n",
        ".entry e() .pragma \"nounroll; {\"; { ret; }\n",
    ];
    for tail in tails {
        let module = format!("{HEADER}{FUNCTION}{tail}");
        assert_eq!(ptx(&format!("\0{module}\0}} other"), true), Some((module.clone(), true)), "{tail}");
        // As Rust stores texts, back to back.
        for other in ["src/main.rs", "{}: {}\n", "} else {", "Some text; more", ".rs", ".entrypoint {}"] {
            let text = format!("a text{module}{other}\0");
            assert_eq!(ptx(&text, true), Some((module.clone(), false)), "{tail} {other}");
            assert_eq!(ptx(&text, false), None);
        }
        let two = format!("{module}{HEADER}{FUNCTION}");
        assert_eq!(ptx(&two, true), Some((module.clone(), false)), "{tail}");
    }
}

#[test]
fn comments_before_a_module_have_no_control_characters() {
    let module = format!("{HEADER}{FUNCTION}");
    let damaged = module.replacen("Generated", "Gen\u{7}erated", 1);
    let rest = &damaged[damaged.find("//\n\n").unwrap()..];
    assert_eq!(ptx(&format!("\0{damaged}\0"), true), Some((rest.to_owned(), true)));
    let block =
        format!("/* a\u{7} */\n{FUNCTION}").replacen(FUNCTION, HEADER.trim_start_matches(|c| c != '.'), 1) + FUNCTION;
    let (found, _) = ptx(&format!("\0{block}\0"), true).unwrap();
    assert!(found.starts_with(".version"), "{found}");
    let (found, _) =
        ptx(&format!("/* a */ b */\n{}{FUNCTION}\0", HEADER.trim_start_matches(|c| c != '.')), true).unwrap();
    assert!(found.starts_with(".version"), "{found}");
}

#[test]
fn a_comment_does_not_end_in_its_first_characters() {
    let module = format!("{}{FUNCTION}", HEADER.trim_start_matches(|c| c != '.'));
    assert_eq!(ptx(&format!("\0/*/\n{module}\0"), true), None);
    let whole = format!("/* /*/\n{module}");
    assert_eq!(ptx(&format!("\0{whole}\0"), true), Some((whole, true)));
}

#[test]
fn gcc_writes_stubs_without_spaces() {
    let module = ".version 6.0.target sm_35.file 1 \"<dummy>\".func f;.visible .func f{ret;}";
    assert_eq!(ptx(&format!("\0{module}\0"), true), Some((module.to_owned(), true)));
}

#[test]
fn text_with_parts_of_ptx_is_none() {
    let texts = [
        HEADER.to_owned(),
        ".version 7.0\n.target sm_80\n".to_owned(),
        format!(".version %d.%d\n.target sm_%d\n{FUNCTION}"),
        format!("// .version 7.0\n.target sm_80\n{FUNCTION}"),
        format!(".version 7.0\n{FUNCTION}"),
        format!("{HEADER}.visible .entry k() {{ ret;"),
        "the directive .version 7.0 .target sm_80 is required".to_owned(),
        format!(".target sm_80\n.version 7.0\n{FUNCTION}"),
    ];
    for text in texts {
        assert_eq!(ptx(&text, true), None, "{text}");
    }
    let in_source = format!("text = \"\"\"\n{HEADER}{FUNCTION}\"\"\"\n");
    assert_eq!(ptx(&in_source, false), None);
}
