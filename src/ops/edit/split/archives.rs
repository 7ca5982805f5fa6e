//! Splitting into kpack archives. HIP's runtime loads the code from them.
//!
//! Each wrapper gets the magic of rocm-kpack and its index. Its pointer stays, because the marker that it must point to
//! replaces the bundle. So no relocation, section or program header changes. rocm-kpack itself adds a section for one
//! marker and redirects the pointers; the loader reads either.
//!
//! Code objects are numbered by their wrappers. rocm-kpack numbers them by their place among the code objects of one
//! target ID: the numbers differ as soon as a source file lacks a target ID. For the loader of ROCm 7.14 and earlier,
//! the first archive that lists a target ID of the device decides. The archive for `gfx90a:xnack-` therefore also has
//! the code objects that exist for `gfx90a` only.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::Result;
use super::error::SplitProblem;
use super::index::{Index, IndexFormat, IndexedBytes, IndexedFile, IndexedPart, IndexedSpan};
use super::wrappers::{RegisteredBundle, Registrations, registrations};
use super::write::{PlannedSplit, SplitDirectory, file_name, written};
use crate::edit::patch::{Patch, Patches};
use fatbin_core::base::bytes::{Extent, View, size_of_range};
use fatbin_core::base::codec::is_compressed;
use fatbin_core::base::content::Content;
use fatbin_core::base::io::{Output, OutputName, Sink};
use fatbin_core::base::range::{offset_from, range_at};
use fatbin_core::format::ImageKind;
use fatbin_core::format::kpack::{self, ARCH_PLACEHOLDER, KpackMarker, KpackMember, KpackProperties, entry_key};
use fatbin_core::scan::inventory::{Container, NestedImage};
use fatbin_core::scan::{InputSlice, Scan, Source};
use fatbin_core::target::compatibility::serves;

/// Directory of the archives, in the directory of the host file.
const DIRECTORY: &str = ".kpack";

/// A device image of a registered bundle.
struct Code<'a> {
    nested: NestedImage<'a>,
    arch: &'a str,
    bundle: &'a RegisteredBundle<'a>,
}

/// Writes an archive for each target ID, and the host file. Markers replace the bundles of the host file.
pub fn split(
    scan: &Scan<InputSlice>,
    directory: &mut SplitDirectory<'_>,
    compression_level: Option<i32>,
) -> Result<PlannedSplit> {
    let input = scan.source().input();
    let view = scan.source().view();
    let name = file_name(input)?;
    let registrations = registrations(scan.file(), view)?;
    let code = code(scan, &registrations)?;
    let kernel_name = name.to_string();
    let template = format!("{name}_{ARCH_PLACEHOLDER}.kpack");
    let search_path = format!("{DIRECTORY}/{template}");
    let marker = KpackMarker { search_paths: vec![&search_path], kernel_name: &kernel_name }.to_bytes();
    let host = directory.host(&name, input, patches(&registrations, &marker)?)?;
    let original = IndexedFile::of(name.clone(), input)?;
    let mut planned = PlannedSplit::of_host(host, IndexFormat::Kpack, original, directory.path);
    let archs: BTreeSet<&str> = code.iter().map(|code| code.arch).collect();
    for arch in archs {
        let chosen = chosen(&code, arch);
        let archive_name = OutputName::parse(&template.replacen(ARCH_PLACEHOLDER, arch, 1));
        let archive_name = archive_name.map_err(SplitProblem::InvalidTarget)?.in_directory(DIRECTORY);
        let content = ArchiveContent { chosen: &chosen, arch, kernel_name: &kernel_name, compression_level };
        let (output, file) = content.write(scan, directory, &archive_name)?;
        planned.outputs.push(output);
        planned.files.push(written(directory.path, &file, vec![arch.to_owned()], chosen.len()));
        let spans = spans(&chosen, arch, &kernel_name);
        planned.index.parts.push(IndexedPart { file, archs: vec![arch.to_owned()], spans });
    }
    record_rest(&mut planned.index, &registrations, view, marker.len() as u64)?;
    Ok(planned)
}

