//! Inventories as text: for people as a table, for programs as JSON. Where an inventory came from is not known here.

mod json;
mod table;

pub use json::{json, json_line};
pub use table::table;
