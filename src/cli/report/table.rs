//! Tables of `scan`, with a line for each file and a row for each image, and the lines of `verify`.

use super::Screen;
use super::style::Meaning;
use super::text::{Column, columns, counted, headline, printable};
use fatbin_core::format::{ImageKind, UnknownValue};
use fatbin_core::scan::inventory::{
    Container, File, FoundArchive, Image, KpackReference, NestedImage, Node, Section, Wrapper, WrapperKind,
    WrapperTarget,
};
use fatbin_core::target::{OffloadKind, subarch};

/// Symbols have a column only if an image has one. Such images are arrays in the data of a program.
fn headings(has_symbols: bool) -> Vec<Column> {
    let texts = ["CONTAINER", "SECTION", "KIND", "TRIPLE", "ARCH", "IMAGE"].map(Column::left);
    let numbers = ["OFFSET", "SIZE"].map(Column::right);
    let symbol = has_symbols.then(|| Column::left("SYMBOL"));
    texts.into_iter().chain(numbers).chain(symbol).collect()
}

/// Formats the inventory of a file as lines. `verbose` adds the accounting of sections, which is otherwise printed only
/// for sections with unexplained bytes, the index and address of each image, and the wrappers.
pub fn table(file: &File, verbose: bool, screen: &Screen) -> String {
    header(file, screen) + &rows(file, verbose, true, screen)
}

/// Formats the inventory of a file without its images.
pub fn table_without_images(file: &File, screen: &Screen) -> String {
    header(file, screen) + &rows(file, false, false, screen)
}

/// Formats the line about a file.
fn header(file: &File, screen: &Screen) -> String {
    let count = match file.device_images().count() {
        0 => "no device images".to_owned(),
        1 => "1 device image".to_owned(),
        count => format!("{count} device images"),
    };
    let format = file.format.map_or("unreadable", |format| format.name());
    headline(&file.path, &format!("{format}, {}, {count}", screen.bytes(file.size)), screen)
}

/// Formats the lines below the first, with the images if `has_images` is set.
fn rows(file: &File, verbose: bool, has_images: bool, screen: &Screen) -> String {
    let mut text = if has_images && !file.containers.is_empty() { images(file, screen) } else { String::new() };
    for section in file.sections.iter().filter(|section| verbose || section.unexplained > 0) {
        text += &accounting(section);
    }
    if verbose {
        let images = file.nested_images().zip(file.addresses());
        text.extend(images.map(|(NestedImage { index: number, image, .. }, address)| {
            let address = address.to_string();
            let texts = [Some(address.as_str()), image.format_version.as_deref(), image.producer.as_deref()];
            let [address, version, producer] = texts.map(|text| text.map(printable));
            let version = version.map(|version| format!(", {} {version}", versioned_format(image)));
            let producer = producer.map(|producer| format!(", produced by {producer}"));
            let [address, version, producer] = [address, version, producer].map(Option::unwrap_or_default);
            let linkage = image.string("linkage").map_or(String::new(), |linkage| format!(", {}", printable(linkage)));
            format!("  image {number}: {address}{linkage}{version}{producer}\n")
        }));
    }
    text.extend(file.wrappers.iter().filter_map(|wrapper| empty_container(file, wrapper)));
    if verbose {
        text.extend(metadata_entries(file).map(|entry| format!("  {entry}\n")));
        text.extend(file.wrappers.iter().map(|wrapper| registration(file, wrapper)));
        text.extend(file.unreferenced().map(|container| unreferenced(file, container)));
    }
    let split = file.wrappers.iter().filter(|it| it.kind == WrapperKind::HipSplitByKpack).count();
    if split > 0 {
        let code = counted(split, "wrapper");
        text += &format!("  split by rocm-kpack: the device code of {code} is in kpack archives\n");
    }
    text.extend(file.kpack.iter().flat_map(|it| it.archives.iter().map(|archive| found_archive(it, archive))));
    if file.has_gimple {
        text += "  GIMPLE bytecode for offload compilers: GCC compiles images from it when the file is linked\n";
    }
    if let Some(reason) = file.not_opened {
        text += &format!("  {}\n", screen.paint(Meaning::Unsure, &format!("not opened: {reason}")));
    }
    for sign in file.unknown_code() {
        let size = sign.size.map_or(String::new(), |size| format!(", {}", screen.bytes(size)));
        let line = format!("device code of an unknown kind: {} {}{size}", sign.kind.name(), sign.name);
        text += &format!("  {}\n", screen.paint(Meaning::Unsure, &line));
    }
    if file.unsearched > 0 {
        text += &format!("  not searched: {} that no header refers to\n", screen.bytes(file.unsearched));
    }
    text
}

