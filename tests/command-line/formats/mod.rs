//! The pages of formats: their tables are read, and used to read containers that fatbin writes. The images must be found by the
//! tables alone, byte for byte.

mod registration;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fatbin_core::format::kpack;
use fatbin_core::format::kpack::{KpackMember, KpackProperties};
use serde_json::Value;
use sha2::Digest;

use crate::documents::files_below;
use crate::dropin::called;
use crate::{Sandbox, fixture};

/// A row of a table: offset, size, field and meaning, separated by at least two spaces.
#[derive(Debug, Clone)]
struct Field {
    offset: usize,
    /// `None` for a size that another field states.
    size: Option<usize>,
    name: String,
    meaning: String,
}

/// The tables of a page by their headings.
fn tables(page: &str) -> BTreeMap<String, Vec<Field>> {
    let text = std::fs::read_to_string(directory().join(page)).unwrap();
    let sections = text.split("\n## ").skip(1);
    let table = |section: &str| {
        let (_, rows) = section.split_once("```text\n")?;
        let rows = rows.lines().take_while(|line| *line != "```");
        Some((section.lines().next().unwrap().to_owned(), rows.map(field).collect()))
    };
    sections.filter_map(table).collect()
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/formats")
}

fn field(row: &str) -> Field {
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let [offset, size, name, meaning] = cells[..] else { panic!("{row}: not four cells") };
    let offset = usize::from_str_radix(offset.strip_prefix("0x").unwrap(), 16).unwrap();
    Field { offset, size: size.parse().ok(), name: name.to_owned(), meaning: meaning.to_owned() }
}

/// Bytes, read by a table.
struct Record<'a> {
    bytes: &'a [u8],
    fields: &'a [Field],
}

impl Record<'_> {
    fn bytes(&self, name: &str) -> &[u8] {
        let field = self.fields.iter().find(|field| field.name == name).unwrap_or_else(|| panic!("no field {name}"));
        &self.bytes[field.offset..field.offset + field.size.unwrap()]
    }

    fn get(&self, name: &str) -> usize {
        self.bytes(name).iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte))
    }

    fn size(&self) -> usize {
        size(self.fields)
    }
}

fn size(fields: &[Field]) -> usize {
    fields.iter().filter_map(|field| Some(field.offset + field.size?)).max().unwrap()
}

#[test]
fn tables_have_no_gaps() {
    let mut count = 0;
    for page in files_below(&directory(), "md") {
        for (title, fields) in tables(page.file_name().unwrap().to_str().unwrap()) {
            let mut end = 0;
            for field in &fields {
                assert_eq!(field.offset, end, "{}: {title}: {}", page.display(), field.name);
                end += field.size.unwrap_or_default();
            }
            count += 1;
        }
    }
    assert!(count > 15, "{count} tables");
}

#[test]
fn offload_binaries_are_read_by_the_tables() {
    let tables = tables("offload-binary.md");
    let (elf, cubin) = (fixture("answer-gfx90a.hsaco"), fixture("answer-sm_90.cubin"));
    let sandbox = Sandbox::new();
    sandbox.file("a", &elf).file("b.cubin", &cubin);
    for version in [1, 2, 3] {
        sandbox
            .fatbin(&format!(
                "pack --format-version {version} -o out --image file=a,kind=hip --image file=b.cubin,kind=cuda"
            ))
            .ok();
        let (mut rest, mut found) = (sandbox.read("out"), Vec::new());
        while !rest.is_empty() {
            let header = if version == 3 { &tables["Header of version 3"] } else { &tables["Header"] };
            let header = Record { bytes: &rest, fields: header };
            assert_eq!(header.bytes("magic"), [0x10, 0xff, 0x10, 0xad]);
            assert_eq!(header.get("version"), version);
            let entry = size(&tables["Entry"]);
            let count = if version == 1 { 1 } else { header.get("entries count") };
            assert!(version > 1 || header.get("entries count") == entry);
            assert!(version < 3 || header.get("inflated size") == 0);
            for number in 0..count {
                let at = header.get("entries offset") + number * entry;
                let entry = Record { bytes: &rest[at..], fields: &tables["Entry"] };
                let image = &rest[entry.get("image offset")..][..entry.get("image size")];
                let arch = string(&rest, &entry, &tables, version, "arch");
                assert_eq!(entry.get("flags"), 0);
                found.push((image.to_vec(), entry.get("image kind"), entry.get("offload kind"), arch));
            }
            rest = rest.split_off(header.get("size"));
        }
        let expected = [(elf.clone(), 1, 4, "gfx90a".to_owned()), (cubin.clone(), 3, 2, "sm_90".to_owned())];
        assert_eq!(found, expected, "version {version}");
    }
}

