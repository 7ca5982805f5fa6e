//! Signatures of zip files outside of their members.

use crate::base::archive::zip::directory::{END, END_SIZE};
use crate::base::bytes::View;

/// End of the block with the signatures of an APK, in front of the central directory.
const BLOCK_END: &[u8] = b"APK Sig Block 42";

/// Returns whether a block with signatures precedes the central directory.
pub fn has_signing_block(view: View<'_>, directory: u64) -> bool {
    view.prefix("zip members", directory).is_ok_and(|members| members.data().ends_with(BLOCK_END))
}

/// Size of the footer at the end of a comment, and the numbers in it: the distance of the signature and the size of the
/// comment, both up to the end of the file, with a mark between them.
const FOOTER_SIZE: u64 = 6;
const SIGNATURE: u64 = 0;
const MARK: u64 = 2;
const COMMENT_SIZE: u64 = 4;

/// Returns whether the comment at the end contains a signature of the whole file.
pub fn has_footer(view: View<'_>, _directory: u64) -> bool {
    has_valid_footer(view).unwrap_or(false)
}

fn has_valid_footer(view: View<'_>) -> Option<bool> {
    let footer = view.from(view.size().checked_sub(FOOTER_SIZE)?);
    let [signature, mark, comment] =
        [SIGNATURE, MARK, COMMENT_SIZE].map(|at| footer.u16("SignApk footer", at).unwrap_or(0));
    let end = view.size().checked_sub(comment.into())?.checked_sub(END_SIZE)?;
    let is_end = view.from(end).starts_with(&END.to_le_bytes());
    Some(is_end && mark == u16::MAX && u64::from(signature) > FOOTER_SIZE && signature <= comment)
}
