//! Symbols of device images. Linkers use them to select members of archives.

use std::path::Path;

use object::read::{File, Object, ObjectSymbol};
use object::{SymbolFlags, elf};

use super::error::Result;
use super::inputs::DeviceInput;
use fatbin_core::base::bytes::ObjectBytes;
use fatbin_core::base::error::Cause;
use fatbin_core::format::bitcode::symbols::{self, GlobalSymbol};
use fatbin_core::format::{DeviceImage, ImageKind};

/// Global symbols of an image; `None` for an image that linkers do not take from archives.
pub fn read(input: &DeviceInput<'_>) -> Result<Option<Vec<GlobalSymbol>>> {
    let view = input.entry.image;
    let path = Path::new(input.file.path());
    match DeviceImage::identify(view).image_kind {
        ImageKind::Bitcode => {
            let symbols = symbols::symbols(view).map_err(|malformed| malformed.in_file(path))?;
            Ok(Some(symbols))
        }
        ImageKind::Elf | ImageKind::HostObject => {
            let file = File::parse(ObjectBytes(view));
            let file =
                file.map_err(|error| view.malformed("device image", 0, Cause::object_file(error)).in_file(path))?;
            Ok(Some(file.symbols().filter(ObjectSymbol::is_global).map(|symbol| of_elf(&symbol)).collect()))
        }
        _ => Ok(None),
    }
}

fn of_elf<'data>(symbol: &impl ObjectSymbol<'data>) -> GlobalSymbol {
    let visibility = match symbol.flags() {
        SymbolFlags::Elf { st_other, .. } => st_other.0 & 3,
        _ => elf::STV_DEFAULT.0,
    };
    GlobalSymbol {
        name: symbol.name().unwrap_or_default().to_owned(),
        is_undefined: symbol.is_undefined(),
        is_weak: symbol.is_weak(),
        is_visible: visibility != elf::STV_HIDDEN.0,
    }
}