fn string(
    bytes: &[u8],
    entry: &Record<'_>,
    tables: &BTreeMap<String, Vec<Field>>,
    version: usize,
    key: &str,
) -> String {
    let name = if version == 1 { "String entry of version 1" } else { "String entry of versions 2 and 3" };
    let text = |at: usize| {
        let bytes = &bytes[at..];
        String::from_utf8(bytes[..bytes.iter().position(|byte| *byte == 0).unwrap()].to_vec()).unwrap()
    };
    for number in 0..entry.get("strings count") {
        let at = entry.get("strings offset") + number * size(&tables[name]);
        let string = Record { bytes: &bytes[at..], fields: &tables[name] };
        if text(string.get("key offset")) == key {
            let value = text(string.get("value offset"));
            assert!(version == 1 || string.get("value size") == value.len());
            return value;
        }
    }
    panic!("no string {key}");
}

const BUNDLE: &str =
    "bundle --raw --type o --target host-x86_64-unknown-linux-gnu=/dev/null --target hip-amdgcn-amd-amdhsa--gfx90a=a";

#[test]
fn offload_bundles_are_read_by_the_tables() {
    let tables = tables("offload-bundle.md");
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin(&format!("{BUNDLE} -o out")).ok();
    let bytes = sandbox.read("out");
    let header = Record { bytes: &bytes, fields: &tables["Header"] };
    assert_eq!(header.bytes("magic"), b"__CLANG_OFFLOAD_BUNDLE__");
    let (mut at, mut found) = (header.size(), Vec::new());
    for _ in 0..header.get("count") {
        let entry = Record { bytes: &bytes[at..], fields: &tables["Entry"] };
        at += entry.size();
        let id = &bytes[at..at + entry.get("ID length")];
        at += id.len();
        found.push((
            String::from_utf8(id.to_vec()).unwrap(),
            bytes[entry.get("offset")..][..entry.get("size")].to_vec(),
        ));
    }
    let image = ("hip-amdgcn-amd-amdhsa--gfx90a".to_owned(), fixture("answer-gfx90a.hsaco"));
    assert_eq!(found, [("host-x86_64-unknown-linux-gnu-".to_owned(), Vec::new()), image]);
}

#[test]
fn compressed_bundles_are_read_by_the_tables() {
    let tables = tables("compressed-bundle.md");
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin(&format!("{BUNDLE} -o plain")).ok();
    let plain = sandbox.read("plain");
    for version in [2, 3] {
        for (method, codec) in ["zlib", "zstd"].into_iter().enumerate() {
            sandbox.fatbin(&format!("{BUNDLE} --compress={codec} --format-version {version} -o out")).ok();
            let bytes = sandbox.read("out");
            let header = Record { bytes: &bytes, fields: &tables[&format!("Version {version}")] };
            assert_eq!(header.bytes("magic"), b"CCOB");
            assert_eq!([header.get("version"), header.get("method")], [version, method]);
            assert_eq!([header.get("total size"), header.get("uncompressed size")], [bytes.len(), plain.len()]);
            assert_eq!(header.get("hash") as u64, fatbin_core::format::ccob::hash([plain.as_slice()].into_iter()));
            let magic: &[u8] = if codec == "zstd" { &[0x28, 0xb5, 0x2f, 0xfd] } else { &[0x78] };
            assert!(bytes[header.size()..].starts_with(magic), "the stream follows the header");
        }
    }
    // No current tool writes version 1; its stream equals the stream of version 2.
    sandbox.fatbin(&format!("{BUNDLE} --compress --format-version 2 -o out")).ok();
    let (new, old) = (&tables["Version 2"], &tables["Version 1"]);
    let bytes = sandbox.read("out");
    let value = |name: &str| match name {
        "version" => vec![1, 0],
        name => Record { bytes: &bytes, fields: new }.bytes(name).to_vec(),
    };
    let mut made: Vec<u8> = old.iter().flat_map(|field| value(&field.name)).collect();
    made.extend(&bytes[size(new)..]);
    sandbox.file("old", made).fatbin("unbundle --type o --target hip-amdgcn-amd-amdhsa--gfx90a=image old").ok();
    assert_eq!(sandbox.read("image"), fixture("answer-gfx90a.hsaco"));
}

