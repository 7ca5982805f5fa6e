//! What the files are called that images go into: stable, telling, and safe whatever a file says of its images.

use std::collections::HashSet;
use std::path::Path;

use crate::inventory::Image;

/// The longest part of a name that is taken from a file's contents, in bytes; the whole has to fit into 255.
const LONGEST_PART: usize = 48;

/// Names that are taken, over all files of one run; compared without case, for file systems that do so.
#[derive(Debug, Default)]
pub struct Names(HashSet<String>);

/// `<file>.<index>-<kind>-<triple>-<arch>.<extension>`: the index alone makes it unique within a file, the rest says
/// what it is.
pub fn image_name(file: &str, index: usize, image: &Image) -> String {
    let file = Path::new(file).file_name().map_or("file".into(), |name| name.to_string_lossy());
    let first = format!("{}.{index}", bare(&file));
    let parts: Vec<String> = std::iter::once(first).chain(target(image)).collect();
    format!("{}.{}", parts.join("-"), image.image_kind.extension())
}

/// `<kind>-<triple>-<arch>.a`, for a library of images like this one.
pub fn archive_name(image: &Image) -> String {
    let parts: Vec<String> = target(image).collect();
    if parts.is_empty() { "unknown.a".to_owned() } else { format!("{}.a", parts.join("-")) }
}

fn target(image: &Image) -> impl Iterator<Item = String> {
    let said = [image.kind.map(|kind| kind.name()), image.triple.as_deref(), image.arch.as_deref()];
    said.into_iter().flatten().map(bare)
}

/// Text from a file as a part of a file name: nothing that separates folders, names a device or needs quoting, nothing
/// that begins with a dot, and not longer than a name can bear.
fn bare(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._+-".contains(c) { c } else { '_' };
    let text: String = text.chars().map(plain).take(LONGEST_PART).collect();
    match text.strip_prefix('.') {
        Some(rest) => format!("_{rest}"),
        None => text,
    }
}

impl Names {
    /// The name, or where it is taken the first of `name~2`, `name~3` … that is not. `bare` makes no tilde.
    pub fn take(&mut self, name: &str) -> String {
        let variants = std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}~{number}")));
        variants.into_iter().find(|name| self.0.insert(name.to_ascii_lowercase())).expect("the variants never end")
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
            offset: Some(0),
            size: Some(1),
            ..Image::default()
        }
    }

    #[test]
    fn a_name_says_what_the_image_is() {
        let name = image_name("/lib/librocrand.so.1", 3, &image("amdgcn-amd-amdhsa", "gfx90a:sramecc+:xnack-"));
        assert_eq!(name, "librocrand.so.1.3-hip-amdgcn-amd-amdhsa-gfx90a_sramecc+_xnack-.elf");
    }

    #[test]
    fn no_text_in_a_file_makes_a_name_that_leaves_the_folder() {
        for hostile in ["../../etc/passwd", "/etc/passwd", "..", "a\\b", "C:x", "nul\0", "\u{1b}[2J", "é\n", ".."] {
            let name = image_name(hostile, 0, &image(hostile, hostile));
            assert_eq!(Path::new(&name).components().count(), 1, "{name}");
            assert!(!name.starts_with('.') && !name.contains(['/', '\\', ':', '\0', '\n', '\u{1b}']), "{name}");
        }
    }

    #[test]
    fn a_name_fits_into_a_folder_however_long_its_parts_are() {
        let long = "x".repeat(5000);
        assert!(image_name(&long, 0, &image(&long, &long)).len() <= 255);
    }

    #[test]
    fn two_files_of_one_name_do_not_take_each_others_place() {
        let mut names = Names::default();
        let taken = ["lib.so.0.elf", "lib.so.0.elf", "LIB.so.0.elf"].map(|name| names.take(name));
        assert_eq!(taken, ["lib.so.0.elf", "lib.so.0.elf~2", "LIB.so.0.elf~3"]);
    }
}
