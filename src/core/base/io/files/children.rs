//! Processes that this one starts.

use std::process::Command;

/// Ends the process of a command when the thread that starts it ends, even if SIGKILL ends this process: a linker must
/// not go on writing an output that is no longer needed. Only Linux supports this; on other systems, the process goes on.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables))]
pub fn ends_with_parent(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt;

        let parent = std::process::id();
        // SAFETY: between fork and exec, the closure makes two system calls that are safe in a signal handler. It
        // allocates nothing: an error from a kind owns no memory.
        unsafe {
            command.pre_exec(move || {
                let requested = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) == 0;
                // The parent may have ended before the request.
                let has_parent = u32::try_from(libc::getppid()).is_ok_and(|now| now == parent);
                if requested && has_parent { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
            });
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::process::Stdio;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_process_ends_with_the_thread_that_started_it() {
        let start = || {
            let mut command = Command::new("sleep");
            ends_with_parent(&mut command);
            command.arg("600").stdin(Stdio::null()).spawn().unwrap()
        };
        let mut child = std::thread::spawn(start).join().unwrap();
        let status = (0..3000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            child.try_wait().unwrap()
        });
        assert!(status.is_some_and(|status| !status.success()), "{status:?}");
    }
}