#[test]
fn cuda_fat_binaries_are_read_by_the_tables() {
    let tables = tables("cuda-fat-binary.md");
    let sandbox = Sandbox::new();
    let cubin = fixture("answer-sm_90.cubin");
    // fatbinary removes comments.
    let ptx = b".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n";
    sandbox.file("a", &cubin).file("b", ptx);
    let images = "--image3=kind=elf,sm=90,file=a --image3=kind=ptx,sm=80,file=b";
    let options = "--ident=source.cu --cmdline=-v --compress-mode=none";
    called(&sandbox, "fatbinary", &format!("--create=out {options} {images}")).ok();
    let bytes = sandbox.read("out");
    let header = Record { bytes: &bytes, fields: &tables["Header"] };
    assert_eq!(header.bytes("magic"), [0x50, 0xed, 0x55, 0xba]);
    assert_eq!([header.get("version"), header.get("header size")], [1, header.size()]);
    assert_eq!(header.get("size"), bytes.len() - header.size());
    let (mut at, mut found) = (header.size(), Vec::new());
    while at < bytes.len() {
        let start = &bytes[at..];
        let entry = Record { bytes: start, fields: &tables["Entry"] };
        assert_eq!([entry.get("marker"), entry.get("compressed size"), entry.get("reserved")], [0x101, 0, 0]);
        assert_eq!([entry.get("decompressed size"), entry.get("flags")], [0, 0x11]);
        assert_eq!(&start[entry.get("identifier offset")..][..entry.get("identifier size")], b"source.cu");
        if entry.get("options offset") > 0 {
            let block = Record { bytes: &start[entry.get("options offset")..], fields: &tables["Option block"] };
            assert_eq!(&start[block.get("text offset")..][..block.get("text size")], b"-v");
        }
        let code = [entry.get("kind"), entry.get("architecture"), entry.get("major version")];
        let payload = &start[entry.get("header size")..][..entry.get("payload size")];
        found.push((code, payload.to_vec()));
        at += entry.get("header size") + entry.get("payload size");
    }
    assert_eq!([found[0].0, found[1].0], [[2, 90, 1], [1, 80, 7]]);
    assert!(found.len() == 2 && found[0].1.starts_with(&cubin) && found[1].1.starts_with(ptx), "{found:?}");
}

#[test]
fn groups_and_compressed_entries_are_read_by_the_tables() {
    let tables = tables("cuda-fat-binary.md");
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90.cubin", "a");
    let image = "--image3=kind=elf,sm=90,file=a";
    called(&sandbox, "fatbinary", &format!("--create=out --concat {image} {image}")).ok();
    let bytes = sandbox.read("out");
    let start = &bytes[size(&tables["Header"])..];
    let entry = Record { bytes: start, fields: &tables["Entry"] };
    let table = Record { bytes: &start[entry.size()..], fields: &tables["Group table"] };
    assert_eq!([entry.get("kind"), entry.get("flags")], [0x100, 0x8011]);
    assert_eq!([table.get("count"), table.get("table size")], [2, table.size() + 2 * entry.size()]);
    let row = Record { bytes: &start[entry.size() + table.size() + entry.size()..], fields: &tables["Entry"] };
    let image = fixture("answer-sm_90.cubin").len().next_multiple_of(8);
    assert_eq!([row.get("kind"), row.get("header size"), row.get("payload size")], [2, image, image]);
    assert_eq!(entry.get("decompressed size"), 2 * image);
    let end = entry.get("header size") + entry.get("compressed size");
    assert!(start[entry.get("header size")..].starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) && end <= start.len());
}

#[test]
fn artifact_bundles_are_read_by_the_tables() {
    let tables = tables("artifact-bundle.md");
    let bytes = fixture("answer.oxart");
    let header = Record { bytes: &bytes, fields: &tables["Header"] };
    assert_eq!(header.bytes("magic"), b"OXIDEART");
    assert_eq!([header.get("header size"), header.get("size")], [header.size(), bytes.len()]);
    let mut at = header.size() + header.get("name size") + header.get("target size");
    let text = |at: usize, size: usize| String::from_utf8(bytes[at..at + size].to_vec()).unwrap();
    let mut payloads = Vec::new();
    for _ in 0..header.get("payload count") {
        let payload = Record { bytes: &bytes[at..], fields: &tables["Payload"] };
        let data = &bytes[payload.get("data offset")..][..payload.get("data size")];
        payloads.push((
            payload.get("kind"),
            text(payload.get("name offset"), payload.get("name size")),
            data[..4].to_vec(),
        ));
        at += payload.size();
    }
    let expected: [(usize, &str, &[u8]); 4] = [
        (0x100, "answer.ptx", b".ver"),
        (0x110, "answer.ll", b"; Mo"),
        (0x120, "answer.ltoir", b"\xedCN\x7f"),
        (0x200, "answer.cubin", b"\x7fELF"),
    ];
    assert_eq!(payloads, expected.map(|(kind, name, data)| (kind, name.to_owned(), data.to_vec())));
    let mut entries = Vec::new();
    for _ in 0..header.get("entry count") {
        let entry = Record { bytes: &bytes[at..], fields: &tables["Entry"] };
        let symbol = text(entry.get("symbol offset"), entry.get("symbol size"));
        entries.push(([entry.get("kind"), entry.get("flags"), entry.get("metadata")], symbol));
        at += entry.size();
    }
    assert_eq!(entries, [([1, 0, 0], "answer_kernel".to_owned()), ([2, 1, 7], "helper".to_owned())]);
}

