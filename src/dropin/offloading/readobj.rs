//! llvm-readobj --offloading: prints the addresses of the entries of bundles.

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use object::BinaryFormat;

use super::Report;
use super::arguments::Line;
use super::format::ObjectFormat;
use super::objects::{Contents, Found, ObjectFile, bundles, each_object};
use fatbin_core::base::io::FileUri;
use fatbin_core::scan::Source;
use fatbin_ops::analyze::host_runtime::soname;
use fatbin_ops::embed::bundle::file::{BundleFile, FileEntry, Location};

/// Runs a command line.
pub fn list(line: &Line, report: &mut Report<'_>) -> Result<(), String> {
    if line.operands.is_empty() {
        return Err("no input files specified".to_owned());
    }
    let mut headers = String::new();
    let mut each = |input: &OsString| {
        each_object(Path::new(input), &mut |found| {
            match &found.contents {
                Contents::Object(file) => {
                    headers += &header(found, file);
                    addresses(found, file, report);
                }
                Contents::Bitcode => warn(report, found, "bitcode files are not supported"),
                Contents::OffloadBinary => return Err(refused(found, "an offload binary", "llvm-offload-binary")),
                Contents::Universal => return Err(refused(found, "a universal binary", "LLVM's llvm-readobj")),
            }
            Ok(())
        })
    };
    let done = line.operands.iter().try_for_each(&mut each);
    report.out.push(&headers);
    done
}

fn refused(found: &Found<'_>, what: &str, tool: &str) -> String {
    format!("'{}': {what}: use {tool}", found.title)
}

fn warn(report: &Report<'_>, found: &Found<'_>, text: &str) {
    report.diagnostics.warning(&format!("'{}': {text}", found.name));
}

fn header(found: &Found<'_>, file: &ObjectFile<'_>) -> String {
    let ObjectFormat { name, arch, bits } = ObjectFormat::of(file, found.part.view());
    let mut text = format!("\nFile: {}\nFormat: {name}\nArch: {arch}\nAddressSize: {bits}bit\n", found.title);
    if file.format() == BinaryFormat::Elf {
        let name = soname(file).map(|name| String::from_utf8_lossy(name).into_owned());
        text += &format!("LoadName: {}\n", name.unwrap_or_else(|| "<Not found>".to_owned()));
    }
    text
}

fn addresses(found: &Found<'_>, file: &ObjectFile<'_>, report: &mut Report<'_>) {
    if file.format() == BinaryFormat::MachO {
        return;
    }
    match bundles(file, found.part.view()) {
        Ok(bundles) => {
            let entries = bundles.iter().flat_map(|bundle: &BundleFile<'_>| &bundle.entries);
            entries.for_each(|entry| report.out.push(&format!("{}\t{}\n", entry.id, address(found, entry))));
        }
        Err(error) => warn(report, found, &error),
    }
}

/// Address of an entry. In a compressed bundle, it counts from the start of the decompressed bytes.
fn address(found: &Found<'_>, entry: &FileEntry<'_>) -> String {
    let disk = found.part.on_disk();
    let start = disk.as_ref().map_or(0, |disk| disk.offset);
    let Range { start, end } = match &entry.location {
        Location::InFile(view) | Location::HostObject(view) => {
            let range = view.range_in(found.part.view());
            range.start + start..range.end + start
        }
        Location::InStream(range) => range.clone(),
        Location::Decompressed(bytes) => 0..bytes.len() as u64,
    };
    let path = disk.map_or_else(|| PathBuf::from(&found.name), |disk| disk.path);
    let plain = format!("file://{}#offset={start}&size={}", path.display(), end - start);
    let address = FileUri { path, range: Some((start, end - start)) };
    let is_read_back = FileUri::parse(Path::new(&plain)).is_some_and(|read| read.is_ok_and(|read| read == address));
    if is_read_back { plain } else { address.to_string() }
}
