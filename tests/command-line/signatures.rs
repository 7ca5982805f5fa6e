//! Signed files: no command that edits changes one without `--break-signature`, in any container.
//!
//! `cargo test --test command-line signatures -- --nocapture` prints the table of files, containers and commands.

use std::collections::BTreeSet;
use std::io::{Cursor, Write};

use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use sha2::{Digest, Sha256};

use crate::{Run, Sandbox};

/// A file that can be signed.
enum Form {
    Certificates(Width),
    StrongName(Width),
    MachO(Width, Order),
    Universal(Width, Order, Offsets),
    /// A signed slice after one that is not.
    SecondSlice,
    Module,
    Section(&'static str),
    /// A member of a zip file.
    Member(&'static str),
    SigningBlock,
    Footer,
    /// A member of an `ar` archive.
    ArMember(&'static str),
    /// A member that is signed itself, in an archive that is not.
    In(Container, &'static Form),
}

#[derive(Clone, Copy, PartialEq)]
enum Width {
    Bits32,
    Bits64,
}

#[derive(Clone, Copy, PartialEq)]
enum Order {
    Little,
    Big,
}

/// Width of the offsets of a universal file.
#[derive(Clone, Copy, PartialEq)]
enum Offsets {
    Bits32,
    Bits64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Container {
    Zip,
    ZipInZip,
    Ar,
    ArInZip,
    ZipInAr,
}

use Container::{Ar, ArInZip, Zip, ZipInAr, ZipInZip};
use Form::{
    ArMember, Certificates, Footer, In, MachO, Member, Module, SecondSlice, Section, SigningBlock, StrongName,
    Universal,
};
use Order::{Big, Little};
use Width::{Bits32, Bits64};

/// Files with the names of their signatures in messages.
const FILES: [(&str, &str, Form); 34] = [
    ("pe32.dll", "Authenticode", Certificates(Bits32)),
    ("pe64.dll", "Authenticode", Certificates(Bits64)),
    ("net32.dll", "strong name", StrongName(Bits32)),
    ("net64.dll", "strong name", StrongName(Bits64)),
    ("thin64.dylib", "LC_CODE_SIGNATURE", MachO(Bits64, Little)),
    ("thin32.dylib", "LC_CODE_SIGNATURE", MachO(Bits32, Little)),
    ("thin64-be.dylib", "LC_CODE_SIGNATURE", MachO(Bits64, Big)),
    ("thin32-be.dylib", "LC_CODE_SIGNATURE", MachO(Bits32, Big)),
    ("fat.dylib", "LC_CODE_SIGNATURE", Universal(Bits64, Little, Offsets::Bits32)),
    ("fat-of-32.dylib", "LC_CODE_SIGNATURE", Universal(Bits32, Little, Offsets::Bits32)),
    ("fat64.dylib", "LC_CODE_SIGNATURE", Universal(Bits64, Little, Offsets::Bits64)),
    ("fat64-be.dylib", "LC_CODE_SIGNATURE", Universal(Bits32, Big, Offsets::Bits64)),
    ("second.dylib", "LC_CODE_SIGNATURE", SecondSlice),
    ("module.ko", "module signature", Module),
    ("runtime.AppImage", "ELF section", Section(".sha256_sig")),
    ("solaris.so", "ELF section", Section(".SUNW_signature")),
    ("sf.jar", "jar", Member("META-INF/A.SF")),
    ("rsa.xpi", "jar", Member("META-INF/mozilla.rsa")),
    ("dsa.jar", "jar", Member("META-INF/A.DSA")),
    ("v1.apk", "jar", Member("meta-inf/cert.ec")),
    ("sig.jar", "jar", Member("META-INF/SIG-A")),
    ("cose.xpi", "COSE", Member("META-INF/cose.sig")),
    ("v2.apk", "APK Signing Block", SigningBlock),
    ("ota.zip", "SignApk footer", Footer),
    ("jws.whl", "RECORD of a wheel", Member("p-1.dist-info/RECORD.jws")),
    ("p7s.whl", "RECORD of a wheel", Member("p-1.dist-info/RECORD.p7s")),
    ("p.nupkg", ".signature.p7s", Member(".signature.p7s")),
    ("p.msix", "MSIX", Member("AppxSignature.p7x")),
    ("p.appx", "block map of MSIX", Member("AppxBlockMap.xml")),
    ("p.vsix", "OPC digital signature", Member("package/services/digital-signature/xml-signature/a.psdsxs")),
    ("p.docx", "OPC digital signature", Member("_xmlsignatures/origin.sigs")),
    ("a.ipa", "_CodeSignature", Member("Payload/A.app/_CodeSignature/CodeResources")),
    ("origin.deb", "debsigs", ArMember("_gpgorigin")),
    ("nested.war", "jar", In(Zip, &Member("META-INF/A.SF"))),
];

/// Commands that edit, with their names.
const COMMANDS: [(&str, &str); 5] = [
    ("prune", "prune --keep gfx90a -o out"),
    ("strip", "strip --device-debug -o out"),
    ("transcode", "transcode --to v3 --to zstd -o out"),
    ("replace", "replace --image 0=amd -o out"),
    ("split", "split -o out"),
];

/// Messages about archives with members that no command changes, with a signature or without.
const UNSUPPORTED: [&str; 2] =
    ["only members of static libraries and zip files can be changed", "is an archive; unpack it"];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90-debug.cubin", "cubin").fixture("answer-gfx90a.hsaco", "amd");
    sandbox.fixture("answer-gfx90a-debug.hsaco", "debug");
    sandbox.fatbin("pack --abi llvm23 -o code debug cubin").ok();
    sandbox
}

/// Where a command has refused a file.
fn tried(sandbox: &Sandbox, command: &str, file: &str, name: &str, bytes: &[u8]) -> &'static str {
    sandbox.file(file, bytes);
    let run = sandbox.fatbin(&format!("{command} {file}"));
    let is_written = sandbox.path("out").exists();
    let what = if run.err.contains(&format!("signed ({name}), and a change breaks the signature")) {
        "signed"
    } else if UNSUPPORTED.iter().any(|message| run.err.contains(message)) {
        "archive"
    } else {
        "CHANGED"
    };
    assert_eq!((run.status, is_written), (2, false), "{command} {file}: {what}: {}", run.err);
    what
}

/// Runs a command that must change a file, and returns its messages.
fn changed(sandbox: &Sandbox, command: &str, file: &str, bytes: &[u8]) -> String {
    sandbox.file(file, bytes);
    let run = sandbox.fatbin(&format!("{command} {file}"));
    assert_eq!(run.status, 0, "{command} {file}: {}", run.err);
    let out = sandbox.path("out");
    if out.is_dir() {
        std::fs::remove_dir_all(out).unwrap();
    } else {
        std::fs::remove_file(out).unwrap();
    }
    run.err
}

#[test]
fn no_command_breaks_a_signature_silently() {
    let sandbox = sandbox();
    let code = sandbox.read("code");
    let mut names = BTreeSet::new();
    for (file, name, form) in &FILES {
        let signed = form.file(&code, true);
        let is_first = names.insert(name);
        for (command, line) in COMMANDS {
            // The other commands apply their edits as `prune` does: one file of each kind suffices.
            if !is_first && !["prune", "split"].contains(&command) {
                continue;
            }
            let what = tried(&sandbox, line, file, name, &signed);
            println!("{name:24} {file:16} {command:9} {what}");
            let may_be_unsupported =
                command == "split" && ["PK", "!<"].iter().any(|it| signed.starts_with(it.as_bytes()));
            assert!(what == "signed" || may_be_unsupported, "{command} {file}: {what}");
        }
        // Without the signature it can be changed, and with the option.
        let [(_, prune), ..] = COMMANDS;
        let messages = changed(&sandbox, prune, file, &form.file(&code, false));
        assert!(!messages.contains("signature"), "{file}: {messages}");
        let messages = changed(&sandbox, &format!("{prune} --break-signature"), file, &signed);
        assert!(
            messages.contains(&format!("its signature ({name}) is no longer valid; sign the result")),
            "{messages}"
        );
    }
}

#[test]
fn no_container_hides_a_signature() {
    let sandbox = sandbox();
    let code = sandbox.read("code");
    let [(_, prune), ..] = COMMANDS;
    for (file, name, form) in &FILES {
        for container in [ZipInZip, Ar, ArInZip, ZipInAr] {
            let bytes = container.with(&form.file(&code, true));
            let what = tried(&sandbox, prune, file, name, &bytes);
            println!("{name:24} {file:16} {container:9?} {what}");
            let is_zip_in_ar =
                container == ZipInAr || form.file(&code, true).starts_with(b"PK") && [Ar, ArInZip].contains(&container);
            assert_eq!(what, if is_zip_in_ar { "archive" } else { "signed" }, "{container:?} {file}");
        }
    }
}

/// End of a signed module: a signature of 8 bytes, its description, and the mark.
const MODULE: &[u8] = b"SSSSSSSS\0\0\x02\0\0\0\0\0\0\0\0\x08~Module signature appended~\n";

impl Form {
    /// Returns a file with device code.
    fn file(&self, code: &[u8], signed: bool) -> Vec<u8> {
        match *self {
            Certificates(width) => certificates(pe(code, width, false), width, signed),
            StrongName(width) => pe(code, width, signed),
            MachO(width, order) => macho(code, width, order, signed),
            Universal(width, order, offsets) => universal(&[macho(code, width, order, signed)], offsets),
            SecondSlice => {
                let slices = [macho(b"", Bits64, Little, false), macho(code, Bits64, Little, signed)];
                universal(&slices, Offsets::Bits32)
            }
            Module => [&elf(code, ".modinfo", false)[..], if signed { MODULE } else { b"" }].concat(),
            Section(name) => elf(code, name, signed),
            Member(name) if signed => zip(&[("lib/code", code), (name, b"signature")]),
            Member(_) => zip(&[("lib/code", code)]),
            SigningBlock => signing_block(zip(&[("lib/code", code)]), signed),
            Footer => footer(zip(&[("lib/code", code)]), signed),
            ArMember(name) if signed => ar(&[("code", code), (name, b"signature")]),
            ArMember(_) => ar(&[("code", code)]),
            In(container, form) => container.with(&form.file(code, signed)),
        }
    }
}

impl Container {
    fn with(self, file: &[u8]) -> Vec<u8> {
        match self {
            Zip => zip(&[("lib/file", file)]),
            ZipInZip => Zip.with(&Zip.with(file)),
            Ar => ar(&[("file", file)]),
            ArInZip => Zip.with(&Ar.with(file)),
            ZipInAr => Ar.with(&Zip.with(file)),
        }
    }
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Returns a zip file with a block in front of its central directory. Its end record states the directory's offset.
fn signing_block(zip: Vec<u8>, signed: bool) -> Vec<u8> {
    if !signed {
        return zip;
    }
    let end = zip.len() - 22;
    let directory = u32::from_le_bytes(zip[end + 16..end + 20].try_into().unwrap());
    let pair = [&12_u64.to_le_bytes()[..], &0x7109_871a_u32.to_le_bytes(), b"SSSSSSSS"].concat();
    let size = (pair.len() as u64 + 24).to_le_bytes();
    let block = [&size, &pair[..], &size, b"APK Sig Block 42"].concat();
    let (members, rest) = zip.split_at(directory as usize);
    let mut signed = [members, &block, rest].concat();
    let stated = signed.len() - 6;
    signed[stated..stated + 4].copy_from_slice(&(directory + block.len() as u32).to_le_bytes());
    signed
}

/// Returns a zip file whose comment has a signature of 100 bytes.
fn footer(mut zip: Vec<u8>, signed: bool) -> Vec<u8> {
    if signed {
        let comment = [&b"signed by SignApk\0"[..], &[b'S'; 100], &[106, 0, 0xff, 0xff, 124, 0]].concat();
        zip.truncate(zip.len() - 2);
        zip.extend((comment.len() as u16).to_le_bytes());
        zip.extend(comment);
    }
    zip
}

fn ar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, member) in members {
        bytes.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, member.len()).bytes());
        bytes.extend(*member);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

/// Returns an ELF object with a section, which is zero if it is not signed.
fn elf(code: &[u8], section: &str, signed: bool) -> Vec<u8> {
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    for (name, bytes) in [(".llvm.offloading", code), (section, &[u8::from(signed); 64])] {
        let id = object.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::ReadOnlyData);
        object.append_section_data(id, bytes, 16);
    }
    object.write().unwrap()
}

/// Offsets in a PE file: of the optional header, and of the only section, which is loaded at `ADDRESS`.
const OPTIONAL: usize = 0x98;
const SECTION: usize = 0x400;
const ADDRESS: u32 = 0x1000;

impl Width {
    /// Offset of the directories of a PE file in its optional header.
    fn directories(self) -> usize {
        if self == Bits64 { 112 } else { 96 }
    }
}

fn set(bytes: &mut [u8], at: usize, values: &[u32]) {
    for (place, value) in (at..).step_by(4).zip(values) {
        bytes[place..place + 4].copy_from_slice(&value.to_le_bytes());
    }
}

/// Returns an assembly with a place for its strong name in front of the code.
fn pe(code: &[u8], width: Width, is_named: bool) -> Vec<u8> {
    // Places in the section: the signature, and the code after the header for .NET.
    let (name, content) = (0x80, 0x100);
    let directories = OPTIONAL + width.directories();
    let sections = directories + 16 * 8;
    let mut bytes = vec![0; SECTION + content];
    bytes[..2].copy_from_slice(b"MZ");
    set(&mut bytes, 0x3c, &[0x80]);
    bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
    let (machine, magic) = if width == Bits64 { (0x8664, 0x20b) } else { (0x14c, 0x10b) };
    set(&mut bytes, 0x84, &[machine | 1 << 16, 0, 0, 0, (sections - OPTIONAL) as u32 | 0x2022 << 16, magic]);
    set(&mut bytes, directories - 4, &[16]);
    set(&mut bytes, directories + 14 * 8, &[ADDRESS, 72]);
    bytes[sections..sections + 5].copy_from_slice(b".text");
    let size = (content + code.len()) as u32;
    set(&mut bytes, sections + 8, &[size, ADDRESS, size, SECTION as u32, 0, 0, 0, 0x4000_0040]);
    set(&mut bytes, SECTION, &[72]);
    set(&mut bytes, SECTION + 16, &[9]);
    set(&mut bytes, SECTION + 32, &[ADDRESS + name as u32, 128]);
    bytes[SECTION + name..SECTION + content].fill(u8::from(is_named));
    bytes.extend(code);
    bytes
}

fn certificates(mut pe: Vec<u8>, width: Width, signed: bool) -> Vec<u8> {
    if signed {
        pe.resize(pe.len().next_multiple_of(8), 0);
        let table = [pe.len() as u32, 64];
        set(&mut pe, OPTIONAL + width.directories() + 4 * 8, &table);
        pe.extend([9; 64]);
    }
    pe
}

/// Offset of the code in a Mach-O file, and size of the pages of its signature.
const PAGE: usize = 0x1000;

fn word(order: Order, value: u32) -> [u8; 4] {
    if order == Big { value.to_be_bytes() } else { value.to_le_bytes() }
}

/// Returns a Mach-O file with a signature of this size, which is not written yet.
fn macho_before(code: &[u8], width: Width, order: Order, signature: Option<usize>) -> Vec<u8> {
    let end = PAGE + code.len().next_multiple_of(16);
    let mut bytes = Vec::new();
    let words = |bytes: &mut Vec<u8>, values: &[u32]| bytes.extend(values.iter().flat_map(|&value| word(order, value)));
    let addresses = |bytes: &mut Vec<u8>, values: &[u32]| match (width, order) {
        (Bits32, _) => words(bytes, values),
        (Bits64, Little) => values.iter().for_each(|&value| words(bytes, &[value, 0])),
        (Bits64, Big) => values.iter().for_each(|&value| words(bytes, &[0, value])),
    };
    let (header, segment) = if width == Bits64 { (32, 152) } else { (28, 124) };
    let (magic, machine, command) =
        if width == Bits64 { (0xfeed_facf, 0x0100_000c, 0x19) } else { (0xfeed_face, 12, 1) };
    let commands = segment + signature.map_or(0, |_| 16);
    words(&mut bytes, &[magic, machine, 0, 6, 1 + u32::from(signature.is_some()), commands, 0]);
    bytes.resize(header, 0);
    words(&mut bytes, &[command, segment]);
    bytes.extend(b"__TEXT\0\0\0\0\0\0\0\0\0\0");
    addresses(&mut bytes, &[0, end as u32, 0, end as u32]);
    words(&mut bytes, &[5, 5, 1, 0]);
    bytes.extend(b"__offloading\0\0\0\0__TEXT\0\0\0\0\0\0\0\0\0\0");
    addresses(&mut bytes, &[PAGE as u32, code.len() as u32]);
    words(&mut bytes, &[PAGE as u32, 3, 0, 0, 0, 0, 0]);
    bytes.resize(header + segment as usize, 0);
    if let Some(size) = signature {
        words(&mut bytes, &[0x1d, 16, end as u32, size as u32]);
    }
    bytes.resize(PAGE, 0);
    bytes.extend(code);
    bytes.resize(end, 0);
    bytes
}

/// Returns a Mach-O file whose signature has no code directory.
fn macho(code: &[u8], width: Width, order: Order, signed: bool) -> Vec<u8> {
    let mut bytes = macho_before(code, width, order, signed.then_some(12));
    if signed {
        bytes.extend([0xfade_0cc0, 12, 0].map(u32::to_be_bytes).concat());
    }
    bytes
}

fn universal(slices: &[Vec<u8>], offsets: Offsets) -> Vec<u8> {
    let is_wide = offsets == Offsets::Bits64;
    let mut bytes = [0xcafe_babe + u32::from(is_wide), slices.len() as u32].map(u32::to_be_bytes).concat();
    let mut content = Vec::new();
    for slice in slices {
        let (offset, size) = ((0x4000 + content.len()) as u32, slice.len() as u32);
        let entry: &[u32] = if is_wide { &[12, 0, 0, offset, 0, size, 14, 0] } else { &[12, 0, offset, size, 14] };
        bytes.extend(entry.iter().flat_map(|word| word.to_be_bytes()));
        content.extend(slice);
        content.resize(content.len().next_multiple_of(0x4000), 0);
    }
    bytes.resize(0x4000, 0);
    bytes.extend(content);
    bytes
}

/// Size of a code directory without hashes, and of the super blob in front of it.
const DIRECTORY: usize = 44;
const SUPER_BLOB: usize = 20;

/// Flag of a code directory without a certificate.
const AD_HOC: u32 = 2;

/// Returns a Mach-O file with a valid code directory that has these flags.
fn macho_with_hashes(code: &[u8], width: Width, order: Order, flags: u32) -> Vec<u8> {
    let limit = macho_before(code, width, order, Some(0)).len();
    let pages = limit.div_ceil(PAGE);
    let size = DIRECTORY + pages * 32;
    let mut bytes = macho_before(code, width, order, Some(SUPER_BLOB + size));
    let hashes: Vec<u8> = bytes.chunks(PAGE).flat_map(Sha256::digest).collect();
    let super_blob = [0xfade_0cc0, (SUPER_BLOB + size) as u32, 1, 0, SUPER_BLOB as u32];
    let sizes = 32 << 24 | 2 << 16 | PAGE.ilog2();
    let directory =
        [0xfade_0c02, size as u32, 0x20001, flags, DIRECTORY as u32, 0, 0, pages as u32, limit as u32, sizes, 0];
    bytes.extend(super_blob.into_iter().chain(directory).flat_map(u32::to_be_bytes));
    bytes.extend(hashes);
    bytes
}

/// Returns the numbers of the pages that differ from their hashes, for a file of [`macho_with_hashes`].
fn stale_pages(file: &[u8]) -> Vec<usize> {
    let blob = file.windows(4).position(|bytes| bytes == 0xfade_0cc0_u32.to_be_bytes()).unwrap();
    let hashes = file[blob + SUPER_BLOB + DIRECTORY..].chunks(32);
    let pages = file[..blob].chunks(PAGE).zip(hashes).enumerate();
    pages.filter(|(_, (page, hash))| Sha256::digest(page).as_slice() != *hash).map(|(number, _)| number).collect()
}

#[test]
fn ad_hoc_signatures_are_renewed_and_others_are_not() {
    let sandbox = sandbox();
    let code = sandbox.read("code");
    for (width, order) in [(Bits64, Little), (Bits32, Little), (Bits64, Big), (Bits32, Big)] {
        let ad_hoc = macho_with_hashes(&code, width, order, AD_HOC);
        let certified = macho_with_hashes(&code, width, order, 0);
        sandbox.file("ad-hoc.dylib", &ad_hoc).file("certified.dylib", &certified);
        sandbox.fatbin("verify ad-hoc.dylib certified.dylib").ok();
        for (command, line) in COMMANDS {
            let out = sandbox.fatbin(&format!("{line} ad-hoc.dylib")).out;
            assert!(out.contains("ad-hoc.dylib: its ad hoc signature is renewed\n"), "{command}: {out}");
            if command == "split" {
                assert!(stale_pages(&sandbox.read("out/ad-hoc.dylib")).is_empty());
                sandbox.fatbin("join -o joined out").ok();
                assert!(sandbox.read("joined") == ad_hoc);
                std::fs::remove_dir_all(sandbox.path("out")).unwrap();
            } else {
                assert!(stale_pages(&sandbox.read("out")).is_empty(), "{command}");
                assert_ne!(sandbox.read("out"), ad_hoc);
                sandbox.fatbin("verify out").ok();
                std::fs::remove_file(sandbox.path("out")).unwrap();
            }
            tried(&sandbox, line, "certified.dylib", "LC_CODE_SIGNATURE", &certified);
        }
        let mut stale = ad_hoc.clone();
        stale[40] ^= 1;
        stale[PAGE - 1] = 1;
        stale[PAGE + code.len() - 1] ^= 1;
        let pages = stale_pages(&stale);
        let run = sandbox.file("stale.dylib", &stale).fatbin("verify stale.dylib");
        let expected = format!(
            "stale.dylib: code signature of the page at 0x0: {} of {} pages differ from their hashes, so macOS does not run \
             them; sign it again\n",
            pages.len(),
            (PAGE + code.len()).div_ceil(PAGE),
        );
        assert_eq!((run.status, pages[0]), (2, 0));
        assert!(run.err.contains(&expected), "{}", run.err);
    }
}

#[test]
fn slices_and_members_that_do_not_change_keep_their_signatures() {
    let sandbox = sandbox();
    let code = sandbox.read("code");
    let certified = macho_with_hashes(b"", Bits64, Little, 0);
    let ad_hoc = macho_with_hashes(&code, Bits64, Little, AD_HOC);
    let file = universal(&[certified.clone(), ad_hoc.clone()], Offsets::Bits32);
    sandbox.file("both.dylib", &file);
    let Run { out, err, .. } = sandbox.fatbin("prune --keep gfx90a -o out both.dylib");
    assert!(out.contains("both.dylib: its ad hoc signature is renewed\n"), "{out}{err}");
    let written = sandbox.read("out");
    assert_eq!(written[..0x4000 + certified.len()], file[..0x4000 + certified.len()]);
    let second = &written[file.windows(PAGE).rposition(|bytes| bytes == &ad_hoc[..PAGE]).unwrap()..];
    assert!(stale_pages(second).is_empty() && second[..ad_hoc.len()] != ad_hoc);
    // Archives with a member of each.
    sandbox.file("both.a", ar(&[("one", &certified), ("two", &ad_hoc)]));
    let out = sandbox.fatbin("prune --keep gfx90a -o both.out both.a").out;
    assert!(out.contains("both.a!two: its ad hoc signature is renewed\n"), "{out}");
    sandbox.fatbin("split -o parts both.a").ok();
    sandbox.fatbin("join -o joined.a parts").ok();
    assert!(sandbox.read("joined.a") == sandbox.read("both.a"));
    let refused = sandbox.file("signed.a", ar(&[("one", &ad_hoc), ("_gpgorigin", b"x")])).fatbin("split -o s signed.a");
    assert!(refused.err.contains("signed (debsigs)"), "{}", refused.err);
}

/// Only a privileged user can set the attributes.
#[cfg(target_os = "linux")]
#[test]
fn a_file_with_a_signature_in_its_attributes_is_not_replaced() {
    let sandbox = sandbox();
    let attributes = [("security.ima", 1, false), ("security.ima", 3, true), ("security.evm", 5, true)];
    for (name, kind, is_signature) in attributes {
        sandbox.file("file", sandbox.read("code"));
        if rustix::fs::setxattr(sandbox.path("file"), name, &[kind, 2, 4], rustix::fs::XattrFlags::empty()).is_err() {
            return;
        }
        let run = sandbox.fatbin("prune --keep gfx90a --in-place --dry-run file");
        assert_eq!(run.status, if is_signature { 2 } else { 0 }, "{name} {kind}: {}", run.err);
        assert_eq!(run.err.contains(&format!("signed ({name})")), is_signature, "{}", run.err);
        // Another file does not get the attribute.
        sandbox.fatbin("prune --keep gfx90a -o out file");
        assert!(sandbox.path("out").exists());
        std::fs::remove_file(sandbox.path("out")).unwrap();
        let run = sandbox.fatbin("prune --keep gfx90a --break-signature --in-place file");
        assert!(run.status == 0 && run.err.contains(&format!("{name} not preserved")), "{}", run.err);
    }
}