/// Formats a row for each image that contains no other images, under headings. Contradictions and unknown values
/// follow.
fn images(file: &File, screen: &Screen) -> String {
    let mut rows = Vec::new();
    let mut warnings = Vec::new();
    let has_symbols = file.device_images().any(|image| image.symbol.is_some());
    let mut walk = file.walk();
    while let Some(node) = walk.next() {
        let Node::Image(image) = node else { continue };
        if image.is_left_out {
            continue;
        }
        if image.containers.is_empty() {
            rows.push(row(walk.containers(), image, has_symbols, screen));
        }
        warnings.extend(image_warnings(image));
    }
    let warnings = warnings.iter().map(|line| format!("  {}\n", screen.paint(Meaning::Unsure, line)));
    columns(&headings(has_symbols), rows.into_iter(), screen) + &warnings.collect::<String>()
}

/// Maximum number of properties that are printed for an entry.
const MAX_PROPERTIES: usize = 4;

/// Formats the entries of a file that hold properties only.
pub fn metadata_entries(file: &File) -> impl Iterator<Item = String> {
    file.metadata_entries().map(|entry| {
        let target = [entry.kind.map(OffloadKind::name), entry.triple.as_deref(), entry.arch.as_deref()];
        let target: Vec<String> = target.into_iter().flatten().map(printable).collect();
        let is_property = |(key, _): &&(String, String)| !["triple", "arch"].contains(&key.as_str());
        let properties = entry.strings.iter().filter(is_property);
        let more = properties.clone().skip(MAX_PROPERTIES).count();
        let shown =
            properties.take(MAX_PROPERTIES).map(|(key, value)| format!("{}={}", printable(key), printable(value)));
        let shown: Vec<String> = shown.chain((more > 0).then(|| format!("{more} more"))).collect();
        let shown = if shown.is_empty() { "no properties".to_owned() } else { shown.join(", ") };
        format!("metadata without device code: {}: {shown}", target.join(" "))
    })
}

/// Name of the format whose version is printed.
fn versioned_format(image: &Image) -> &'static str {
    match image.image_kind {
        ImageKind::Elf if image.triple.as_deref().is_some_and(subarch::is_amdgpu) => "code object",
        ImageKind::Elf => "cubin ABI",
        ImageKind::Ptx => "PTX",
        ImageKind::Nvvm => "LTO-IR",
        ImageKind::OptixIr => "OptiX IR",
        ImageKind::TileIr => "Tile IR",
        ImageKind::MetalLibrary => "Metal language",
        _ => "SPIR-V",
    }
}

/// Formats the accounting of the bytes of a section.
fn accounting(section: &Section) -> String {
    let Section { name, size, in_containers, padding, unexplained, .. } = section;
    let name = printable(name);
    format!("  {name}: {size} bytes = {in_containers} in containers + {padding} padding + {unexplained} unexplained\n")
}

/// Formats the target of a wrapper.
fn registration(file: &File, wrapper: &Wrapper) -> String {
    let Wrapper { kind, section, offset, target, .. } = wrapper;
    let what = match target {
        WrapperTarget::Container(at) => match file.container_at(*at) {
            Some(container) => {
                let section = container.section.as_ref();
                let start = section.map_or(0, |section| section.offset);
                let name = section.map_or(String::new(), |section| printable(&section.name));
                format!("{} at {name}+{:#x}", container.container_type.name(), at - start)
            }
            None => format!("container at {at:#x}"),
        },
        WrapperTarget::Bytes(at) if *kind == WrapperKind::HipSplitByKpack => format!("a kpack marker at {at:#x}"),
        WrapperTarget::Bytes(at) => format!("bytes at {at:#x}, which are not a container"),
        WrapperTarget::Symbol(name) => format!("{}, which another file defines", printable(name)),
        WrapperTarget::Nothing => "nothing".to_owned(),
    };
    let at = format!("{}+{:#x}", printable(&section.name), offset - section.offset);
    format!("  {} wrapper {at} points to {what}\n", kind.name())
}

