//! `--id-style`, and the warning about IDs that no runtime finds.

use super::session::Session;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use fatbin_core::target::{BundleEntryId, IdStyle, OffloadKind, subarch};

/// Returns the parser of `--id-style`.
pub fn id_style() -> impl TypedValueParser<Value = IdStyle> {
    PossibleValuesParser::new(IdStyle::ALL.map(IdStyle::name))
        .map(|name| IdStyle::from_name(&name).expect("one of the names"))
}

/// Prints a warning if HIP's runtime does not find a new entry with this ID because of its spelling.
pub fn warn_of_hidden_id(id: &str, session: &Session) {
    let is_hidden = |id: BundleEntryId<'_>| id.kind == OffloadKind::Hip && subarch::is_spelled_amdgpu(id.triple);
    if BundleEntryId::parse(id).is_some_and(is_hidden) {
        session.print_warning(&format!(
            "{id}: no HIP runtime finds this entry; use --id-style {}",
            IdStyle::Legacy.name()
        ));
    }
}
