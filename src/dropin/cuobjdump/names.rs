//! Names of the files that cuobjdump lists and extracts.

use fatbin_core::base::io::OutputName;

/// Source of code sections of containers without an identifier.
const NO_SOURCE: &[u8] = b"x";

/// End of the name of a code section.
const CODE_EXTENSION: &str = ".elf.bin";

/// Maximum length in bytes of a code section's name that has the source and the function: the longest name of a file.
/// The tool counts the source with its directories.
const LONGEST: usize = 255;

/// Number of bytes that longer names keep of the source and of the function.
const SHORT: usize = 8;

/// Name of a file without directories and extension, with `-` in place of blanks.
pub fn stem(path: &[u8]) -> Vec<u8> {
    let end = path.iter().position(|&byte| byte == 0).unwrap_or(path.len());
    let name = path[..end].rsplit(|&byte| std::path::is_separator(byte.into())).next().unwrap_or_default();
    let stem = name.iter().rposition(|&byte| byte == b'.').map_or(name, |dot| &name[..dot]);
    stem.iter().map(|&byte| if byte == b' ' { b'-' } else { byte }).collect()
}

/// Name of an image: `STEM.NUMBER.ARCH.EXTENSION`. An image with an identifier has no number.
pub fn image(stem: &[u8], number: Option<usize>, arch: &str, extension: &str) -> OutputName {
    let number = number.map(|number| format!(".{number}")).unwrap_or_default();
    OutputName::of_bytes(&[stem, format!("{number}.{arch}.{extension}").as_bytes()].concat())
}

/// Name of a code section. `source` is the identifier of the container, or the path of a cubin without one.
pub fn code_section(source: Option<&[u8]>, function: &str, number: usize, arch: &str) -> OutputName {
    let source = source.unwrap_or(NO_SOURCE);
    let function = function.as_bytes();
    let end = format!(".{arch}{CODE_EXTENSION}");
    let (source, function) = if source.len() + "-".len() + function.len() + end.len() > LONGEST {
        let short = |text: &[u8]| text[..text.len().min(SHORT)].to_vec();
        (short(source), [short(function), format!("-{number}").into_bytes()].concat())
    } else {
        (source.to_vec(), function.to_vec())
    };
    let mut name = stem(&source);
    if !name.is_empty() {
        name.push(b'-');
    }
    OutputName::of_bytes(&[&name[..], &function, end.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems_have_no_directories_and_no_extension() {
        let cases = [
            ("foo", "foo"),
            ("/a/b/", ""),
            ("a.b.c", "a.b"),
            (".hidden", ""),
            ("d.x/foo.cu", "foo"),
            ("a/..", "."),
            ("a\\b.cu", if cfg!(windows) { "b" } else { "a\\b" }),
            ("sp ace.cu", "sp-ace"),
            ("a\0b.cu", "a"),
        ];
        for (path, expected) in cases {
            assert_eq!(String::from_utf8(stem(path.as_bytes())).unwrap(), expected, "{path:?}");
        }
    }

    #[test]
    fn images_have_a_number_unless_they_have_an_identifier() {
        assert_eq!(image(b"lib", Some(3), "sm_90a", "cubin").to_string(), "lib.3.sm_90a.cubin");
        assert_eq!(image(b"foo", None, "sm_90", "ptx").to_string(), "foo.sm_90.ptx");
    }

    /// Names that cuobjdump 13.5 prints for functions of 60 to 299 bytes.
    #[test]
    fn long_names_of_functions_are_shortened() {
        assert_eq!(code_section(None, "k", 1, "sm_75").to_string(), "x-k.sm_75.elf.bin");
        assert_eq!(code_section(Some(b"src/.cu"), "k", 1, "sm_75").to_string(), "k.sm_75.elf.bin");
        assert_eq!(code_section(Some(b"src/foo.cu"), "k", 1, "sm_75").to_string(), "foo-k.sm_75.elf.bin");
        assert_eq!(code_section(None, &"k".repeat(239), 1, "sm_75").to_string().len(), 255);
        assert_eq!(code_section(None, &"k".repeat(240), 7, "sm_75").to_string(), "x-kkkkkkkk-7.sm_75.elf.bin");
        assert_eq!(code_section(None, &"k".repeat(238), 1, "sm_100").to_string().len(), 255);
        assert_eq!(code_section(None, &"k".repeat(239), 2, "sm_100").to_string(), "x-kkkkkkkk-2.sm_100.elf.bin");
        assert_eq!(code_section(None, &"k".repeat(238), 2, "sm_103a").to_string(), "x-kkkkkkkk-2.sm_103a.elf.bin");
        let long = code_section(Some(b"abcdefghij.cu"), &"k".repeat(228), 2, "sm_75");
        assert_eq!(long.to_string(), "abcdefgh-kkkkkkkk-2.sm_75.elf.bin");
        assert_eq!(
            code_section(Some(b"/tmp/h/c/a.cubin"), &"k".repeat(225), 1, "sm_75").to_string(),
            "c-kkkkkkkk-1.sm_75.elf.bin"
        );
    }
}
