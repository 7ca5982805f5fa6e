//! Files of many code objects that libraries of ROCm load from disk, as archives of them.
//!
//! | file | library | contents |
//! |---|---|---|
//! | `.aks2` | AOTriton | a directory and code objects in one xz stream |
//! | `.kdb` | MIOpen | an SQLite database with a code object in each row |

mod aks2;
mod database;
mod sqlite;
#[cfg(test)]
mod tests;

use crate::base::archive::{Member, MemberContent, Members, Unpack};
use crate::base::bytes::{Resource, View, record_memory};
use crate::base::error::Malformed;

/// Returns the code objects in a file of these kinds, as members of an archive; `None` for other files.
pub fn members(view: View<'_>) -> Option<Members<'_>> {
    let mut members = Vec::new();
    let read = if aks2::is_aks2(view) {
        aks2::members(view, &mut members)
    } else {
        database::Database::find(view)?.members(&mut members)
    };
    Some(Members { members, defect: read.err() })
}

/// Returns whether a file is of these kinds.
pub fn is_store(view: View<'_>) -> bool {
    aks2::is_aks2(view) || database::Database::find(view).is_some()
}

/// Charges the name of a member.
fn charge_name(view: View<'_>, name: &str) -> Result<(), Malformed> {
    view.charge("archive member name", Resource::Memory, record_memory(size_of::<Member<'_>>(), [name.len()]))
}

fn packed(name: Option<String>, unpack: Unpack<'_>) -> Member<'_> {
    Member::new(name, MemberContent::Packed(unpack))
}