/// Formats a wrapper whose container has no images. nvcc writes one for tile kernels, also if there are none.
fn empty_container(file: &File, wrapper: &Wrapper) -> Option<String> {
    let WrapperTarget::Container(at) = wrapper.target else { return None };
    let container = file.container_at(at).filter(|container| container.images.is_empty())?;
    let name = container.container_type.name();
    Some(format!("  {} registers a {name} without images\n", printable(&wrapper.section.name)))
}

/// Formats an archive with code of the file.
fn found_archive(reference: &KpackReference, archive: &FoundArchive) -> String {
    let FoundArchive { path, arches, code, .. } = archive;
    let code = counted(code.len(), "code object");
    let arches: Vec<String> = arches.iter().map(|arch| printable(arch)).collect();
    let [path, kernel_name] = [path, &reference.kernel_name].map(|text| printable(text));
    format!("    {path}: {} ({code} of {kernel_name})\n", arches.join(", "))
}

/// Formats a container without a wrapper.
fn unreferenced(file: &File, container: &Container) -> String {
    let address = file.address(container, container.offset.unwrap_or_default()).to_string();
    format!("  no wrapper points to {} {}\n", container.container_type.name(), printable(&address))
}

/// Formats the contradiction between an image and its container, and the unknown values of an image.
fn image_warnings(image: &Image) -> Vec<String> {
    let offset = image.offset.map_or(String::new(), |offset| format!(" at {offset:#x}"));
    let contradictions = image.contradictions().map(|(stated, own)| {
        let own = printable(own);
        let stated = printable(stated);
        format!("image{offset}: the container states {stated}, the image's own header {own}")
    });
    let unknown = image.unknown.iter();
    let unknown = unknown.map(|UnknownValue { field, value }| format!("image{offset}: unknown {field} {value:#x}"));
    contradictions.chain(unknown).collect()
}

/// Formats the row of an image. The containers around it are listed outermost first.
fn row<'a>(
    containers: impl Iterator<Item = &'a Container>,
    image: &Image,
    has_symbols: bool,
    screen: &Screen,
) -> Vec<String> {
    let containers: Vec<&Container> = containers.collect();
    let section = containers.last().and_then(|container| container.section_name());
    let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
    let symbol = has_symbols.then(|| or_dash(image.symbol.as_deref()));
    let size = image.size.or(image.full_size).map_or("-".to_owned(), |size| screen.size(size));
    let cells = [
        containers.iter().map(|container| container.container_type.name()).collect::<Vec<_>>().join(" > "),
        or_dash(section),
        or_dash(image.kind.map(OffloadKind::name)),
        or_dash(image.triple.as_deref()),
        or_dash(image.arch.as_deref()),
        image.image_kind.name().to_owned(),
        image.offset.map_or("-".to_owned(), |offset| format!("{offset:#x}")),
        size,
    ];
    cells.into_iter().chain(symbol).collect()
}