/// Contents of the archive of a target ID.
struct ArchiveContent<'a> {
    chosen: &'a BTreeMap<u32, &'a Code<'a>>,
    arch: &'a str,
    kernel_name: &'a str,
    compression_level: Option<i32>,
}

impl ArchiveContent<'_> {
    fn write(
        &self,
        scan: &Scan<InputSlice>,
        directory: &SplitDirectory<'_>,
        archive_name: &OutputName,
    ) -> Result<(Output, IndexedFile)> {
        let &ArchiveContent { chosen, arch, kernel_name, compression_level } = self;
        let images: Vec<Cow<'_, [u8]>> = chosen.values().map(|code| bytes(scan, code)).collect::<Result<_>>()?;
        let keys: Vec<String> = chosen.keys().map(|index| entry_key(kernel_name, *index)).collect();
        let members = keys.iter().zip(&images).map(|(key, image)| KpackMember { key, arch, image });
        let members: Vec<KpackMember<'_, '_>> = members.collect();
        let properties = KpackProperties { group_name: kernel_name, family: arch, arches: &[arch] };
        let archive = kpack::write(&properties, &members, compression_level).map_err(SplitProblem::Compress)?;
        let mut sink = Sink::new([scan.source().input()]).with_slices(images.iter().map(AsRef::as_ref));
        archive.runs().for_each(|run| sink.push(run));
        directory.output(archive_name, &sink)
    }
}

fn code<'a>(scan: &'a Scan<InputSlice>, registrations: &'a Registrations<'a>) -> Result<Vec<Code<'a>>> {
    let mut all = Vec::new();
    for nested in scan.file().nested_images() {
        let outermost = nested.containers.first().map_or(0, |container| container.start);
        let Some(bundle) = registrations.bundles.get(&outermost) else { continue };
        let image = nested.image;
        if image.image_kind == ImageKind::Empty {
            continue;
        }
        let is_amd = image.triple.as_deref() == Some(fatbin_core::target::triple::AMDGCN);
        let is_code_object = is_amd && image.image_kind == ImageKind::Elf && nested.containers.len() == 1;
        match image.arch.as_deref() {
            Some(arch) if is_code_object => all.push(Code { nested, arch, bundle }),
            _ => {
                let target = image.arch.as_ref().or(image.triple.as_ref()).cloned().unwrap_or_default();
                let kind = image.image_kind.name();
                return Err(SplitProblem::Code { number: nested.index, kind, target }.into());
            }
        }
    }
    Ok(all)
}

/// Returns for each index the code object that the archive of a target ID gets: code for exactly this target ID, else
/// code that the runtime would take for it.
fn chosen<'a>(code: &'a [Code<'a>], arch: &str) -> BTreeMap<u32, &'a Code<'a>> {
    let mut chosen = BTreeMap::new();
    for code in code {
        let Ok(fit) = serves(code.arch, arch) else { continue };
        for &index in &code.bundle.indices {
            let known = chosen.entry(index).or_insert((fit, code));
            if fit < known.0 {
                *known = (fit, code);
            }
        }
    }
    chosen.into_iter().map(|(index, (_, code))| (index, code)).collect()
}

/// Returns the bytes of an image, borrowed where they are stored as they are.
fn bytes<'a>(scan: &'a Scan<InputSlice>, code: &Code<'a>) -> Result<Cow<'a, [u8]>> {
    let image = code.nested.image;
    if let (Some(offset), Some(size)) = (image.offset, image.size)
        && !is_compressed(image.codec)
    {
        return Ok(Cow::Borrowed(scan.source().view().part("code object", Extent { offset, size })?.data()));
    }
    let bytes = scan.reader().image(code.nested.clone()).read()?;
    Ok(Cow::Owned(bytes.to_vec()))
}

