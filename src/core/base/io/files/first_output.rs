//! What the program does before its first output.

use std::sync::{Once, OnceLock};

static ACTION: OnceLock<fn()> = OnceLock::new();

/// Sets what is done once, before the first output is written.
pub fn set_action(action: fn()) {
    let _ = ACTION.set(action);
}

/// Announces an output.
pub fn prepare() {
    static PREPARED: Once = Once::new();
    if let Some(action) = ACTION.get() {
        PREPARED.call_once(action);
    }
}
