//! What the files are called that images go into: stable, telling, and safe whatever a file says of its images.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::name_template::{NameTemplate, Named};
use crate::error::{Error, Result};
use crate::inventory::Image;

/// The longest part of a name that is taken from a file's contents, in bytes; the whole has to fit into 255.
const LONGEST_PART: usize = 48;

/// `<kind>-<triple>-<arch>.a`, for a library of images like this one.
pub fn archive_name(image: &Image) -> String {
    let said = [image.kind.map(|kind| kind.name()), image.triple.as_deref(), image.arch.as_deref()];
    let parts: Vec<String> = said.into_iter().flatten().map(bare).collect();
    if parts.is_empty() { "unknown.a".to_owned() } else { format!("{}.a", parts.join("-")) }
}

/// Text from a file as a part of a file name: nothing that separates folders, names a device or needs quoting, nothing
/// that begins with a dot, and not longer than a name can bear.
pub fn bare(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    let text: String = text.chars().map(plain).take(LONGEST_PART).collect();
    match text.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => text,
    }
}

/// The names that Windows has for devices, with whatever ending.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// A part of a path that every system takes for a file name and nothing else.
pub fn safe(part: &str) -> String {
    let forbidden = |c: char| c.is_control() || "<>:\"|?*\\".contains(c);
    let part = part.replace(forbidden, "_");
    let stem = part.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
    let number = NUMBERED_DEVICES.iter().find_map(|device| stem.strip_prefix(device));
    let is_numbered = number.is_some_and(|number| number.len() == 1 && number != "0");
    let is_device = is_numbered || DEVICES.contains(&stem.as_str());
    let front = if is_device || part.starts_with('.') { "_" } else { "" };
    let rest = part.strip_prefix('.').unwrap_or(&part);
    let kept = rest.trim_end_matches(['.', ' ']);
    format!("{front}{kept}{}", "_".repeat(rest.len() - kept.len()))
}

/// Names that are taken, with what has each; compared without case, for file systems that do so.
#[derive(Debug, Default)]
pub struct Names(HashMap<String, String>);

impl Names {
    /// The name of every image. By a template that somebody wrote, two images of one name are an error; by the default one
    /// two files of one name, and the second image gets a number: `name~2`, `name~3`. No name has a tilde by itself.
    pub fn of_all(template: Option<&NameTemplate>, images: &[Named<'_>], taken: &[&str]) -> Result<Vec<PathBuf>> {
        let default = NameTemplate::parse(NameTemplate::DEFAULT)?;
        let mut names = Names(taken.iter().map(|name| (name.to_string(), "the index".to_owned())).collect());
        let name = |image: &Named<'_>| {
            let name = template.unwrap_or(&default).name(image);
            match (names.insert(&name, image), template) {
                (None, _) => Ok(name),
                (Some(one), Some(_)) => Err(Error::SameName { path: name, one, other: image.description() }),
                (Some(_), None) => Ok(names.take(&name, image)),
            }
        };
        images.iter().map(name).collect()
    }

    /// Takes a name for an image, or says which has it.
    fn insert(&mut self, name: &Path, image: &Named<'_>) -> Option<String> {
        let key = name.to_string_lossy().to_ascii_lowercase();
        match self.0.get(&key) {
            Some(other) => Some(other.clone()),
            None => {
                self.0.insert(key, image.description());
                None
            }
        }
    }

    /// The first of `name~2`, `name~3` … that is not taken.
    fn take(&mut self, name: &Path, image: &Named<'_>) -> PathBuf {
        let mut variants = (2..).map(|number| PathBuf::from(format!("{}~{number}", name.display())));
        variants.find(|name| self.insert(name, image).is_none()).expect("the variants never end")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_of_the_same_name_do_not_take_each_others_place() {
        let (one, two) = (Image::default(), Image { arch: Some("GFX90A".to_owned()), ..Image::default() });
        let three = Image { arch: Some("gfx90a".to_owned()), ..Image::default() };
        let named =
            |path, image| Named { path, is_member: false, number: 0, image, containers: Vec::new(), codec: None };
        let images =
            [named("a/lib.so", &two), named("b/lib.so", &three), named("lib.so", &one), named("x/lib.so", &two)];
        let names = Names::of_all(None, &images, &[]).unwrap();
        let expected = ["lib.so.0-GFX90A.bin", "lib.so.0-gfx90a.bin~2", "lib.so.0.bin", "lib.so.0-GFX90A.bin~3"];
        assert_eq!(names, expected.map(PathBuf::from));
    }

    #[test]
    fn two_images_of_one_name_by_a_template_are_an_error_that_names_both() {
        let image = Image::default();
        let named =
            |path, number| Named { path, is_member: false, number, image: &image, containers: Vec::new(), codec: None };
        let template = NameTemplate::parse("IMAGE.{extension}").unwrap();
        let error = Names::of_all(Some(&template), &[named("a", 0), named("b", 7)], &[]).unwrap_err().to_string();
        assert_eq!(
            error,
            "IMAGE.bin: is the name of two images, a image 0 and b image 7; put {number} and {file} into it"
        );
        let taken = Names::of_all(Some(&template), &[named("a", 0)], &["image.bin"]).unwrap_err().to_string();
        assert!(taken.starts_with("IMAGE.bin: is the name of two images, the index and a image 0"), "{taken}");
    }

    #[test]
    fn a_part_of_a_path_is_a_file_name_on_every_system() {
        let cases = [
            ("con.elf", "_con.elf"),
            ("LPT1", "_LPT1"),
            ("com10.x", "com10.x"),
            ("a:b?c", "a_b_c"),
            ("end. ", "end__"),
            ("..", "__"),
            (".hidden", "_hidden"),
        ];
        for (part, expected) in cases {
            assert_eq!(safe(part), expected, "{part}");
        }
    }
}
