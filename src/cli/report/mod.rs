//! Reports: inventories, inspections, selections, differences and verdicts as tables, pages, JSON and other formats.

mod device_verdict;
mod diagnosis;
mod difference;
mod edit;
mod edited;
mod extraction;
mod file_totals;
mod findings;
mod inspection;
mod json;
mod json_line;
mod link;
mod location;
mod metadata;
mod not_judged;
mod nothing;
mod overview;
mod page;
mod proof;
mod repair;
mod requires;
mod schemas;
mod screen;
mod selection;
mod size;
mod split;
mod style;
mod table;
mod text;
mod verdict;
mod verified;

pub use diagnosis::{diagnosis_json, diagnosis_text};
pub use difference::{Detail, Differences, differences_json, differences_table, lost_text};
pub use edit::{
    edit_loss, edit_losses_of_links, edit_sizes, edit_table, keeps_size, replaced, signature_renewed, stripped,
    transcoded,
};
pub use edited::{Change, ChangedFile, edit_json};
pub use extraction::{ExtractedImage, Index};
pub use file_totals::FileTotals;
pub use inspection::{
    InspectionDocument, coverage_json, coverage_rollup, coverage_table, family_table, image_json, inspection_rollup,
    inspection_table, lto_ir_line, metadata_lines, without_images,
};
pub use json::{ScanDocument, json, json_line};
pub use link::{link_json, link_text, unused};
pub use location::{LocationDocument, location_text};
pub use metadata::{FileCode, conda_json, hugging_face_json, metadata_json, wheel_variant_json};
pub use not_judged::not_judged;
use not_judged::write_not_judged;
pub use nothing::Nothing;
pub use overview::{Overview, needs, overview_text};
pub use page::Page;
pub use proof::{PROOF_SCHEMA, ProvenFile, proof_json};
pub use repair::{CheckedRecord, Repair, repair_json, repair_text};
pub use requires::{RequiredDevice, RequiredFile, required_json, requires_document, requires_text, unread_json};
pub use schemas::{SCHEMAS, schema};
pub use screen::Screen;
pub use selection::{
    KernelGap, selection_gaps, selection_json, selection_lists, selection_summary, selection_total, set_json, set_text,
    to_be_linked,
};
pub use size::{SizeReport, SizedFile, SizedFiles, arch_summary, size_csv, size_json, size_table};
pub use split::split_text;
pub use style::Meaning;
pub use table::{table, table_without_images, verified_text};
pub use text::{Block, JoinedBlocks, blocks, counted};
pub use verdict::{
    CodeSizes, Components, verdict_cyclonedx, verdict_github, verdict_gitlab, verdict_junit, verdict_markdown,
    verdict_sarif, verdict_text,
};
pub use verified::{VerifiedFile, verify_json};
