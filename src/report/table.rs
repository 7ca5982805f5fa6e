//! `scan` for people: a line for each file and under it a row for each image.

use super::text::{Column, columns, printable};
use crate::format::Unknown;
use crate::inventory::{Container, File, Image, Section};

fn headings() -> [Column; 8] {
    let [container, section, kind, triple, arch, image] =
        ["CONTAINER", "SECTION", "KIND", "TRIPLE", "ARCH", "IMAGE"].map(Column::left);
    [container, section, kind, triple, arch, image, Column::right("OFFSET"), Column::right("SIZE")]
}

/// What was found in one file, as lines that end in a newline. What the sections for containers consist of is told when
/// `verbose`, and wherever some of it is not explained; where each image is, and with which number it is extracted, when
/// `verbose`.
pub fn table(file: &File, verbose: bool) -> String {
    let count = match file.device_images().count() {
        0 => "no device images".to_owned(),
        1 => "1 device image".to_owned(),
        count => format!("{count} device images"),
    };
    let format = file.format.map_or("unreadable", |format| format.name());
    let mut text = format!("{}: {}, {} bytes, {count}\n", printable(&file.path), format, file.size);
    if !file.containers.is_empty() {
        text += &images(file);
    }
    for section in file.sections.iter().filter(|section| verbose || section.unexplained > 0) {
        text += &accounting(section);
    }
    if verbose {
        let addresses = file.addresses().enumerate();
        text.extend(addresses.map(|(number, it)| format!("  image {number}: {}\n", printable(&it.to_string()))));
    }
    if file.unsearched > 0 {
        text += &format!("  not searched: {} bytes that no header leads to\n", file.unsearched);
    }
    text
}

/// A row for each image, under headings, and behind them what is not known of them.
fn images(file: &File) -> String {
    let (mut rows, mut unknown) = (Vec::new(), String::new());
    for container in &file.containers {
        add_rows(&mut rows, &mut unknown, "", container);
    }
    columns(&headings(), rows.into_iter()) + &unknown
}

/// What the bytes of a section are.
fn accounting(section: &Section) -> String {
    let Section { name, size, in_containers, padding, unexplained, .. } = section;
    let name = printable(name);
    format!("  {name}: {size} bytes = {in_containers} in containers + {padding} padding + {unexplained} unexplained\n")
}

/// A row for each image that holds no others; the containers around one are named from the outermost to its own.
fn add_rows(rows: &mut Vec<Vec<String>>, unknown: &mut String, outer: &str, container: &Container) {
    let name = format!("{outer}{}", container.container_type.name());
    for image in &container.images {
        if image.containers.is_empty() {
            rows.push(row(&name, container, image));
        }
        let offset = image.offset.map_or(String::new(), |offset| format!(" at {offset:#x}"));
        if let Some(own) = &image.own_arch {
            let (own, stated) = (printable(own), printable(image.arch.as_deref().unwrap_or_default()));
            *unknown += &format!("  image{offset}: its container says {stated}, its own header {own}\n");
        }
        for Unknown { field, value } in &image.unknown {
            *unknown += &format!("  image{offset}: {field} {value:#x} is not known\n");
        }
        for inner in &image.containers {
            add_rows(rows, unknown, &format!("{name} > "), inner);
        }
    }
}

fn row(name: &str, container: &Container, image: &Image) -> Vec<String> {
    let or_dash = |text: Option<&str>| text.map_or("-".to_owned(), printable);
    vec![
        name.to_owned(),
        or_dash(container.section_name()),
        or_dash(image.kind.map(|kind| kind.name())),
        or_dash(image.triple.as_deref()),
        or_dash(image.arch.as_deref()),
        image.image_kind.name().to_owned(),
        image.offset.map_or("-".to_owned(), |offset| format!("{offset:#x}")),
        image.size.or(image.full_size).map_or("-".to_owned(), |size| size.to_string()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{ContainerType, ImageKind};
    use crate::inventory::{FileFormat, InSection};
    use crate::target::OffloadKind;

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
            section: Some(InSection { name: ".llvm.offloading".to_owned(), offset: 4096 }),
            offset: Some(4096),
            size: 16000,
            codec: None,
            images: vec![image],
        };
        let (path, format) = ("app".to_owned(), Some(FileFormat::Elf));
        File { format, size: 20000, containers: vec![container], ..File::empty(path) }
    }

    #[test]
    fn columns_are_aligned_and_what_is_unknown_is_a_dash() {
        let text = "\
app: elf, 20000 bytes, 1 device image
  CONTAINER       SECTION           KIND    TRIPLE             ARCH  IMAGE  OFFSET   SIZE
  offload-binary  .llvm.offloading  openmp  amdgcn-amd-amdhsa  -     elf    0x1092  15720
";
        assert_eq!(table(&file("amdgcn-amd-amdhsa"), false), text);
    }

    #[test]
    fn text_from_a_file_cannot_command_the_terminal() {
        let text = table(&file("\u{1b}]0;title\u{7}\n"), false);
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
        assert_eq!(text.lines().count(), 3);
    }
}
