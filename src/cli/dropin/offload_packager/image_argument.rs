//! The argument `--image=<key>=<value>,...`, by the tool's rules: a key without `=` has an empty value, and the values of a
//! repeated key are joined with commas.

use super::map_order;
use crate::llvm::packager::KindNumbers;
use crate::target::OffloadKind;

/// Key of the path of an input or output file.
const FILE: &str = "file";

/// Key of the offload kind.
const KIND: &str = "kind";

/// Key of the triple of an image.
const TRIPLE: &str = "triple";

/// Value of one `--image`.
#[derive(Debug, PartialEq, Eq)]
pub struct ImageArgument {
    /// Keys and values in the order in which the tool iterates over them.
    pairs: Vec<(String, String)>,
    /// True if a `file` has no `=`. The tool distinguishes it from one with an empty value: the former names no file, the
    /// latter a file with an empty name.
    names_no_file: bool,
}

impl ImageArgument {
    /// Parses the value of an option.
    pub fn parse(text: &str) -> Self {
        let mut pairs: Vec<(String, String)> = Vec::new();
        let mut names_no_file = false;
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            names_no_file |= part == FILE;
            match pairs.iter_mut().find(|(known, _)| known == key) {
                Some((_, values)) => {
                    names_no_file &= key != FILE;
                    *values += &format!(",{value}");
                }
                None => pairs.push((key.to_owned(), value.to_owned())),
            }
        }
        let keys: Vec<&[u8]> = pairs.iter().map(|(key, _)| key.as_bytes()).collect();
        let pairs = map_order::order(&keys).into_iter().map(|index| pairs[index].clone()).collect();
        ImageArgument { pairs, names_no_file }
    }

    /// Returns the images to pack; `None` without the key `file`.
    pub fn files(&self) -> Option<Vec<&str>> {
        let files = self.file()?;
        Some(if self.names_no_file { Vec::new() } else { files.split(',').collect() })
    }

    /// Returns the file to extract to.
    pub fn file(&self) -> Option<&str> {
        self.value(FILE)
    }

    /// Returns the triple of the images.
    pub fn triple(&self) -> Option<&str> {
        self.value(TRIPLE)
    }

    /// Returns the number of the offload kind in a binary; an unknown kind is 0.
    pub fn offload_kind(&self, numbers: KindNumbers) -> Option<u16> {
        let kind = self.value(KIND)?;
        let known = OffloadKind::from_name(kind).filter(|known| known.name() == kind);
        Some(known.map_or(0, |kind| numbers.number(kind)))
    }

    /// Returns the keys and values that are stored or compared as strings.
    pub fn strings(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        pairs.filter(|(key, _)| ![FILE, KIND].contains(key))
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(text: &str) -> Vec<(String, String)> {
        ImageArgument::parse(text).strings().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec()
    }

    #[test]
    fn joins_repeated_keys_in_the_order_of_the_tool() {
        let text = "file=a,triple=x,arch=gfx90a:xnack+,kind=hip,triple=y,file=b";
        assert_eq!(strings(text), pairs([("arch", "gfx90a:xnack+"), ("triple", "x,y")]));
        let image = ImageArgument::parse(text);
        assert_eq!((image.files(), image.file()), (Some(vec!["a", "b"]), Some("a,b")));
        assert_eq!(image.offload_kind(KindNumbers::Bits), Some(4));
        assert_eq!(image.offload_kind(KindNumbers::Counted), Some(3));
    }

    #[test]
    fn parses_unusual_arguments_like_the_tool() {
        assert_eq!(strings(""), pairs([("", "")]));
        assert_eq!(strings("file=a,"), pairs([("", "")]));
        assert_eq!(strings("a==b"), pairs([("a", "=b")]));
        assert_eq!(strings("triple"), pairs([("triple", "")]));
        for (text, files) in [
            ("triple=x", None),
            ("file", Some(vec![])),
            ("file=", Some(vec![""])),
            ("file,file", Some(vec!["", ""])),
            ("file=a,file", Some(vec!["a", ""])),
        ] {
            assert_eq!(ImageArgument::parse(text).files(), files, "{text}");
        }
    }

    #[test]
    fn an_unknown_kind_is_zero() {
        let kind = |text: &str| ImageArgument::parse(text).offload_kind(KindNumbers::Bits);
        assert_eq!(kind("file=a"), None);
        for (name, value) in [("openmp", 1), ("cuda", 2), ("hip", 4), ("sycl", 8)] {
            assert_eq!(kind(&format!("kind={name}")), Some(value), "{name}");
        }
        for name in ["", "none", "host", "hipv4", "HIP", "opencl", "cuda,kind=cuda"] {
            assert_eq!(kind(&format!("kind={name}")), Some(0), "{name}");
        }
    }
}
