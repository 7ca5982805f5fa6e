//! Templates of file names: `--name '{file}.{number}.{arch}.{extension}'`.

use std::path::Path;

use super::sanitize::{name_part, path_component};
use crate::base::code::{Code, Coded, ErrorClass};
use crate::base::codec::Codec;
use crate::base::file_path::FilePath;
use crate::base::io::OutputName;
use crate::base::spelling::Suggestions;
use crate::scan::inventory::NestedImage;

/// An image that gets a name.
#[derive(Debug)]
pub struct NamedImage<'a> {
    /// Path of the file that holds the image.
    pub path: &'a FilePath,
    /// The image, with the containers around it.
    pub nested: &'a NestedImage<'a>,
    /// Codec of the output, if the image is extracted as it is stored.
    pub codec: Option<Codec>,
}

/// A field of a template.
struct Field {
    name: &'static str,
    meaning: &'static str,
    /// Returns the value, if the image has one.
    value: fn(&NamedImage<'_>) -> Option<String>,
}

const fn field(name: &'static str, meaning: &'static str, value: fn(&NamedImage<'_>) -> Option<String>) -> Field {
    Field { name, meaning, value }
}

/// A template that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{template}: {why}; available fields: {fields}{suggestions}")]
pub struct TemplateError {
    template: String,
    why: String,
    fields: String,
    suggestions: Suggestions,
}

#[doc(hidden)]
impl Coded for TemplateError {
    fn class(&self) -> ErrorClass {
        Code::InvalidTemplate.into()
    }
}

const FIELDS: [Field; 9] = [
    field("file", "name of the file, or of the archive that holds it", |it| last_part(it.path.on_disk_text())),
    field("member", "path of a member in its archive", member_path),
    field("name", "last part of the whole path: FILE, or ARCHIVE_MEMBER", |it| last_part(it.path)),
    field("number", "index of the image in the file, from 0", |it| Some(it.nested.index.to_string())),
    field("kind", "openmp, cuda, hip, sycl", |it| Some(it.nested.image.kind?.name().to_owned())),
    field("triple", "amdgcn-amd-amdhsa, ...", |it| it.nested.image.triple.clone()),
    field("arch", "gfx90a_xnack+, sm_90a, ...", |it| it.nested.image.arch.clone()),
    field("container", "type of the container: offload-binary, cuda-fatbin, ...", |it| {
        Some(it.nested.containers.last()?.container_type.name().to_owned())
    }),
    field("extension", "cubin, hsaco, ptx, spv, bc, ..., followed by the codec with --stored", |it| {
        let codec = it.codec.filter(|&codec| codec != Codec::None).map(|codec| format!(".{}", codec.name()));
        Some(it.nested.image.extension().to_owned() + &codec.unwrap_or_default())
    }),
];

impl<'a> NamedImage<'a> {
    /// Name of the image in messages.
    pub fn description(&self) -> String {
        format!("{} image {}", self.path, self.nested.index)
    }
}

/// Path of the member from the outermost archive on.
fn member_path(image: &NamedImage<'_>) -> Option<String> {
    image.path.member()?;
    Some(image.path.members().collect::<Vec<_>>().join("!"))
}

fn last_part(path: &str) -> Option<String> {
    Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned())
}

/// A template of file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameTemplate {
    /// Fields, each with the text before it.
    fields: Vec<(String, usize)>,
    end: String,
}

impl NameTemplate {
    /// The default template. The number alone is unique within a file; the other fields describe the image.
    pub(crate) const DEFAULT: &'static str = "{name}.{number}-{kind}-{triple}-{arch}.{extension}";

