//! The value of `--image file=F[,triple=T][,arch=A]`, shared by several commands.

use super::failure::{Context, Result, ensure};
use super::known_names::unknown_name;
use fatbin_ops::embed::wrap::TargetOverride;
use fatbin_ops::embed::wrap::files::ImageFile;

/// Parses the value of `--image`. Each key may occur once.
pub fn parse_image(text: &str) -> Result<ImageFile> {
    let mut file = None;
    let mut target = TargetOverride::default();
    for part in text.split(',') {
        let (key, value) = part.split_once('=').with_context(|| not_assigned(part))?;
        let slot = match key {
            "file" => &mut file,
            "triple" => &mut target.triple,
            "arch" => &mut target.arch,
            _ => return Err(unknown_name(&format!("key {key:?}"), key, &["file", "triple", "arch"])),
        };
        ensure!(slot.is_none(), "duplicate key {key}");
        *slot = Some(value.to_owned());
    }
    let path = file.filter(|file| !file.is_empty()).context("file=F is missing")?.into();
    Ok(ImageFile { path, target })
}

/// Describes a part of a value that has no key.
pub fn not_assigned(part: &str) -> String {
    format!("{part:?} is not KEY=VALUE, such as file={}", if part.is_empty() { "PATH" } else { part })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_file_with_triple_and_arch() {
        let image = parse_image("file=a.so,arch=gfx90a:xnack+,triple=amdgcn-amd-amdhsa").unwrap();
        let target = TargetOverride { triple: Some("amdgcn-amd-amdhsa".into()), arch: Some("gfx90a:xnack+".into()) };
        assert_eq!(image, ImageFile { path: "a.so".into(), target });
    }

    #[test]
    fn reports_the_error_in_an_invalid_argument() {
        let cases = [
            ("", "\"\" is not KEY=VALUE, such as file=PATH"),
            ("a.so", "\"a.so\" is not KEY=VALUE, such as file=a.so"),
            ("triple=t", "file=F is missing"),
            ("file=", "file=F is missing"),
            ("file=a,file=b", "duplicate key file"),
            ("file=a,color=red", "unknown key \"color\" (available: file, triple, arch)"),
            ("file=a,tripl=t", "unknown key \"tripl\"; did you mean triple? (available: file, triple, arch)"),
        ];
        for (text, message) in cases {
            assert_eq!(parse_image(text).unwrap_err().to_string(), message, "{text}");
        }
    }
}
