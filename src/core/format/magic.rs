//! The magic that begins a container.

use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};

/// Returns an error about `field` unless a view begins with this magic. `expected` is the magic in messages.
#[inline]
pub fn check_magic(
    view: View<'_>,
    magic: [u8; 4],
    field: &'static str,
    expected: &'static str,
) -> Result<(), Malformed> {
    let value = view.u32(field, 0)?;
    if value == u32::from_le_bytes(magic) {
        return Ok(());
    }
    Err(view.malformed(field, 0, Cause::Unexpected { value: value.into(), expected }))
}
