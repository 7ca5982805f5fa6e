//! llvm-objdump --offloading: prints the images of offload binaries, and extracts the entries of bundles to files
//! `FILE.NUMBER.ID`.

use std::ffi::OsString;
use std::path::Path;

use object::BinaryFormat;

use super::arguments::Line;
use super::format::ObjectFormat;
use super::objects::{Contents, Found, NOT_AN_OBJECT, bundles, each_object};
use super::{ARCH_NAME, Report};
use crate::files::{create_named, system_message};
use fatbin_core::base::io::{FileSet, OutputName};
use fatbin_core::format::ccob::Ccob;
use fatbin_core::format::offload_binary::{OffloadBinaryEntry, Version, image_kind};
use fatbin_core::scan::{self, Source};
use fatbin_core::target::OffloadKind;
use fatbin_ops::embed::bundle::file::BundleFile;

/// Input without arguments.
const DEFAULT_INPUT: &str = "a.out";

/// Runs a command line.
pub fn dump(line: &Line, newest: Version, report: &mut Report<'_>) -> Result<(), String> {
    let default = [OsString::from(DEFAULT_INPUT)];
    let inputs = if line.operands.is_empty() { &default } else { &*line.operands };
    let arch = line.values(ARCH_NAME).last().unwrap_or_default();
    let mut dump = Dump { newest, arch, outputs: FileSet::new(), report };
    inputs.iter().try_for_each(|input| each_object(Path::new(input), &mut |found| dump.object(found)))
}

struct Dump<'a, 'report> {
    newest: Version,
    /// Part of the IDs to extract.
    arch: &'a str,
    outputs: FileSet,
    report: &'a mut Report<'report>,
}

impl Dump<'_, '_> {
    fn object(&mut self, found: &Found<'_>) -> Result<(), String> {
        let view = found.part.view();
        let file = match &found.contents {
            Contents::Object(file) => file,
            Contents::OffloadBinary => return self.images(found),
            Contents::Universal => return Ok(()),
            Contents::Bitcode => return Err(format!("'{}': {NOT_AN_OBJECT}", found.title)),
        };
        let format = ObjectFormat::of(file, view).name.to_lowercase();
        self.report.out.push(&format!("\n{}:\tfile format {format}\n", found.title));
        if file.format() == BinaryFormat::MachO {
            let text = "--offloading is currently only supported for COFF and ELF targets";
            self.report.diagnostics.warning(&format!("'{}': {text}", found.name));
            return Ok(());
        }
        self.images(found)?;
        let in_file = |cause: String| format!("'{}': while extracting offload FatBin bundles: {cause}", found.name);
        for (number, bundle) in bundles(file, view).map_err(in_file)?.iter().enumerate() {
            self.extract(found, number, bundle)?;
        }
        Ok(())
    }

    /// Prints the images of offload binaries.
    fn images(&mut self, found: &Found<'_>) -> Result<(), String> {
        let in_file = |cause| format!("'{}': while extracting offloading files: {cause}", found.name);
        let mut number = 0;
        for binary in scan::offload_binaries(found.part.view(), self.newest).map_err(in_file)? {
            let bytes = binary.decompress().map_err(in_file)?;
            for entry in binary.entries_from(bytes.as_deref()).map_err(in_file)? {
                self.report.out.push(&image_text(number, &entry));
                number += 1;
            }
        }
        Ok(())
    }

    /// Extracts the entries of a bundle.
    fn extract(&mut self, found: &Found<'_>, number: usize, bundle: &BundleFile<'_>) -> Result<(), String> {
        let in_file = |cause: String| format!("'{}': while extracting offload Bundle Entries: {cause}", found.name);
        let stream = bundle.ccob.as_ref().map(Ccob::decompress).transpose();
        let stream = stream.map_err(|error| in_file(error.to_string()))?;
        let path = Path::new(&found.name);
        let (directory, start) = match found.part.path.member() {
            Some(member) => (Path::new(""), member.replace('\\', "_")),
            None => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                (path.parent().unwrap_or(Path::new("")), name.to_string_lossy().into_owned())
            }
        };
        for entry in bundle.entries.iter().filter(|entry| entry.id.contains(self.arch)) {
            let name = OutputName::of(format!("{start}.{number}.{}", entry.id));
            let bytes =
                entry.bytes(stream.as_deref().unwrap_or_default()).map_err(|error| in_file(error.to_string()))?;
            let written = create_named(&self.outputs, directory, &name)
                .and_then(|output| output.commit_bytes(found.part.input(), &bytes));
            written.map_err(|error| in_file(system_message(&error)))?;
            let name = directory.join(name.as_path());
            self.report.out.push(&format!("Extracting offload bundle: {}\n", name.display()));
        }
        Ok(())
    }
}

fn image_text(number: usize, entry: &OffloadBinaryEntry<'_>) -> String {
    let kind = match entry.image_kind {
        image_kind::OBJECT => "elf",
        image_kind::BITCODE => "llvm ir",
        image_kind::CUBIN => "cubin",
        image_kind::FATBINARY => "fatbinary",
        image_kind::PTX => "ptx",
        _ => "<none>",
    };
    let producer = OffloadKind::from_bit(entry.offload_kind).map_or("none", OffloadKind::name);
    let text = |key| entry.string(key).unwrap_or_default();
    format!(
        "\nOFFLOADING IMAGE [{number}]:\n{:<16}{kind}\n{:<16}{}\n{:<16}{}\n{:<16}{producer}\n",
        "kind",
        "arch",
        text("arch"),
        "triple",
        text("triple"),
        "producer"
    )
}
