//! The options of nvFatbin: what all entries of a container state, and how they are compressed.

use super::NvFatbinError;
use fatbin_core::base::codec::{Codec, Compression};
use fatbin_core::format::cuda_fatbin::{FatbinImage, HostSystem, Language, level};

/// Options of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    pub is_64_bit: bool,
    host: HostSystem,
    language: Option<Language>,
    has_debug: bool,
    /// Codec and level; `None` if nothing is compressed.
    pub compression: Option<Compression>,
    /// True if cubins are compressed like PTX.
    compresses_cubins: bool,
    /// True if images of a sort are compressed as one.
    pub concat: bool,
}

/// Value of `-compress-mode`: codec and level, and whether cubins are compressed too.
const MODES: [(&str, Option<Compression>, bool); 5] = [
    ("default", Some(Compression { codec: Codec::Zstd, level: level::ZSTD }), false),
    ("balance", Some(Compression { codec: Codec::Zstd, level: level::ZSTD }), false),
    ("size", Some(Compression { codec: Codec::Zstd, level: level::ZSTD_SIZE }), true),
    ("speed", Some(Compression { codec: Codec::Lz4, level: level::LZ4 }), false),
    ("none", None, false),
];

/// Levels of zstd that `-compress-level` accepts. The option is not documented.
const LEVELS: std::ops::RangeInclusive<i32> = -131_072..=22;

impl Default for Options {
    fn default() -> Self {
        let [(_, compression, compresses_cubins), ..] = MODES;
        Options {
            is_64_bit: true,
            host: HostSystem::Linux,
            language: None,
            has_debug: false,
            compression,
            compresses_cubins,
            concat: false,
        }
    }
}

/// The options as given. The first of several values of an option counts, and the others are not checked.
#[derive(Default)]
struct Given<'a> {
    flags: Vec<&'a [u8]>,
    values: Vec<(&'a [u8], &'a [u8])>,
}

const FLAGS: [&[u8]; 8] = [b"32", b"64", b"c", b"compress-all", b"concat", b"cuda", b"g", b"opencl"];
const VALUES: [&[u8]; 4] = [b"compress", b"compress-level", b"compress-mode", b"host"];

impl<'a> Given<'a> {
    fn add(&mut self, option: &'a [u8]) -> Option<()> {
        let option = option.strip_prefix(b"-")?;
        let (name, value) = match option.iter().position(|byte| matches!(byte, b'=' | b' ')) {
            Some(end) => (option.get(..end)?, option.get(end + 1..)?),
            None => (option, &b""[..]),
        };
        if FLAGS.contains(&name) && value.is_empty() {
            self.flags.push(name);
        } else if VALUES.contains(&name) {
            self.values.push((name, value));
        } else {
            return None;
        }
        Some(())
    }

    fn flag(&self, name: &[u8]) -> bool {
        self.flags.contains(&name)
    }

