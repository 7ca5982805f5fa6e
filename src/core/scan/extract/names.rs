//! Names of output files: stable, descriptive, and safe for any metadata in the input.

use super::ExtractOptions;
use super::error::ExtractError;
use super::job::ExtractJob;
use super::name_template::{NameTemplate, NamedImage};
use super::sanitize::name_part;
use crate::base::io::OutputName;
use crate::scan::inventory::Image;
use crate::target::OffloadKind;
use std::collections::HashMap;

/// `<kind>-<triple>-<arch>.a`, the name of the library for images like this one.
pub fn library_name(image: &Image) -> String {
    let known = [image.kind.map(OffloadKind::name), image.triple.as_deref(), image.arch.as_deref()];
    let parts: Vec<String> = known.into_iter().flatten().map(name_part).collect();
    if parts.is_empty() { "unknown.a".to_owned() } else { format!("{}.a", parts.join("-")) }
}

/// Name of the output for every job.
pub fn file_names(
    jobs: &[ExtractJob<'_>],
    options: &ExtractOptions,
    template: Option<&NameTemplate>,
) -> Result<Vec<OutputName>, ExtractError> {
    let mut names = UsedNames::default();
    if let Some(index) = options.index {
        names.0.insert(index.to_owned(), "the index".to_owned());
    }
    let named = jobs.iter().map(|job| NamedImage {
        path: &job.scanned.file().path,
        nested: &job.found.nested,
        codec: if options.stored { job.found.nested.image.codec } else { None },
    });
    let default = NameTemplate::default();
    let numbers = template.is_none();
    named.map(|image| names.name(template.unwrap_or(&default), numbers, &image)).collect()
}

/// Names that are in use, each with the description of its image. The comparison ignores case, because some file
/// systems do.
#[derive(Debug, Default)]
struct UsedNames(HashMap<String, String>);

impl UsedNames {
    /// Returns the name of an image. If two images have the same name and `numbers` is set, the second gets a number:
    /// `name~2`, `name~3`. With the default template, this happens if two files have the same name. Without `numbers`
    /// it is an error. No name contains a tilde otherwise.
    fn name(
        &mut self,
        template: &NameTemplate,
        numbers: bool,
        image: &NamedImage<'_>,
    ) -> Result<OutputName, ExtractError> {
        let name = template.name(image);
        match self.insert(&name, image) {
            None => Ok(name),
            Some(_) if numbers => Ok(self.numbered(&name, image)),
            Some(one) => {
                Err(ExtractError::SameName { path: name.as_path().to_owned(), one, other: image.description() })
            }
        }
    }

    /// Reserves a name for an image, or returns the description of the image that has it.
    fn insert(&mut self, name: &OutputName, image: &NamedImage<'_>) -> Option<String> {
        let key = name.to_string().to_ascii_lowercase();
        if let Some(other) = self.0.get(&key) {
            return Some(other.clone());
        }
        self.0.insert(key, image.description());
        None
    }

    /// Reserves the first free name among `name~2`, `name~3` and so on.
    fn numbered(&mut self, name: &OutputName, image: &NamedImage<'_>) -> OutputName {
        let mut variants = (2..).map(|number| name.with_end(&format!("~{number}")));
        variants.find(|name| self.insert(name, image).is_none()).expect("the variants never end")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::file_path::FilePath;
    use crate::scan::inventory::NestedImage;

    fn names(
        template: Option<&NameTemplate>,
        used: &[&str],
        images: &[(&str, usize, &Image)],
    ) -> Result<Vec<OutputName>, ExtractError> {
        let mut names = UsedNames::default();
        names.0.extend(used.iter().map(|name| (name.to_string(), "the index".to_owned())));
        let mut name = |&(path, index, image): &(&str, usize, &Image)| {
            let nested = NestedImage { index, image, containers: Vec::new() };
            let default = NameTemplate::default();
            let template_or_default = template.unwrap_or(&default);
            names.name(
                template_or_default,
                template.is_none(),
                &NamedImage { path: &FilePath::new(path), nested: &nested, codec: None },
            )
        };
        images.iter().map(&mut name).collect()
    }

    #[test]
    fn files_of_one_name_get_numbers() {
        let one = Image::default();
        let two = Image { arch: Some("GFX90A".to_owned()), ..Image::default() };
        let three = Image { arch: Some("gfx90a".to_owned()), ..Image::default() };
        let images = [("a/lib.so", 0, &two), ("b/lib.so", 0, &three), ("lib.so", 0, &one), ("x/lib.so", 0, &two)];
        let expected = ["lib.so.0-GFX90A.bin", "lib.so.0-gfx90a.bin~2", "lib.so.0.bin", "lib.so.0-GFX90A.bin~3"];
        assert_eq!(names(None, &[], &images).unwrap(), expected.map(OutputName::of));
    }

    #[test]
    fn two_images_of_one_name_by_a_template_are_an_error_that_names_both() {
        let image = Image::default();
        let template = NameTemplate::parse("IMAGE.{extension}").unwrap();
        let error = names(Some(&template), &[], &[("a", 0, &image), ("b", 7, &image)]).unwrap_err().to_string();
        let expected = "a image 0 and b image 7 would both be written to IMAGE.bin";
        assert_eq!(error, expected);
        let error = names(Some(&template), &["image.bin"], &[("a", 0, &image)]).unwrap_err().to_string();
        assert!(error.starts_with("the index and a image 0 would both be written to IMAGE.bin"), "{error}");
    }
}