    /// Parses a template: text with fields in braces; `{{` and `}}` are braces.
    pub fn parse(template: &str) -> Result<Self, TemplateError> {
        let refused = |why: String, suggestions| {
            let fields = FIELDS.map(|field| field.name).join(", ");
            TemplateError { template: template.to_owned(), why, fields, suggestions }
        };
        let mut fields = Vec::new();
        let mut text = String::new();
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            text += &rest[..at];
            let brace = &rest[at..at + 1];
            rest = &rest[at + 1..];
            if let Some(after_pair) = rest.strip_prefix(brace) {
                text += brace;
                rest = after_pair;
                continue;
            }
            let ("{", Some((name, after_field))) = (brace, rest.split_once('}')) else {
                return Err(refused("unmatched brace".to_owned(), Suggestions::default()));
            };
            let index = FIELDS.iter().position(|field| field.name == name);
            let unknown = || {
                let suggestions = Suggestions::new(name, FIELDS.map(|field| field.name));
                refused(format!("unknown field {name:?}"), suggestions)
            };
            fields.push((std::mem::take(&mut text), index.ok_or_else(unknown)?));
            rest = after_field;
        }
        Ok(NameTemplate { fields, end: text + rest })
    }

    /// List of the fields, one per line.
    #[doc(hidden)]
    pub fn help() -> String {
        FIELDS.iter().map(|field| format!("{{{}}} {}\n", field.name, field.meaning)).collect()
    }

    /// Path of an image below the output directory. A field without a value is left out, with the text between it and
    /// the previous field.
    #[doc(hidden)]
    pub fn name(&self, image: &NamedImage<'_>) -> OutputName {
        let mut name = String::new();
        let mut is_empty = true;
        for (index, (text, field)) in self.fields.iter().enumerate() {
            let value = (FIELDS[*field].value)(image);
            if index == 0 || (value.is_some() && !is_empty) {
                name += text;
            }
            is_empty &= value.is_none();
            name += &value.map(|value| name_part(&value)).unwrap_or_default();
        }
        name += &self.end;
        OutputName::of_path(name.split('/').filter(|part| !part.is_empty()).map(path_component))
    }
}

impl Default for NameTemplate {
    fn default() -> Self {
        NameTemplate::parse(NameTemplate::DEFAULT).expect("the default template is valid")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::ImageKind;
    use crate::scan::inventory::Image;
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

    fn name(template: &str, path: &str, image: &Image) -> String {
        let nested = NestedImage { index: 3, image, containers: Vec::new() };
        let named = NamedImage { path: &FilePath::parse(path), nested: &nested, codec: None };
        NameTemplate::parse(template).unwrap().name(&named).to_string()
    }

    #[test]
    fn the_default_name_describes_the_image() {
        let image = image("amdgcn-amd-amdhsa", "gfx90a:sramecc+:xnack-");
        let name = name(NameTemplate::DEFAULT, "/lib/librocrand.so.1", &image);
        assert_eq!(name, "librocrand.so.1.3-hip-amdgcn-amd-amdhsa-gfx90a_sramecc+_xnack-.hsaco");
    }

    #[test]
    fn fields_without_a_value_are_left_out() {
        let full = image("amdgcn-amd-amdhsa", "gfx90a");
        let empty = Image::default();
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
    fn invalid_templates_are_refused_with_a_list_of_fields() {
        let fields = "available fields: file, member, name, number, kind, triple, arch, container, extension";
        let cases = [("{size}", "unknown field \"size\""), ("{file", "unmatched brace"), ("a}", "unmatched brace")];
        for (template, why) in cases {
            let error = NameTemplate::parse(template).unwrap_err().to_string();
            assert_eq!(error, format!("{template}: {why}; {fields}"));
        }
    }

    #[test]
    fn no_text_in_a_file_leads_out_of_the_directory() {
        for hostile in ["../../etc/passwd", "/etc/passwd", "..", "a\\b", "C:x", "nul\0", "\u{1b}[2J", "é\n"] {
            for template in [NameTemplate::DEFAULT, "{arch}", "{member}{triple}"] {
                let name = name(template, &format!("a!{hostile}"), &image(hostile, hostile));
                assert_eq!(Path::new(&name).components().count(), 1, "{name}");
                assert!(!name.starts_with('.') && !name.contains(['/', '\\', ':', '\0', '\n', '\u{1b}']), "{name}");
            }
        }
    }

    #[test]
    fn long_parts_do_not_make_a_name_too_long() {
        let long = "x".repeat(5000);
        assert!(name(NameTemplate::DEFAULT, &long, &image(&long, &long)).len() <= 255);
    }
}
