//! `fatbin wrap`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::Status;
use super::image_argument::parse_image;
use crate::ops::{self, ImageFile, LargeImages, WrapOptions};
use crate::target::OffloadKind;
use crate::wrap::abi::{GENERATIONS, Generation};
use crate::wrap::{Entry, Form, Stated};

/// Write a host object that registers device images when its program or library is loaded
///
/// The object is ELF for Linux, ready for any system linker. What the images are for is read from their own headers.
/// OpenMP and SYCL take any number of images, each embedded inside an offload binary, so that `fatbin scan` and
/// `llvm-objdump --offloading` can list it. CUDA and HIP take one fat binary, or images to make one of.
///
/// Exit status: 0 if it was written, 2 if not.
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

    /// The LLVM release whose host objects and runtime it has to fit; auto is that of --match, else the newest
    #[arg(long, value_name = "ABI", default_value = "auto", value_parser = abi_names())]
    abi: String,

    /// A host object that the result will be linked with: says the ABI and the host, and its offload entries are kept
    /// through --gc-sections
    #[arg(long = "match", value_name = "HOST_OBJECT")]
    matching: Option<PathBuf>,

    /// An offload entry for a host program that no offload compiler has made: the kernel or variable NAME of the image,
    /// known to the host by the address of HOST_SYMBOL (NAME, if not given)
    #[arg(long, value_name = "NAME[=HOST_SYMBOL][,size=N][,flags=N][,data=N][,aux=SYMBOL]", value_parser = parse_entry)]
    entry: Vec<Entry>,

    /// Such entries from a file, one a line; # begins a comment
    #[arg(long, value_name = "FILE")]
    entries: Vec<PathBuf>,

    /// Put the images where linkers put large sections, out of reach of code and data; auto does it from 1 GiB on
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    large_images: Large,

    /// Embed the images as they are, without the offload binary around each; for CUDA and HIP, take the one image for a
    /// fat binary whatever it looks like
    #[arg(long)]
    raw: bool,

    /// Embed the images as they are, with ELF notes in them that say who made them (LLVM 13 to 15 could)
    #[arg(long, conflicts_with = "raw")]
    offload_notes: bool,

    /// Say what was chosen
    #[arg(short, long)]
    verbose: bool,

    /// Images that say what they are for; they follow those of --image
    #[arg(value_name = "IMAGE")]
    images: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Openmp,
    Cuda,
    Hip,
    Sycl,
}

#[derive(Clone, Copy, ValueEnum)]
enum Large {
    Auto,
    Always,
    Never,
}

fn abi_names() -> PossibleValuesParser {
    PossibleValuesParser::new(std::iter::once("auto").chain(GENERATIONS.iter().map(|generation| generation.name)))
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let named = arguments.images.into_iter().map(|path| ImageFile { path, stated: Stated::default() });
    let images: Vec<_> = arguments.image.into_iter().chain(named).collect();
    ensure!(!images.is_empty(), "wrap: no image given; name one as IMAGE or with --image file=IMAGE");
    let mut entries = arguments.entry;
    for path in &arguments.entries {
        entries.extend(read_entries(path)?);
    }
    let chosen = ops::wrap(&WrapOptions {
        kind: match arguments.kind {
            Kind::Openmp => OffloadKind::OpenMp,
            Kind::Cuda => OffloadKind::Cuda,
            Kind::Hip => OffloadKind::Hip,
            Kind::Sycl => OffloadKind::Sycl,
        },
        images,
        abi: Generation::named(&arguments.abi),
        host: arguments.host,
        matching: arguments.matching,
        form: match (arguments.raw, arguments.offload_notes) {
            (_, true) => Form::RawWithNotes,
            (true, false) => Form::Raw,
            (false, false) => Form::OffloadBinary,
        },
        large: match arguments.large_images {
            Large::Auto => LargeImages::Auto,
            Large::Always => LargeImages::Always,
            Large::Never => LargeImages::Never,
        },
        entries,
        output: arguments.output.clone(),
    })?;
    if arguments.verbose {
        let place = if chosen.large { ", images among the large sections" } else { "" };
        eprintln!("fatbin: {}: ABI {}, host {}{place}", arguments.output.display(), chosen.abi, chosen.host);
    }
    Ok(Status::Yes)
}

/// `NAME[=HOST_SYMBOL][,size=N][,flags=N][,data=N][,aux=SYMBOL]`; numbers may be hexadecimal.
fn parse_entry(text: &str) -> Result<Entry> {
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or_default();
    let (name, host_symbol) = first.split_once('=').unwrap_or((first, first));
    ensure!(!name.is_empty() && !host_symbol.is_empty(), "{text:?} has no name");
    let mut entry = Entry { name: name.to_owned(), host_symbol: host_symbol.to_owned(), ..Default::default() };
    for part in parts {
        let (key, value) = part.split_once('=').with_context(|| format!("{part:?} is not KEY=VALUE"))?;
        if key == "aux" {
            entry.aux_symbol = Some(value.to_owned());
            continue;
        }
        let number = parse_number(value).with_context(|| format!("{key}={value} is no number"))?;
        let word = || u32::try_from(number).with_context(|| format!("{key}={value} does not fit into 32 bits"));
        match key {
            "size" => entry.size = number,
            "flags" => entry.flags = word()?,
            "data" => entry.data = word()?,
            _ => bail!("unknown key {key:?}; size, flags, data and aux are known"),
        }
    }
    Ok(entry)
}

fn parse_number(text: &str) -> Result<u64, std::num::ParseIntError> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    }
}

fn read_entries(path: &PathBuf) -> Result<Vec<Entry>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))?;
    let lines = text.lines().map(str::trim).enumerate();
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(index, line)| parse_entry(line).with_context(|| format!("{}:{}", path.display(), index + 1)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_a_name_a_symbol_and_numbers() {
        let entry = parse_entry("saxpy").unwrap();
        assert_eq!((entry.name.as_str(), entry.host_symbol.as_str(), entry.size), ("saxpy", "saxpy", 0));
        let entry = parse_entry("table=host_table,size=64,flags=0x10,data=8").unwrap();
        assert_eq!((entry.host_symbol.as_str(), entry.size, entry.flags, entry.data), ("host_table", 64, 16, 8));
    }

    #[test]
    fn what_is_wrong_with_an_entry_is_named() {
        let cases = [
            ("", "\"\" has no name"),
            ("=x", "\"=x\" has no name"),
            ("a,b", "\"b\" is not KEY=VALUE"),
            ("a,size=many", "size=many is no number"),
            ("a,flags=0x100000000", "flags=0x100000000 does not fit into 32 bits"),
            ("a,color=1", "unknown key \"color\"; size, flags, data and aux are known"),
        ];
        for (text, message) in cases {
            assert_eq!(parse_entry(text).unwrap_err().to_string(), message, "{text}");
        }
    }
}