#[test]
fn metal_libraries_are_read_by_the_tables() {
    let tables = tables("metal-library.md");
    let bytes = fixture("answer.metallib");
    let header = Record { bytes: &bytes, fields: &tables["Header"] };
    assert_eq!((header.bytes("magic"), header.get("size")), (b"MTLB".as_slice(), bytes.len()));
    assert_eq!([header.get("platform"), header.get("system"), header.get("release")], [0x8001, 0x81, 14]);
    let list = &bytes[header.get("list offset")..];
    assert_eq!(list[..4], [1, 0, 0, 0]);
    let mut entry = &list[8..];
    let mut fields = BTreeMap::new();
    while !entry.starts_with(b"ENDT") {
        let field = Record { bytes: entry, fields: &tables["Field"] };
        let value = &entry[field.size()..][..field.get("size")];
        fields.insert(field.bytes("tag").to_vec(), value.to_vec());
        entry = &entry[field.size() + value.len()..];
    }
    let number = |value: &[u8]| u64::from_le_bytes(value.try_into().unwrap()) as usize;
    let module =
        &bytes[header.get("modules offset") + number(&fields[&b"OFFT"[..]][16..])..][..number(&fields[&b"MDSZ"[..]])];
    assert_eq!((&fields[&b"NAME"[..]][..], module.len()), (b"answer_kernel\0".as_slice(), header.get("modules size")));
    assert_eq!(fields[&b"HASH"[..]], sha2::Sha256::digest(module).to_vec());
}

/// An input of a fuzz target, which an independent writer has made.
fn corpus(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name)).unwrap()
}

/// The images that `fatbin extract` writes.
fn extracted(bytes: &[u8], count: usize) -> Vec<Vec<u8>> {
    let sandbox = Sandbox::new();
    sandbox.file("container", bytes).fatbin("extract container -o out --name {number}").ok();
    (0..count).map(|number| sandbox.read(&format!("out/{number}"))).collect()
}

#[test]
fn syclbin_files_are_read_by_the_tables() {
    let tables = tables("syclbin.md");
    let bytes = corpus("syclbin/two");
    let header = Record { bytes: &bytes, fields: &tables["Header"] };
    assert_eq!((header.bytes("magic"), header.get("version")), (b"IBYS".as_slice(), 1));
    let image = size(&tables["Image"]);
    let records = header.size() + image * header.get("module count");
    let count = header.get("spirv count") + header.get("image count");
    let metadata = records + image * count;
    let code = (metadata + header.get("metadata size")).next_multiple_of(8);
    assert_eq!(code + header.get("code size"), bytes.len());
    let images = (0..count).map(|number| {
        let record = Record { bytes: &bytes[records + number * image..], fields: &tables["Image"] };
        bytes[code + record.get("code offset")..][..record.get("code size")].to_vec()
    });
    assert_eq!(images.collect::<Vec<_>>(), extracted(&bytes, count));
}

#[test]
fn patch_tokens_are_read_by_the_tables() {
    let tables = tables("patch-tokens.md");
    let bytes = fixture("answer-gen9.gen");
    let header = Record { bytes: &bytes, fields: &tables["Header"] };
    assert_eq!((header.bytes("magic"), header.get("core family")), (b"CTNI".as_slice(), 12));
    assert_eq!((header.get("kernel count"), header.get("tokens size")), (1, 0));
    let kernel = Record { bytes: &bytes[header.size()..], fields: &tables["Kernel"] };
    let mut at = header.size() + kernel.size();
    assert!(bytes[at..].starts_with(b"answer_kernel\0"));
    for part in ["name size", "code size", "general heap size", "dynamic heap size", "surface heap size"] {
        at += kernel.get(part);
    }
    let end = at + kernel.get("tokens size");
    let mut registers = None;
    while at < end {
        let token = Record { bytes: &bytes[at..], fields: &tables["Token"] };
        let words = &bytes[at + token.size()..][..token.get("size") - token.size()];
        if token.get("number") == 23 {
            registers = Some(words[4 * 20]);
        }
        at += token.get("size");
    }
    assert_eq!((at, registers), (bytes.len(), Some(128)));
    assert_eq!(extracted(&bytes, 1), [bytes]);
}