    fn value(&self, name: &[u8]) -> Option<&'a [u8]> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn options(&self) -> Option<Options> {
        let is_contradiction = |one: &[u8], other: &[u8]| self.flag(one) && self.flag(other);
        if is_contradiction(b"32", b"64") || is_contradiction(b"cuda", b"opencl") {
            return None;
        }
        let host = match self.value(b"host") {
            None | Some(b"linux") => HostSystem::Linux,
            Some(b"mac") => HostSystem::Mac,
            Some(b"windows") => HostSystem::Windows,
            Some(_) => return None,
        };
        let opencl = self.flag(b"opencl").then_some(Language::OpenCl);
        let language = if self.flag(b"cuda") { Some(Language::Cuda) } else { opencl };
        let (compression, mode_compresses_cubins) = self.compression()?;
        let concat = self.flag(b"concat");
        if concat && compression.is_none() {
            return None;
        }
        let compresses_cubins =
            mode_compresses_cubins || [&b"compress-all"[..], b"g", b"c"].iter().any(|flag| self.flag(flag));
        let has_debug = self.flag(b"g");
        let is_64_bit = !self.flag(b"32");
        Some(Options { is_64_bit, host, language, has_debug, compression, compresses_cubins, concat })
    }

    /// Compression, and whether the mode compresses cubins.
    fn compression(&self) -> Option<(Option<Compression>, bool)> {
        let is_disabled = match self.value(b"compress") {
            None | Some(b"true") => false,
            Some(b"false") => true,
            Some(_) => return None,
        };
        let mode = self.value(b"compress-mode").unwrap_or(b"default");
        let (_, mut compression, mut compresses_cubins) = *MODES.iter().find(|(name, ..)| name.as_bytes() == mode)?;
        if let Some(level) = self.value(b"compress-level") {
            let level = integer(level).filter(|level| LEVELS.contains(level))?;
            // Even with `-compress-mode=none`.
            compression = Some(Compression { codec: Codec::Zstd, level });
            compresses_cubins = false;
        }
        Some((if is_disabled { None } else { compression }, compresses_cubins))
    }
}

impl Options {
    /// Parses options such as `-compress=false`.
    pub fn parse<'a>(options: impl IntoIterator<Item = &'a [u8]>) -> Result<Options, NvFatbinError> {
        let mut given = Given::default();
        let parsed = options.into_iter().try_for_each(|option| given.add(option)).and_then(|()| given.options());
        parsed.ok_or(NvFatbinError::UnrecognizedOption)
    }

    /// Compression of a cubin.
    pub fn compression_of_cubins(&self) -> Option<Compression> {
        if self.compresses_cubins { self.compression } else { None }
    }

    /// Sets what the entry of an image states.
    pub fn applied_to<'a>(&self, image: FatbinImage<'a>) -> FatbinImage<'a> {
        let image = image.with_debug(self.has_debug).with_64_bits(self.is_64_bit);
        image.with_host(self.host).with_language(self.language)
    }
}

/// Parses a number like C's `strtol`, which skips white space and a sign. Empty text is 0.
pub fn integer(text: &[u8]) -> Option<i32> {
    if text.is_empty() {
        return Some(0);
    }
    let number = std::str::from_utf8(text).ok()?.trim_start();
    let (is_negative, digits) = match number.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude = digits.parse::<i32>().ok()?;
    Some(if is_negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(options: &str) -> Result<Options, NvFatbinError> {
        let options: Vec<&[u8]> = options.split(',').filter(|it| !it.is_empty()).map(str::as_bytes).collect();
        Options::parse(options)
    }

    /// Options that libnvfatbin 13.5 accepts and rejects; `linker-tests/fatbinary/nvfatbin.rs` compares both.
    #[test]
    fn parses_options_as_nvfatbin_does() {
        assert_eq!(parse(""), Ok(Options::default()));
        let plain = Options { compression: None, ..Options::default() };
        for none in ["-compress=false", "-compress false,-compress=bogus", "-compress-mode=none,-compress=true"] {
            assert_eq!(parse(none), Ok(plain), "{none}");
        }
        assert_eq!(parse("-g "), Ok(Options { has_debug: true, compresses_cubins: true, ..Options::default() }));
        let fast = parse("-compress-mode=size,-compress-level=-7").unwrap();
        assert_eq!(fast.compression, Some(Compression { codec: Codec::Zstd, level: -7 }));
        assert_eq!(fast.compression_of_cubins(), None);
        assert!(parse("-compress-mode=size").unwrap().compression_of_cubins().is_some());
        let mistakes = "-32,-64|-cuda,-opencl|-compress|-compress=1|-compress-mode=|-compress-level=23|-host=bsd|g|-|-g  \
                        |-g=1|--g|-concat,-compress=false|-bogus";
        for mistake in mistakes.split('|') {
            assert_eq!(parse(mistake), Err(NvFatbinError::UnrecognizedOption), "{mistake}");
        }
    }
}
