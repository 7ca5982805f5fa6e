//! Files of code, by their first bytes: what a command that writes code may replace without being asked.

use object::read::FileKind;

use super::bundle::{self, text};
use super::{DeviceImage, ImageKind, bitcode, recognize};
use crate::base::archive::ArchiveFormat;
use crate::base::bytes::View;

/// Starts of LLVM IR as text.
const IR: [&[u8]; 4] = [b"; ModuleID", b"source_filename", b"target ", b"@"];

/// Returns whether a file is an object, an archive, a program, a container of device code, or code for a compiler; an
/// empty file is.
pub fn is_code_file(view: View<'_>) -> bool {
    let is_text_bundle = || {
        // The first line is empty.
        let line = view.data().trim_ascii_start().split(|&byte| byte == b'\n').next().unwrap_or_default();
        let after = bundle::COMMENTS.iter().find_map(|comment| line.strip_prefix(comment.as_bytes()));
        after.is_some_and(|rest| rest.trim_ascii_start().starts_with(text::MARK))
    };
    view.size() == 0
        || FileKind::parse(view.data()).is_ok()
        || ArchiveFormat::of(view).is_some_and(ArchiveFormat::is_library)
        || recognize::of_magic(view).is_some()
        || bitcode::is_bitcode(view)
        || DeviceImage::identify(view).image_kind != ImageKind::Unknown
        || IR.iter().any(|start| view.starts_with(start))
        || is_text_bundle()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_other_files() {
        let is_code = |bytes: &[u8]| is_code_file(View::new(bytes));
        let mut coff = vec![0; 64];
        coff[..2].copy_from_slice(&0x8664_u16.to_le_bytes());
        for code in [
            &b""[..],
            b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0",
            b"!<arch>\n",
            &coff,
            b"\x10\xff\x10\xad\x01\0\0\0",
            b"__CLANG_OFFLOAD_BUNDLE__\0\0\0\0",
            b"\n# __CLANG_OFFLOAD_BUNDLE____START__ host-x86_64-unknown-linux-gnu-\n",
            b"CCOB\x02\0\x01\0",
            b"BC\xc0\xde",
            b"source_filename = \"offload.wrapper.module\"\n",
        ] {
            assert!(is_code(code), "{code:?}");
        }
        for other in [&b"keep\n"[..], b"int main(void) {}\n", b"{}", b"\x89PNG\r\n\x1a\n", b"# Title\n"] {
            assert!(!is_code(other), "{other:?}");
        }
    }
}
