//! The argument `--image=<key>=<value>,...`, by the tool's rules: a key without `=` has an empty value, and the values
//! of a repeated key are joined with commas.

use super::map_order::{dense_map_order, string_map_order};
use fatbin_core::target::OffloadKind;
use fatbin_ops::embed::llvm::KindNumbers;
use fatbin_ops::embed::llvm::packager::{PackagerRules, PackedFiles, StringOrder};

/// Key of the path of an input or output file.
const FILE: &str = "file";

/// Key of the offload kind.
const KIND: &str = "kind";

/// Key of the triple of an image.
const TRIPLE: &str = "triple";

/// Key of the name of an archive's member, since LLVM 23.
pub const MEMBER: &str = "member";

/// Value of one `--image`.
#[derive(Debug, PartialEq, Eq)]
pub struct ImageArgument {
    /// Keys and values.
    pairs: Vec<(String, String)>,
    /// Indices in `pairs` of the pairs that are stored or compared as strings, in order.
    strings: Vec<usize>,
    /// Files to pack; `None` without the key `file`.
    files: Option<Vec<String>>,
}

impl ImageArgument {
    /// Parses the value of an option.
    pub fn parse(text: &str, rules: &PackagerRules) -> Self {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for part in text.split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match pairs.iter_mut().find(|(known, _)| known == key) {
                Some((_, values)) => *values += &format!(",{value}"),
                None => pairs.push((key.to_owned(), value.to_owned())),
            }
        }
        let strings = string_order(&pairs, rules.string_order);
        let mut image = ImageArgument { pairs, strings, files: None };
        // A `file` without `=` differs from a `file` with an empty value: the former names no file, the latter a file
        // with an empty name.
        let names_no_file = text.split(',').filter(|part| is_file(part)).eq([FILE]);
        image.files = image.file().map(|file| match rules.packed_files {
            PackedFiles::One => vec![file.to_owned()],
            PackedFiles::PerValue if names_no_file => Vec::new(),
            PackedFiles::PerValue => file.split(',').map(str::to_owned).collect(),
        });
        image
    }

    /// Files to pack; `None` without the key `file`.
    pub fn files(&self) -> Option<&[String]> {
        self.files.as_deref()
    }

    /// File to extract to.
    pub fn file(&self) -> Option<&str> {
        self.value(FILE)
    }

    /// Triple of the images.
    pub fn triple(&self) -> Option<&str> {
        self.value(TRIPLE)
    }

    /// Number of the offload kind in a binary; 0 for an unknown kind.
    pub fn offload_kind(&self, numbers: KindNumbers) -> Option<u16> {
        let kind = self.value(KIND)?;
        let known = OffloadKind::from_name(kind).filter(|known| known.name() == kind);
        Some(known.map_or(0, |kind| numbers.number(kind)))
    }

    /// True if the image is to be extracted from a member of an archive.
    pub fn has_member(&self) -> bool {
        self.value(MEMBER).is_some()
    }

    /// Keys and values that are stored or compared as strings.
    pub fn strings(&self) -> impl Iterator<Item = (&str, &str)> {
        self.strings.iter().map(|&index| (self.pairs[index].0.as_str(), self.pairs[index].1.as_str()))
    }

    fn value(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// True for a part with the key `file`.
fn is_file(part: &str) -> bool {
    part.split_once('=').map_or(part, |(key, _)| key) == FILE
}

/// Indices of the pairs that are strings, in the order that a release stores them.
fn string_order(pairs: &[(String, String)], order: StringOrder) -> Vec<usize> {
    let all: Vec<usize> = (0..pairs.len()).collect();
    let reorder = |indices: &[usize], order: fn(&[&[u8]]) -> Vec<usize>| -> Vec<usize> {
        let keys: Vec<&[u8]> = indices.iter().map(|&index| pairs[index].0.as_bytes()).collect();
        order(&keys).into_iter().map(|position| indices[position]).collect()
    };
    let mut strings = match order {
        StringOrder::StringMaps => reorder(&all, string_map_order),
        StringOrder::DenseAndStringMap | StringOrder::DenseMap => reorder(&all, dense_map_order),
    };
    strings.retain(|&index| ![FILE, KIND].contains(&pairs[index].0.as_str()));
    match order {
        StringOrder::StringMaps | StringOrder::DenseAndStringMap => reorder(&strings, string_map_order),
        StringOrder::DenseMap => strings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fatbin_ops::embed::llvm::{NEWEST, Release};

    fn parse(text: &str) -> ImageArgument {
        ImageArgument::parse(text, &NEWEST.packager)
    }

    fn strings(text: &str) -> Vec<(String, String)> {
        parse(text).strings().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    fn pairs<const N: usize>(pairs: [(&str, &str); N]) -> Vec<(String, String)> {
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).to_vec()
    }

    #[test]
    fn joins_repeated_keys_in_the_order_of_the_tool() {
        let text = "file=a,triple=x,arch=gfx90a:xnack+,kind=hip,triple=y,file=b";
        assert_eq!(strings(text), pairs([("arch", "gfx90a:xnack+"), ("triple", "x,y")]));
        let image = parse(text);
        assert_eq!((image.files.as_deref(), image.file()), (Some(&["a", "b"].map(str::to_owned)[..]), Some("a,b")));
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
            let files = files.map(|files: Vec<&str>| files.into_iter().map(str::to_owned).collect());
            assert_eq!(parse(text).files, files, "{text}");
        }
    }

    #[test]
    fn an_unknown_kind_is_zero() {
        let kind = |text: &str| parse(text).offload_kind(KindNumbers::Bits);
        assert_eq!(kind("file=a"), None);
        for (name, value) in [("openmp", 1), ("cuda", 2), ("hip", 4), ("sycl", 8)] {
            assert_eq!(kind(&format!("kind={name}")), Some(value), "{name}");
        }
        for name in ["", "none", "host", "hipv4", "HIP", "opencl", "cuda,kind=cuda"] {
            assert_eq!(kind(&format!("kind={name}")), Some(0), "{name}");
        }
    }

    /// clang-offload-packager 15.0.6, 16.0.6 and 19.1.7 store these keys in this order.
    #[test]
    fn stores_strings_in_the_order_of_the_release() {
        let keys: Vec<String> = ('a'..='n').map(String::from).collect();
        let text = format!("file=x,triple=,arch=,feature=,{}", keys.join("=,"));
        for (release, expected) in [
            ("llvm15", "a b c d e f g h i j k feature l m n triple arch"),
            ("llvm16", "a b c d e f g h i j k feature m n l triple arch"),
            ("llvm19", "feature b arch h l f c j d triple n m e g k a i"),
        ] {
            let image = ImageArgument::parse(&text, &Release::named(release).unwrap().packager);
            assert_eq!(image.strings().map(|(key, _)| key).collect::<Vec<_>>().join(" "), expected, "{release}");
        }
    }

    #[test]
    fn packs_one_file_per_image_before_llvm_17() {
        for (release, files) in [("llvm15", &["a,b"][..]), ("llvm16", &["a,b"]), ("llvm17", &["a", "b"])] {
            let image = ImageArgument::parse("file=a,file=b", &Release::named(release).unwrap().packager);
            assert_eq!(image.files().unwrap(), files, "{release}");
        }
    }
}