#[test]
fn directx_containers_are_read_by_the_tables() {
    let tables = tables("directx-container.md");
    let bytes = corpus("dxbc/dxil");
    let header = Record { bytes: &bytes, fields: &tables["Header"] };
    assert_eq!((header.bytes("magic"), header.get("major"), header.get("size")), (b"DXBC".as_slice(), 1, bytes.len()));
    let names = (0..header.get("count")).map(|number| {
        let offset = u32::from_le_bytes(bytes[header.size() + 4 * number..][..4].try_into().unwrap());
        let part = Record { bytes: &bytes[offset as usize..], fields: &tables["Part"] };
        assert!(part.size() + part.get("size") <= part.bytes.len());
        part.bytes("name").to_vec()
    });
    assert_eq!(names.collect::<Vec<_>>(), [b"SFI0", b"DXIL"]);
    assert_eq!(extracted(&bytes, 1), [bytes]);
}

#[test]
fn hcf_is_read_as_its_page_describes_it() {
    let page = std::fs::read_to_string(directory().join("hcf.md")).unwrap();
    let (_, example) = page.split_once("```text\n").unwrap();
    let (header, _) = example.split_once("\n```").unwrap();
    let code = vec![7; 2184];
    assert_eq!(extracted(&[header.as_bytes(), &code].concat(), 1), [code]);
}

#[test]
fn metal_archives_are_read_by_the_tables() {
    let tables = tables("metal-archive.md");
    let bytes = crate::metal::archive(&fixture("answer.metallib"), 0x0100_0013, 0x212);
    // Numbers are big-endian.
    let number =
        |record: &Record<'_>, name| record.bytes(name).iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
    let header = Record { bytes: &bytes, fields: &tables["Header"] };
    assert_eq!((header.bytes("magic"), number(&header, "count")), (b"\xcb\xfe\xba\xbe".as_slice(), 2));
    let mut at = header.size();
    let mut slices = Vec::new();
    for _ in 0..2 {
        let slice = Record { bytes: &bytes[at..], fields: &tables["Slice"] };
        at += slice.size();
        let code = &bytes[number(&slice, "offset")..][..number(&slice, "size")];
        slices.push((number(&slice, "processor"), number(&slice, "subtype"), code[..4].to_vec()));
    }
    let mach_o = b"\xcf\xfa\xed\xfe".to_vec();
    assert_eq!(slices, [(0x0100_0017, 12, b"MTLB".to_vec()), (0x0100_0013, 0x212, mach_o)]);
}

#[test]
fn kpack_archives_are_read_by_the_tables() {
    let fields = &tables("kpack.md")["Header"];
    let image = fixture("answer-gfx90a.hsaco");
    let properties = KpackProperties { group_name: "test", family: "gfx90a", arches: &["gfx90a"] };
    let members = [KpackMember { key: "lib/libtest.so#0", arch: "gfx90a", image: &image }];
    for (level, scheme) in [(None, "none"), (Some(3), "zstd-per-kernel")] {
        let bytes = kpack::write(&properties, &members, level).unwrap().to_vec();
        let header = Record { bytes: &bytes, fields };
        assert_eq!((header.bytes("magic"), header.get("version")), (b"KPAK".as_slice(), 1));
        assert_eq!((header.bytes("padding"), header.size()), ([0; 48].as_slice(), 0x40));
        let toc: Value = rmp_serde::from_slice(&bytes[header.get("table offset")..]).unwrap();
        assert_eq!(toc["compression_scheme"], scheme);
        let object = &toc["toc"]["lib/libtest.so#0"]["gfx90a"];
        assert_eq!((&object["ordinal"], &object["original_size"]), (&0.into(), &image.len().into()));
        let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
        if level.is_none() {
            let blob = &toc["blobs"][0];
            assert_eq!(bytes[number(&blob["offset"])..][..number(&blob["size"])], image);
        } else {
            let range = &bytes[number(&toc["zstd_offset"])..][..number(&toc["zstd_size"])];
            assert_eq!(range[..4], [1, 0, 0, 0]);
            assert_eq!(u32::from_le_bytes(range[4..8].try_into().unwrap()) as usize, range.len() - 8);
        }
    }
}
