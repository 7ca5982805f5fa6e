//! `decompressed`: compressed bundles taken out and thrown away, to verify and to time them.

use std::convert::Infallible;
use std::time::Instant;

use super::bundle::Figures;
use crate::error::Result;
use crate::format::ccob::{self, Ccob, Failure};
use crate::io::Input;

/// The figures of each of the compressed bundles that a file begins with; none where it begins with something else.
pub fn decompressed(input: &Input) -> Result<Vec<Figures>> {
    let mut all = Vec::new();
    let mut view = input.view();
    while view.starts_with(&ccob::MAGIC) {
        let start = Instant::now();
        let ccob = Ccob::read(view).map_err(|malformed| malformed.in_file(input.path()))?;
        ccob.each_piece(|_| Ok::<(), Infallible>(())).map_err(|failure| match failure {
            Failure::Malformed(malformed) => malformed.in_file(input.path()),
            Failure::Taker(never) => match never {},
        })?;
        all.push(Figures::restored(&ccob, start.elapsed()));
        view = view.from(ccob.view.size());
        let padding = view.data().iter().take_while(|&&byte| byte == 0).count();
        view = view.from(padding as u64);
    }
    Ok(all)
}
