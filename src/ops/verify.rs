//! `verify`: every device image is decompressed and looked into, to find what is not whole.

use super::inspect::{problem, with_bytes};
use super::scanned::Scanned;
use crate::codec::Codec;
use crate::error::{Error, Malformed, Result};
use crate::format::{self, ImageKind};
use crate::inspect;
use crate::inventory::Image;
use crate::scan::{Itself, Options};

/// What is wrong with the device images of a file that was scanned with these options. What is wrong with its containers,
/// stored hashes among them, scanning has told.
pub fn verify(scanned: &Scanned, options: Options) -> Result<Vec<Error>> {
    let path = &scanned.file.path;
    let mut wrong = Vec::new();
    scanned.reopen(options, &|_| true, &mut |number, image, itself| {
        let unlike = |why| Error::NotAsStated { path: path.into(), number, why };
        wrong.extend(contradiction(image).map(unlike));
        match itself.codec {
            Some(Codec::Opaque) => wrong.push(unlike("is stored in a way that is not known".to_owned())),
            _ => wrong
                .extend(inside(itself, options).into_iter().map(|malformed| problem(path, number, image, malformed))),
        }
        Ok(())
    })?;
    Ok(wrong)
}

/// That an image is for something else than its container says.
fn contradiction(image: &Image) -> Option<String> {
    let own = image.own_arch.as_ref()?;
    Some(format!("its container says {}, its own header {own}", image.arch.as_deref().unwrap_or_default()))
}

/// What is wrong with the bytes of an image, once decompressed.
fn inside(image: &mut Itself<'_, '_>, options: Options) -> Vec<Malformed> {
    let kind = image.image_kind;
    let looked = with_bytes(image, options, |view| match format::check_elf(view) {
        Err(cut) if kind == ImageKind::Elf => vec![cut],
        _ => inspect::inspect(kind, view, options.limit).problems,
    });
    looked.unwrap_or_else(|problem| vec![problem])
}
