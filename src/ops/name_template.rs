//! Patterns of file names: `--name '{file}.{number}.{arch}.{extension}'`.

use std::path::{Path, PathBuf};

use super::names::{bare, safe};
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::inventory::{Container, Image};

/// What is known of an image when it is named.
pub struct Named<'a> {
    /// The path of its file; `ARCHIVE!MEMBER` for a member.
    pub path: &'a str,
    /// Whether the file is a member of an archive.
    pub is_member: bool,
    /// Among the file's device images.
    pub number: usize,
    pub image: &'a Image,
    /// From the outermost to its own.
    pub containers: Vec<&'a Container>,
    /// How the file is compressed that it goes into, if it is left as it is stored.
    pub codec: Option<Codec>,
}

/// Something that a name can be made of.
struct Field {
    name: &'static str,
    meaning: &'static str,
    /// Absent where the image has no such thing.
    of: fn(&Named<'_>) -> Option<String>,
}

const fn field(name: &'static str, meaning: &'static str, of: fn(&Named<'_>) -> Option<String>) -> Field {
    Field { name, meaning, of }
}

const FIELDS: [Field; 9] = [
    field("file", "name of the file, of a member that of its archive", |it| last_part(it.archive_and_member().0)),
    field("member", "path of a member in its archive", |it| it.archive_and_member().1.map(str::to_owned)),
    field("name", "last part of the whole path: FILE, or ARCHIVE_MEMBER", |it| last_part(it.path)),
    field("number", "of the image in its file, from 0 on", |it| Some(it.number.to_string())),
    field("kind", "openmp, cuda, hip, sycl", |it| Some(it.image.kind?.name().to_owned())),
    field("triple", "amdgcn-amd-amdhsa, ...", |it| it.image.triple.clone()),
    field("arch", "gfx90a_xnack+, sm_90a, ...", |it| it.image.arch.clone()),
    field("container", "what holds it: offload-binary, cuda-fatbin, ...", |it| {
        Some(it.containers.last()?.container_type.name().to_owned())
    }),
    field("extension", "elf, ptx, bc, spv, ..., with --stored the compression behind it", |it| {
        let codec = it.codec.filter(|&codec| codec != Codec::None).map(|codec| format!(".{}", codec.name()));
        Some(it.image.image_kind.extension().to_owned() + &codec.unwrap_or_default())
    }),
];

impl<'a> Named<'a> {
    fn archive_and_member(&self) -> (&'a str, Option<&'a str>) {
        match self.path.split_once('!').filter(|_| self.is_member) {
            Some((archive, member)) => (archive, Some(member)),
            None => (self.path, None),
        }
    }

    /// What messages call it.
    pub fn description(&self) -> String {
        format!("{} image {}", self.path, self.number)
    }
}

fn last_part(path: &str) -> Option<String> {
    Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned())
}

/// The pattern of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameTemplate {
    /// Each field with the text in front of it.
    fields: Vec<(String, usize)>,
    end: String,
}

impl NameTemplate {
    /// What images are called where nobody says otherwise: the number alone makes it unique within a file, the rest says
    /// what it is.
    pub const DEFAULT: &'static str = "{name}.{number}-{kind}-{triple}-{arch}.{extension}";

    /// Reads a template: text with fields in braces; `{{` and `}}` are braces.
    pub fn parse(template: &str) -> Result<Self> {
        let refused = |why: String| {
            let fields = FIELDS.map(|field| field.name).join(", ");
            Error::NameTemplate { template: template.to_owned(), why, fields }
        };
        let (mut fields, mut text, mut rest) = (Vec::new(), String::new(), template);
        while let Some(at) = rest.find(['{', '}']) {
            text += &rest[..at];
            let brace = &rest[at..at + 1];
            rest = &rest[at + 1..];
            if let Some(behind) = rest.strip_prefix(brace) {
                text += brace;
                rest = behind;
                continue;
            }
            let (name, behind) = match (brace, rest.split_once('}')) {
                ("{", Some(split)) => split,
                _ => return Err(refused("a brace without its other".to_owned())),
            };
            let index = FIELDS.iter().position(|field| field.name == name);
            fields.push((std::mem::take(&mut text), index.ok_or_else(|| refused(format!("{name:?} is no field")))?));
            rest = behind;
        }
        Ok(NameTemplate { fields, end: text + rest })
    }

    /// What fields there are, a line each.
    pub fn help() -> String {
        FIELDS.iter().map(|field| format!("{{{}}} {}\n", field.name, field.meaning)).collect()
    }