/// Returns the changes of the host file.
fn patches<'data>(registrations: &Registrations<'_>, marker: &[u8]) -> Result<Patches<'data>> {
    let mut patches = Vec::new();
    for (offset, bytes) in &registrations.patches {
        let span = range_at(*offset, bytes.len() as u64);
        patches.push(Patch::resizing(span, Content::from(bytes.to_vec())));
    }
    for (&offset, RegisteredBundle { container, .. }) in &registrations.bundles {
        let patch = Patch::in_place(range(container), Content::from(marker.to_vec()));
        let needed = marker.len() as u64;
        patches.push(patch.ok_or(SplitProblem::NoRoom { offset, needed, room: container.size })?);
    }
    Ok(Patches::new(patches).ok_or(SplitProblem::Overlap)?)
}

fn range(container: &Container) -> Range<u64> {
    range_at(container.start, container.size)
}

/// Returns the spans of the original that an archive holds: code for exactly its target ID, in a bundle that is not
/// compressed.
fn spans(chosen: &BTreeMap<u32, &Code<'_>>, arch: &str, name: &str) -> Vec<IndexedSpan> {
    let mut spans = Vec::new();
    for (&index, code) in chosen {
        let image = code.nested.image;
        // A bundle with several wrappers is stored once in the original.
        let is_first = code.bundle.indices.first() == Some(&index);
        if let (Some(offset), Some(size)) = (image.offset, image.size)
            && code.arch == arch
            && is_first
        {
            spans.push(IndexedSpan { offset, size, key: Some(entry_key(name, index)), arch: Some(arch.to_owned()) });
        }
    }
    spans
}

/// Records what else differs between the host file and the original: the wrappers, and the bytes of the bundles around
/// the images. The original cannot be restored if a bundle is compressed.
fn record_rest(index: &mut Index, registrations: &Registrations<'_>, view: View<'_>, marker_size: u64) -> Result<()> {
    let compressed = registrations.bundles.iter().find(|(_, bundle)| bundle.container.codec.is_some());
    if let Some((offset, _)) = compressed {
        let why = "compressing its images again does not give the same bytes";
        index.not_joinable = Some(format!("the bundle at {offset:#x} of {} is compressed; {why}", index.file));
        return Ok(());
    }
    for (offset, bytes) in &registrations.patches {
        let old = view.part("HIP wrapper", Extent { offset: *offset, size: bytes.len() as u64 })?;
        index.bytes.push(IndexedBytes::new(*offset, old.data()));
    }
    let spans = index.parts.iter().flat_map(|part| &part.spans);
    let images: BTreeMap<u64, u64> = spans.map(|it| (it.offset, offset_from(it.offset, it.size))).collect();
    for bundle in registrations.bundles.values() {
        let range = range(bundle.container);
        let marked = offset_from(range.start, marker_size);
        let inside = images.range(range.clone()).map(|(&start, &end)| (start, end));
        let mut at = range.start;
        for (start, end) in inside.chain([(range.end, range.end)]) {
            let gap = view.part("bundle", Extent { offset: at, size: size_of_range(&(at..start)) })?;
            index.bytes.extend(rest(gap, marked));
            at = end;
        }
    }
    Ok(())
}

/// Records bytes between images, without zeros at their end: the host file has zeros there, except where the marker is.
fn rest(gap: View<'_>, marked: u64) -> Option<IndexedBytes> {
    let unused = gap.data().iter().rev().take_while(|&&byte| byte == 0).count() as u64;
    let used = size_of_range(&(unused..gap.size()));
    let size = used.max(size_of_range(&(gap.start()..marked))).min(gap.size());
    let bytes = gap.prefix("bundle", size).ok().filter(|bytes| bytes.size() > 0)?;
    Some(IndexedBytes::new(gap.start(), bytes.data()))
}
