//! `fatbin wrap`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};

use super::Status;
use crate::ops::{self, ImageFile, WrapOptions};
use crate::wrap::Stated;

/// Write a host object that registers device images when its program or library is loaded
///
/// The object is ELF for Linux as LLVM 21 and later make it, ready for any system linker. Each image is embedded
/// inside an offload binary, so that `fatbin scan` and `llvm-objdump --offloading` can list it.
#[derive(Args)]
pub struct Arguments {
    /// The runtime that the images are registered with
    #[arg(long)]
    kind: Kind,

    /// The object to write
    #[arg(short, long, value_name = "OUT.o")]
    output: PathBuf,

    /// The machine that the object is for, by default the one that fatbin was built for
    #[arg(long, value_name = "TRIPLE")]
    host: Option<String>,

    /// An image and what it is for; what is not said is read from the image's own header
    #[arg(long, value_name = "file=F[,triple=T][,arch=A]", value_parser = parse_image)]
    image: Vec<ImageFile>,

    /// Embed the images as they are, without the offload binary around each
    #[arg(long)]
    raw: bool,

    /// Images that say what they are for; they follow those of --image
    #[arg(value_name = "IMAGE")]
    images: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Openmp,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let Kind::Openmp = arguments.kind;
    let named = arguments.images.into_iter().map(|path| ImageFile { path, stated: Stated::default() });
    let images: Vec<_> = arguments.image.into_iter().chain(named).collect();
    ensure!(!images.is_empty(), "wrap: no image given; name one as IMAGE or with --image file=IMAGE");
    ops::wrap(&WrapOptions { images, host: arguments.host, raw: arguments.raw, output: arguments.output })?;
    Ok(Status::Yes)
}

/// `file=F[,triple=T][,arch=A]`, each key at most once.
fn parse_image(text: &str) -> Result<ImageFile> {
    let mut file = None;
    let mut stated = Stated::default();
    for part in text.split(',') {
        let (key, value) = part.split_once('=').with_context(|| format!("{part:?} is not KEY=VALUE"))?;
        let slot = match key {
            "file" => &mut file,
            "triple" => &mut stated.triple,
            "arch" => &mut stated.arch,
            _ => bail!("unknown key {key:?}; file, triple and arch are known"),
        };
        ensure!(slot.is_none(), "{key} is given twice");
        *slot = Some(value.to_owned());
    }
    let path = file.filter(|file| !file.is_empty()).context("file=F is missing")?.into();
    Ok(ImageFile { path, stated })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_a_file_with_what_is_said_of_it() {
        let image = parse_image("file=a.so,arch=gfx90a:xnack+,triple=amdgcn-amd-amdhsa").unwrap();
        let stated = Stated { triple: Some("amdgcn-amd-amdhsa".into()), arch: Some("gfx90a:xnack+".into()) };
        assert_eq!(image, ImageFile { path: "a.so".into(), stated });
    }

    #[test]
    fn what_is_wrong_with_an_image_argument_is_named() {
        let cases = [
            ("", "\"\" is not KEY=VALUE"),
            ("a.so", "\"a.so\" is not KEY=VALUE"),
            ("triple=t", "file=F is missing"),
            ("file=", "file=F is missing"),
            ("file=a,file=b", "file is given twice"),
            ("file=a,color=red", "unknown key \"color\"; file, triple and arch are known"),
        ];
        for (text, message) in cases {
            assert_eq!(parse_image(text).unwrap_err().to_string(), message, "{text}");
        }
    }
}