/// Formats the number of device images of a file, and of the problems in it.
pub fn verified_text(file: &File, problems: usize) -> String {
    let images = match file.device_images().count() {
        0 if file.kpack.iter().any(KpackReference::has_code) => "device code in kpack archives".to_owned(),
        0 => "no device images".to_owned(),
        count => counted(count, "device image"),
    };
    let count = |kind| file.device_images().filter(|image| image.image_kind == kind).count();
    // Only the size that the container states can be checked for these.
    let unread = [
        (ImageKind::Unknown, "of unknown format"),
        (ImageKind::Nvvm, "LTO-IR, not inspected"),
        (ImageKind::OptixIr, "OptiX IR, not inspected"),
    ];
    let unread = unread.map(|(kind, reason)| (count(kind), reason)).into_iter().filter(|(count, _)| *count > 0);
    let mut parts = vec![images];
    match problems {
        0 if file.device_images().next().is_none() => {}
        0 if unread.clone().next().is_none() => parts.push("intact".to_owned()),
        0 => parts.push("no damage found".to_owned()),
        problems => parts.push(counted(problems, "problem")),
    }
    parts.extend(unread.map(|(count, reason)| format!("{count} {reason}")));
    format!("{}: {}\n", printable(&file.path), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_core::base::file_path::FilePath;
    use fatbin_core::format::ContainerType;
    use fatbin_core::scan::inventory::{FileFormat, SectionRef};

    fn file(triple: &str) -> File {
        let image = Image {
            kind: Some(OffloadKind::OpenMp),
            image_kind: ImageKind::Elf,
            triple: Some(triple.to_owned()),
            offset: Some(4242),
            size: Some(15720),
            ..Image::default()
        };
        let container = Container {
            container_type: ContainerType::OffloadBinary,
            version: Some(1),
            section: Some(SectionRef { name: ".llvm.offloading".to_owned(), offset: 4096 }),
            offset: Some(4096),
            size: 16000,
            codec: None,
            registration: Default::default(),
            images: vec![image],
            start: 4096,
        };
        let format = Some(FileFormat::Elf);
        File { format, size: 20000, containers: vec![container], ..File::empty(FilePath::new("app")) }
    }

    #[test]
    fn aligns_columns_and_prints_a_dash_for_unknown_values() {
        let text = "\
app: elf, 20000 bytes, 1 device image
  CONTAINER       SECTION           KIND    TRIPLE             ARCH  IMAGE  OFFSET   SIZE
  offload-binary  .llvm.offloading  openmp  amdgcn-amd-amdhsa  -     elf    0x1092  15720
";
        assert_eq!(table(&file("amdgcn-amd-amdhsa"), false, &Screen::default()), text);
    }

    /// With a search through all containers for each wrapper, this takes minutes.
    #[test]
    fn lists_many_wrappers_without_a_search_through_all_containers() {
        const COUNT: u64 = 200_000;
        let mut file = file("amdgcn-amd-amdhsa");
        let container =
            Container { container_type: ContainerType::Bundle, images: Vec::new(), ..file.containers[0].clone() };
        let at = |offset| Container { offset: Some(offset), ..container.clone() };
        file.containers = (0..COUNT).map(|number| at(4096 + 8 * number)).collect();
        let wrapper = |number| Wrapper {
            kind: WrapperKind::Hip,
            section: SectionRef { name: ".hipFatBinSegment".to_owned(), offset: 0 },
            offset: 24 * number,
            target: WrapperTarget::Container(4096 + 8 * number),
            index: None,
            version: 1,
            link: None,
            module: None,
        };
        // CUDA's wrappers register no bundle, so all kinds are compared for the containers without a wrapper.
        let cuda = |number| Wrapper { kind: WrapperKind::Cuda, target: WrapperTarget::Nothing, ..wrapper(number) };
        file.wrappers = (0..COUNT).map(|number| if number % 2 == 0 { wrapper(number) } else { cuda(number) }).collect();
        file.record_registrations();
        let text = table(&file, true, &Screen::default());
        let last = "  hip wrapper .hipFatBinSegment+0x493dd0 points to bundle at .llvm.offloading+0x1869f0\n";
        assert!(text.contains(last), "{}", &text[..1000]);
        assert_eq!(text.matches("no wrapper points to").count() as u64, COUNT / 2);
        assert_eq!(file.container_at(4096 + 8 * COUNT), None);
        assert_eq!(file.container_at(4097), None);
    }

    #[test]
    fn escapes_control_characters_from_files() {
        let text = table(&file("\u{1b}]0;title\u{7}\n"), false, &Screen::default());
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert_eq!(text.lines().count(), 3);
    }
}
