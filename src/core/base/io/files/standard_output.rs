//! Detection of a closed standard output.
//!
//! The Rust runtime replaces closed standard streams by `/dev/null` before `main`, and then ignores errors of closed
//! ones. The check must therefore run before the runtime starts.

use std::io;
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Fails if standard output was closed, or not open for writing, when the process started.
pub fn check() -> io::Result<()> {
    #[cfg(unix)]
    if IS_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    Ok(())
}

/// Called by the loader before the Rust runtime is initialized. Miri has no such call.
#[cfg(all(any(target_os = "linux", target_os = "macos"), not(miri)))]
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
static LOOK: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: the call has no requirements.
        let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFL) };
        IS_CLOSED.store(flags == -1 || flags & libc::O_ACCMODE == libc::O_RDONLY, Ordering::Relaxed);
    }
    look
};