    /// The path below the folder for images. A field that the image does not have is left out, and with it the text
    /// between it and the field before.
    pub fn name(&self, image: &Named<'_>) -> PathBuf {
        let mut name = String::new();
        let mut nothing_yet = true;
        for (index, (text, field)) in self.fields.iter().enumerate() {
            let value = (FIELDS[*field].of)(image);
            if index == 0 || (value.is_some() && !nothing_yet) {
                name += text;
            }
            nothing_yet &= value.is_none();
            name += &value.map(|value| bare(&value)).unwrap_or_default();
        }
        name += &self.end;
        let parts = name.split('/').filter(|part| !part.is_empty());
        let path: PathBuf = parts.map(safe).collect();
        if path.as_os_str().is_empty() { PathBuf::from("_") } else { path }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ImageKind;
    use crate::target::OffloadKind;

    fn image(triple: &str, arch: &str) -> Image {
        Image {
            kind: Some(OffloadKind::Hip),
            image_kind: ImageKind::Elf,
            triple: Some(triple.to_owned()),
            arch: Some(arch.to_owned()),
            ..Image::default()
        }
    }

    fn named<'a>(path: &'a str, image: &'a Image) -> Named<'a> {
        Named { path, is_member: path.contains('!'), number: 3, image, containers: Vec::new(), codec: None }
    }

    fn name(template: &str, path: &str, image: &Image) -> String {
        let name = NameTemplate::parse(template).unwrap().name(&named(path, image));
        name.to_str().unwrap().to_owned()
    }

    #[test]
    fn a_name_says_what_the_image_is() {
        let image = image("amdgcn-amd-amdhsa", "gfx90a:sramecc+:xnack-");
        let name = name(NameTemplate::DEFAULT, "/lib/librocrand.so.1", &image);
        assert_eq!(name, "librocrand.so.1.3-hip-amdgcn-amd-amdhsa-gfx90a_sramecc+_xnack-.elf");
    }

    #[test]
    fn a_template_has_its_fields_filled_in_and_what_an_image_does_not_have_left_out() {
        let (full, empty) = (image("amdgcn-amd-amdhsa", "gfx90a"), Image::default());
        let cases = [
            ("{file}/{member}/{arch}.{kind}", "d/a.whl!lib/x.so", &full, "a.whl/lib_x.so/gfx90a.hip"),
            ("{file}/{member}/{arch}.{kind}", "d/a.so", &full, "a.so/gfx90a.hip"),
            ("{member}.{number}.{arch}", "a.so", &empty, "3"),
            ("image-{kind}-{number}.{extension}", "a.so", &empty, "image-3.bin"),
            ("{{{number}}}:{container}", "a.so", &empty, "{3"),
            ("../{number}", "a.so", &empty, "__/3"),
            ("{kind}", "a.so", &empty, "_"),
            ("{{{number}}}", "a.so", &empty, "{3}"),
        ];
        for (template, path, image, expected) in cases {
            assert_eq!(name(template, path, image), expected, "{template}");
        }
    }

    #[test]
    fn a_template_with_something_else_in_braces_is_refused_with_the_fields() {
        let fields = "fields are file, member, name, number, kind, triple, arch, container, extension";
        let cases = [
            ("{size}", "\"size\" is no field"),
            ("{file", "a brace without its other"),
            ("a}", "a brace without its other"),
        ];
        for (template, why) in cases {
            let error = NameTemplate::parse(template).unwrap_err().to_string();
            assert_eq!(error, format!("{template}: {why}; {fields}"));
        }
    }

    #[test]
    fn no_text_in_a_file_makes_a_name_that_leaves_the_folder() {
        for hostile in ["../../etc/passwd", "/etc/passwd", "..", "a\\b", "C:x", "nul\0", "\u{1b}[2J", "é\n"] {
            for template in [NameTemplate::DEFAULT, "{arch}", "{member}{triple}"] {
                let name = name(template, &format!("a!{hostile}"), &image(hostile, hostile));
                assert_eq!(Path::new(&name).components().count(), 1, "{name}");
                assert!(!name.starts_with('.') && !name.contains(['/', '\\', ':', '\0', '\n', '\u{1b}']), "{name}");
            }
        }
    }

    #[test]
    fn a_name_fits_into_a_folder_however_long_its_parts_are() {
        let long = "x".repeat(5000);
        assert!(name(NameTemplate::DEFAULT, &long, &image(&long, &long)).len() <= 255);
    }
}
