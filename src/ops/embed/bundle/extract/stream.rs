//! Parts of a compressed bundle, written while it is decompressed.

use std::ops::Range;
use std::path::Path;

use fatbin_core::base::error::Error;
use fatbin_core::format::ccob::{Ccob, Failure};

/// Consumer of the pieces for a recipient.
type Consume<'a, T> = dyn FnMut(&mut T, &[u8]) -> Result<(), Error> + 'a;

/// Calls `consume` with the pieces of parts of the decompressed bundle as they are produced, and with the recipient of
/// the part. The whole bundle is decompressed, because only that verifies it.
pub fn each_piece_of<T>(
    ccob: &Ccob,
    path: &Path,
    mut parts: Vec<(Range<u64>, T)>,
    consume: &mut Consume<'_, T>,
    moved: &mut dyn FnMut(u64),
) -> Result<(), Error> {
    let mut at = 0;
    let result = ccob.each_piece(|piece| {
        let end = at + piece.len() as u64;
        for (range, recipient) in &mut parts {
            let from = range.start.clamp(at, end);
            let to = range.end.clamp(at, end);
            if from < to {
                consume(recipient, &piece[(from - at) as usize..(to - at) as usize])?;
            }
        }
        at = end;
        moved(piece.len() as u64);
        Ok(())
    });
    result.map_err(|failure| match failure {
        Failure::Malformed(malformed) => malformed.in_file(path),
        Failure::Consumer(error) => error,
    })
}
