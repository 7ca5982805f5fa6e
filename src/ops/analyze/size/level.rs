//! The levels that sizes are grouped by.

use super::{Label, Owner, Rest};
use fatbin_core::format::ImageKind;
use fatbin_core::image::{Category, family};
use fatbin_core::scan::inventory::{Container, DeviceLinks, File, Image};

/// A property to group sizes by. The names match `fatbin size --by`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Architecture, and format of the code unless it is ELF.
    Arch,
    /// File.
    File,
    /// Types of the containers, and section.
    Container,
    /// Kernel, by its demangled name.
    Kernel,
    /// Instances of one template, and overloads of one function.
    Family,
    /// Translation unit: the outermost container.
    Tu,
    /// Codec of the stored bytes.
    Codec,
    /// Format of the image.
    Kind,
    /// Section of the image, or its format if it has none.
    Section,
    /// What the bytes of the image are for, or its format if that does not state it.
    Category,
}

impl Level {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Arch => "arch",
            Level::File => "file",
            Level::Container => "container",
            Level::Kernel => "kernel",
            Level::Family => "family",
            Level::Tu => "tu",
            Level::Codec => "codec",
            Level::Kind => "kind",
            Level::Section => "section",
            Level::Category => "category",
        }
    }

    /// Returns whether images must be read for it.
    pub fn needs_images(self) -> bool {
        self.needs_kernels() || self.needs_categories()
    }

    /// Returns whether the bytes of images must be told apart by category and section.
    pub fn needs_categories(self) -> bool {
        matches!(self, Level::Section | Level::Category)
    }

    /// Returns whether images must be inspected for it.
    pub fn needs_kernels(self) -> bool {
        matches!(self, Level::Kernel | Level::Family)
    }
}

/// Place of bytes in an image.
#[derive(Debug, Clone, Copy, Default)]
pub struct ImagePlace<'a> {
    /// Name of the kernel for readers; `None` for bytes of no kernel.
    pub kernel: Option<&'a str>,
    /// Name of the section; `None` for bytes of no section.
    pub section: Option<&'a str>,
    /// What the bytes are for.
    pub category: Category,
}

/// Properties of a file that labels of its bytes state.
#[derive(Debug)]
pub struct FileLabels<'a> {
    /// Label of the file.
    pub path: String,
    /// The file.
    pub file: &'a File,
    /// Device links of the file.
    pub links: DeviceLinks<'a>,
    /// Names of source files, by the offset of the container.
    pub sources: Vec<(u64, String)>,
}

impl FileLabels<'_> {
    /// Returns the label of bytes at each level.
    pub fn path(&self, levels: &[Level], owner: &Owner<'_>, place: ImagePlace<'_>) -> Vec<Label> {
        let has_file = levels.contains(&Level::File);
        levels.iter().map(|level| self.label(*level, owner, place, has_file)).collect()
    }

    fn label(&self, level: Level, owner: &Owner<'_>, place: ImagePlace<'_>, has_file: bool) -> Label {
        let (image, containers) = match (level, owner) {
            (Level::File, _) => return Label::Name(self.path.clone()),
            (_, Owner::Rest(rest)) => return Label::Rest(*rest),
            (_, Owner::Image(nested)) => (Some(nested.image), &nested.containers),
            (_, Owner::Container(containers)) => (None, containers),
        };
        let of_image = |name: &dyn Fn(&Image) -> String| {
            image.map_or(Label::Rest(Rest::ContainerHeaders), |image| Label::Name(name(image)))
        };
        let of_kernel = |name: &dyn Fn(&str) -> String| match (image, place.kernel) {
            (None, _) => Label::Rest(Rest::ContainerHeaders),
            (_, Some(kernel)) => Label::Name(name(kernel)),
            // The sizes of the kernels in SPIR-V are not known, and each shader is a module named "main".
            (Some(image), None) => match (image.image_kind, &image.symbol) {
                (ImageKind::SpirV, Some(symbol)) => Label::Name(name(symbol)),
                _ => Label::Rest(Rest::NotInKernels),
            },
        };
        match level {
            Level::File => Label::Name(self.path.clone()),
            Level::Container => Label::Name(container_label(containers)),
            Level::Tu => Label::Name(self.unit(containers, has_file)),
            Level::Arch => {
                owner.image().map_or(Label::Rest(Rest::ContainerHeaders), |it| Label::Name(self.links.label(it)))
            }
            Level::Kind => of_image(&|image| image.image_kind.name().to_owned()),
            Level::Codec => {
                let around = containers.iter().rev().find_map(|container| container.codec);
                let own = |image: &Image| image.codec.filter(|codec| codec.name() != "none").or(around);
                of_image(&|image| own(image).map_or("none", |codec| codec.name()).to_owned())
            }
            Level::Section => match (image, place.section) {
                (None, _) => Label::Rest(Rest::ContainerHeaders),
                (Some(image), _) if image.image_kind != ImageKind::Elf => {
                    Label::Name(image.image_kind.name().to_owned())
                }
                (_, None) => Label::Rest(Rest::NotInSections),
                (_, Some(section)) => Label::Name(section.to_owned()),
            },
            Level::Category => of_image(&|image| place.category.name(image.image_kind).to_owned()),
            Level::Kernel => of_kernel(&str::to_owned),
            Level::Family => of_kernel(&family),
        }
    }

    /// Label of a translation unit: the name of its source file, if the container has it, and its offset.
    fn unit(&self, containers: &[&Container], has_file: bool) -> String {
        let offset = containers.first().and_then(|container| container.offset).unwrap_or_default();
        let section = containers.first().and_then(|container| container.section.as_ref());
        let in_section = section.and_then(|section| Some((section, offset.checked_sub(section.offset)?)));
        let place = match in_section {
            Some((section, at)) => format!("{}+{at:#x}", section.name),
            None => format!("{offset:#x}"),
        };
        let place = if has_file { place } else { format!("{}:{place}", self.path) };
        let source = self.sources.iter().find(|(at, _)| *at == offset).map(|(_, name)| name);
        source.map_or(place.clone(), |name| format!("{name} ({place})"))
    }
}

/// Returns the types of containers, from the outermost, and the section.
pub fn container_label(containers: &[&Container]) -> String {
    let types: Vec<_> = containers.iter().map(|container| container.container_type.name()).collect();
    let section = containers.first().and_then(|container| container.section_name());
    let section = section.map_or(String::new(), |name| format!(" in {name}"));
    types.join(" > ") + &section
}
