//! `fatbin pack --kind cuda`.

use std::path::PathBuf;

use anyhow::anyhow;

use super::compression::CompressionArguments;
use super::failure::{Context, Result, bail, coded, ensure};
use super::image_argument::not_assigned;
use super::known_names::unknown_name;
use super::outputs::{ForceArgument, OutputArgument};
use super::session::Session;
use crate::codes::Code;
use fatbin_core::base::codec::{Codec, Compression};
use fatbin_core::base::io::Input;
use fatbin_ops::embed::pack::fat_binary::{self, FatbinInput, FatbinOptions, FatbinProperties, default_compression};

/// Arguments that apply to CUDA fat binaries.
pub struct FatbinArguments {
    pub output: OutputArgument,
    pub force: ForceArgument,
    pub described: Vec<String>,
    pub images: Vec<PathBuf>,
    pub compression: CompressionArguments,
    pub concat: bool,
}

/// Runs the command.
pub fn run(arguments: FatbinArguments, session: &Session) -> Result<()> {
    let compression = arguments.compression.of_fatbin("pack")?;
    let mut images = Vec::new();
    for text in &arguments.described {
        let described = EntryDescription::parse(text, compression).with_context(|| format!("--image {text}"))?;
        for file in &described.files {
            let properties = described.properties.clone();
            images.push(FatbinInput { input: Input::open(file, session.access())?, properties });
        }
    }
    for path in arguments.images {
        let properties = FatbinProperties { compression, ..FatbinProperties::default() };
        images.push(FatbinInput { input: Input::open(path, session.access())?, properties });
    }
    if images.is_empty() {
        return Err(coded(Code::MissingArgument, "pack: no image given; pass IMAGE or --image file=IMAGE"));
    }
    let concat = match (arguments.concat, compression) {
        (true, None) => bail!("pack: --concat: compression is required; add --compress"),
        (true, compression) => compression,
        (false, _) => None,
    };
    arguments.force.check_code(arguments.output.path(), images.iter().map(|image| image.input.path()), session)?;
    Ok(fat_binary::pack(&images, &FatbinOptions { concat, output: arguments.output.path().to_owned() })?)
}

/// Value of `--image`.
#[derive(Debug, PartialEq, Eq)]
struct EntryDescription {
    files: Vec<PathBuf>,
    properties: FatbinProperties,
}

/// Keys of a value.
const KEYS: [&str; 7] = ["file", "arch", "ident", "options", "debug", "compress", "level"];

impl EntryDescription {
    /// `compression` is the default from the command line.
    fn parse(text: &str, compression: Option<Compression>) -> Result<EntryDescription> {
        let mut files = Vec::new();
        let mut properties = FatbinProperties { compression, ..FatbinProperties::default() };
        let mut stated_level = None;
        let mut keys: Vec<&str> = Vec::new();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').with_context(|| not_assigned(part))?;
            ensure!(key == "file" || !keys.contains(&key), "duplicate key {key}");
            keys.push(key);
            match key {
                "file" => {
                    ensure!(!value.is_empty(), "file=F is missing");
                    files.push(value.into());
                }
                "arch" => properties.arch = Some(value.to_owned()),
                "ident" => properties.identifier = value.to_owned(),
                "options" => properties.options = value.to_owned(),
                "debug" => properties.has_debug = parse_switch(value)?,
                "compress" => properties.compression = parse_codec(value)?,
                "level" => stated_level = Some(value.parse().with_context(|| format!("level={value}: not a number"))?),
                _ => return Err(unknown_name(&format!("key {key:?}"), key, &KEYS)),
            }
        }
        ensure!(!files.is_empty(), "file=F is missing");
        if let Some(level) = stated_level {
            let compression =
                properties.compression.context("level: the image is not compressed; add compress=CODEC")?;
            properties.compression = Some(compression.at(Some(level)).map_err(|error| anyhow!(error))?);
        }
        Ok(EntryDescription { files, properties })
    }
}

fn parse_switch(text: &str) -> Result<bool> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => bail!("debug={text}: expected true or false"),
    }
}

fn parse_codec(name: &str) -> Result<Option<Compression>> {
    match name {
        "none" => Ok(None),
        "zstd" => Ok(Some(default_compression(Codec::Zstd))),
        "lz4" => Ok(Some(default_compression(Codec::Lz4))),
        _ => bail!("compress={name}: unknown codec (available: none, zstd, lz4)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_properties_of_an_image() {
        let text = "file=a,arch=sm_100f,ident=a.cu,options=-O3 -v,debug=true,compress=zstd,level=19,file=b";
        let described = EntryDescription::parse(text, None).unwrap();
        let expected = EntryDescription {
            files: vec!["a".into(), "b".into()],
            properties: FatbinProperties {
                arch: Some("sm_100f".to_owned()),
                identifier: "a.cu".to_owned(),
                options: "-O3 -v".to_owned(),
                has_debug: true,
                compression: Some(Compression { codec: Codec::Zstd, level: 19 }),
            },
        };
        assert_eq!(described, expected);
        let lz4 = Some(default_compression(Codec::Lz4));
        assert_eq!(EntryDescription::parse("file=a", lz4).unwrap().properties.compression, lz4);
        assert_eq!(EntryDescription::parse("file=a,compress=none", lz4).unwrap().properties.compression, None);
        assert_eq!(EntryDescription::parse("file=a,level=12", lz4).unwrap().properties.compression.unwrap().level, 12);
    }

    #[test]
    fn reports_the_error_in_an_invalid_argument() {
        let cases = [
            ("", "\"\" is not KEY=VALUE, such as file=PATH"),
            ("arch=sm_90", "file=F is missing"),
            ("file=", "file=F is missing"),
            (
                "file=a,triple=t",
                "unknown key \"triple\" (available: file, arch, ident, options, debug, compress, level)",
            ),
            ("file=a,ident=x,ident=y", "duplicate key ident"),
            ("file=a,debug=1", "debug=1: expected true or false"),
            ("file=a,compress=zlib", "compress=zlib: unknown codec (available: none, zstd, lz4)"),
            ("file=a,level=3", "level: the image is not compressed; add compress=CODEC"),
            ("file=a,compress=lz4,level=13", "level 13: invalid level; lz4 has levels 1 to 12"),
            ("file=a,compress=zstd,level=x", "level=x: not a number"),
        ];
        for (text, message) in cases {
            assert_eq!(EntryDescription::parse(text, None).unwrap_err().to_string(), message, "{text}");
        }
    }
}
