//! Signals that end the program: hidden files are removed first.
//!
//! A signal of the user or of the system ends the process by the same signal, as its parent expects. A mapped input
//! that another process truncates raises SIGBUS on the next access; that is an error like any other, with a line and
//! exit status 2. The handlers use only calls that are safe in a handler (`man 7 signal-safety`).

/// Installs the handlers, for the program: a library must not. If the parent process has a signal ignored, as `nohup`
/// does, it stays ignored. Handlers of rare signals follow before the first output: most runs write none, and each
/// handler costs a system call.
pub fn install() {
    #[cfg(unix)]
    {
        unix::install();
        super::first_output::set_action(unix::install_all);
    }
}

#[cfg(unix)]
mod unix {
    use libc::{SIGBUS, c_int, c_void, sigaction, siginfo_t};
    use std::mem::MaybeUninit;
    use std::ptr;
    use std::sync::OnceLock;

    use crate::base::io::files::hold;
    use crate::base::io::files::hold::Arrival;
    use crate::base::io::files::mapping::MAPPED_FILES;
    use crate::base::io::files::scratch::SCRATCH_DIRECTORIES;
    use crate::base::io::files::temporary::HIDDEN_FILES;

    /// Signals of users and the system that end a program.
    const USUAL: [c_int; 4] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGXFSZ];

    /// The other signals that end a program by default, except SIGKILL, which no program can handle, and those that
    /// report a fault of the program itself.
    const FURTHER: &[c_int] = &[
        libc::SIGQUIT,
        libc::SIGTRAP,
        libc::SIGABRT,
        libc::SIGUSR1,
        libc::SIGUSR2,
        libc::SIGALRM,
        libc::SIGXCPU,
        libc::SIGVTALRM,
        libc::SIGPROF,
        libc::SIGSYS,
        #[cfg(target_os = "linux")]
        libc::SIGSTKFLT,
        #[cfg(target_os = "linux")]
        libc::SIGIO,
        #[cfg(target_os = "linux")]
        libc::SIGPWR,
    ];

    /// Returns [`USUAL`], [`FURTHER`] and the signals for applications.
    fn ending() -> impl Iterator<Item = c_int> {
        #[cfg(target_os = "linux")]
        let for_applications = libc::SIGRTMIN()..=libc::SIGRTMAX();
        #[cfg(not(target_os = "linux"))]
        let for_applications = [];
        USUAL.into_iter().chain(FURTHER.iter().copied()).chain(for_applications)
    }

    /// Exit status of an error.
    const TROUBLE: c_int = 2;

    /// Handler of SIGBUS that the Rust runtime has installed, or the system's.
    static PREVIOUS: OnceLock<sigaction> = OnceLock::new();

    /// Number of milliseconds that a thread with a truncated input waits for the outputs of other threads.
    const PATIENCE: u32 = 5000;

    pub fn install() {
        handle(USUAL);
        if let Some(previous) = current(SIGBUS) {
            let _ = PREVIOUS.set(previous);
            set(SIGBUS, &action(truncated as *const () as usize, libc::SA_SIGINFO));
        }
    }

    pub fn install_all() {
        handle(ending());
        #[cfg(target_os = "linux")]
        ignore_signals_of_the_c_library();
    }

    /// Lets signals end the program after its commits, unless they are ignored.
    fn handle(signals: impl IntoIterator<Item = c_int>) {
        let action = action(end as *const () as usize, 0);
        for signal in signals {
            if current(signal).is_some_and(|action| action.sa_sigaction != libc::SIG_IGN) {
                set(signal, &action);
            }
        }
    }

    /// Ignores the signals that the C library keeps for its threads, which end a process that has no such threads. The
    /// library refuses actions for them, so this asks the system.
    #[cfg(target_os = "linux")]
    fn ignore_signals_of_the_c_library() {
        /// The first one, and the size of a set of signals in bytes.
        const FIRST: c_int = 32;
        const SET_SIZE: usize = 8;
        // The handler comes first; flags, restorer and mask are zero in any order.
        let action = [libc::SIG_IGN, 0, 0, 0, 0];
        for signal in FIRST..libc::SIGRTMIN() {
            // SAFETY: the action is valid, and the system reads no more than it has.
            unsafe {
                libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), ptr::null_mut::<c_void>(), SET_SIZE)
            };
        }
    }

    /// An action that blocks the other signals while the handler runs.
    fn action(handler: usize, flags: c_int) -> sigaction {
        // SAFETY: all fields are integers, sets of bits or optional pointers, and zero is valid for each.
        let mut action: sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = handler;
        action.sa_flags = flags | libc::SA_ONSTACK;
        for signal in ending() {
            // SAFETY: the set is a field of a local variable.
            unsafe { libc::sigaddset(&raw mut action.sa_mask, signal) };
        }
        action
    }

    fn current(signal: c_int) -> Option<sigaction> {
        let mut action = MaybeUninit::zeroed();
        // SAFETY: the call only writes to a local variable, and has initialized it if it succeeds.
        unsafe { (libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) == 0).then(|| action.assume_init()) }
    }

    fn set(signal: c_int, action: &sigaction) {
        // SAFETY: the action is the previous one, or one of this module with a handler of the right type.
        unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
    }

    /// Ends the process by the signal: at once, or when the outputs in a commit have their names.
    extern "C" fn end(signal: c_int) {
        match hold::announce(signal) {
            Arrival::Ends => {}
            Arrival::Ending => wait_for_end(),
            Arrival::Waits => return,
        }
        remove_hidden_files();
        // SAFETY: both calls are safe in a handler. The signal is blocked until the handler returns, and then ends the
        // process.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }

    /// Ends the process with a message if the signal is about a mapped file, and restores the previous handler
    /// otherwise.
    extern "C" fn truncated(signal: c_int, info: *mut siginfo_t, _context: *mut c_void) {
        // Two threads may read the same file.
        wait_for_commits();
        // SAFETY: the system passes a valid pointer to a handler with SA_SIGINFO.
        let (address, is_access) = unsafe { ((*info).si_addr() as usize, (*info).si_code > 0) };
        MAPPED_FILES.take(|file| {
            let is_here = is_access && file.addresses.contains(&address);
            if is_here {
                end_with(&file.message);
            }
            is_here
        });
        if let Some(previous) = PREVIOUS.get() {
            set(signal, previous);
        }
        if !is_access {
            // SAFETY: the call is safe in a handler.
            unsafe { libc::raise(signal) };
        }
    }

    /// Ends the process as an error does.
    fn end_with(message: &str) {
        remove_hidden_files();
        // SAFETY: the bytes are valid for their length, and both calls are safe in a handler. The second does not
        // return.
        unsafe {
            libc::write(libc::STDERR_FILENO, message.as_ptr().cast(), message.len());
            libc::_exit(TROUBLE);
        }
    }

    /// Waits until no output is getting its name, but not forever: this thread may be the one that names it.
    fn wait_for_commits() {
        for _ in 0..PATIENCE {
            match hold::try_end() {
                Arrival::Ends => return,
                Arrival::Ending => wait_for_end(),
                Arrival::Waits => {
                    let pause = libc::timespec { tv_sec: 0, tv_nsec: 1_000_000 };
                    // SAFETY: the pointer is valid, and the call is safe in a handler.
                    unsafe { libc::nanosleep(&raw const pause, ptr::null_mut()) };
                }
            }
        }
    }

    /// Waits until another thread has ended the process.
    fn wait_for_end() -> ! {
        loop {
            // SAFETY: the call is safe in a handler.
            unsafe { libc::pause() };
        }
    }

    fn remove_hidden_files() {
        HIDDEN_FILES.take(|path| {
            // SAFETY: the path ends in NUL, and the call is safe in a handler.
            unsafe { libc::unlink(path.as_ptr()) };
            false
        });
        SCRATCH_DIRECTORIES.take(|path| {
            // SAFETY: the path ends in NUL, and the call is safe in a handler.
            unsafe { libc::rmdir(path.as_ptr()) };
            false
        });
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Command, Output};

    use crate::base::io::files::temporary::Temporary;
    use crate::base::io::{Input, MAPPED};

    const DIRECTORY: &str = "FATBIN_TEST_SIGNALS_DIRECTORY";

    /// Runs a test of this module again in a separate process, with a directory.
    fn child(test: &str, directory: &Path) -> Output {
        let name = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([&name, "--exact", "--nocapture"]).env(DIRECTORY, directory).output().unwrap()
    }

    #[test]
    fn a_signal_removes_hidden_files_and_ends_the_process() {
        if let Some(directory) = std::env::var_os(DIRECTORY) {
            super::install();
            let _kept = [(); 3].map(|()| Temporary::create_named(Path::new(&directory)).unwrap());
            let dropped = Temporary::create_named(Path::new(&directory)).unwrap();
            drop(dropped);
            assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 3);
            // SAFETY: the call has no requirements.
            unsafe { libc::raise(libc::SIGTERM) };
            unreachable!("ended by the signal");
        }
        let directory = tempfile::tempdir().unwrap();
        let output = child("a_signal_removes_hidden_files_and_ends_the_process", directory.path());
        assert_eq!(output.status.signal(), Some(libc::SIGTERM), "{output:?}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_truncated_input_is_an_error_that_removes_hidden_files() {
        if let Some(directory) = std::env::var_os(DIRECTORY) {
            super::install();
            let directory = Path::new(&directory);
            let path = directory.join("in\u{1b}put");
            std::fs::write(&path, [1; 1 << 16]).unwrap();
            let other = directory.join("other");
            std::fs::write(&other, [1; 1 << 16]).unwrap();
            let inputs = [&other, &path].map(|path| Input::open(path, MAPPED).unwrap());
            let _kept = Temporary::create_named(directory).unwrap();
            std::fs::File::options().write(true).open(&path).unwrap().set_len(0).unwrap();
            let read = || inputs[1].view().data().iter().map(|&byte| u64::from(byte)).sum::<u64>();
            std::thread::scope(|scope| [(); 8].map(|()| scope.spawn(read)).map(|it| it.join().unwrap()));
            unreachable!("ended by the first access");
        }
        let directory = tempfile::tempdir().unwrap();
        let output = child("a_truncated_input_is_an_error_that_removes_hidden_files", directory.path());
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let expected =
            format!("fatbin: {}/in\\u{{1b}}put: truncated while it was being read\n", directory.path().display());
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.ends_with(&expected), "{err}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
