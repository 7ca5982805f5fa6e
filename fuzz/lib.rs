//! Shared by the targets: properties that hold for arbitrary bytes, and bounds on what an input may cost.

mod bounds;
mod buffer;
mod properties;

pub use bounds::bounded;
pub use buffer::Bounded;
pub use properties::{budget, budget_for, check_container, check_disjoint_images, check_text, check_view};

/// Defines a target, whose memory and time are bounded by the size of its input.
#[macro_export]
macro_rules! fuzz_target {
    (|$data:ident: &[u8]| $body:block) => {
        ::libfuzzer_sys::fuzz_target!(|$data: &[u8]| { $crate::bounded($data.len(), || $body) });
    };
}
