//! Faults of the machine: inputs that change, signals, outputs that cannot be completed, few descriptors.
//!
//! No test depends on a moment: the program waits for standard input or for a FIFO while the test acts, and the test waits
//! for a state of the program that it reads from `/proc`.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::command::command;
use crate::{Run, Sandbox, fixture};

pub const HOST: &str = "host-x86_64-unknown-linux-gnu-";
pub const ONE: &str = "hipv4-amdgcn-amd-amdhsa--gfx906";
const TWO: &str = "hipv4-amdgcn-amd-amdhsa--gfx90a";

/// Size of a payload, in bytes: more than pipes hold.
const LARGE: usize = 1 << 20;

/// A program that is running in a sandbox.
struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
}

/// Gives a program the default actions of signals, which `nohup` and some runners of builds set to be ignored.
fn restore_signals(command: &mut Command) {
    let restore = || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGPIPE, libc::SIGXFSZ] {
            // SAFETY: the default action of a signal is valid.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
        Ok(())
    };
    // SAFETY: the function makes only calls that are safe after `fork`.
    unsafe { command.pre_exec(restore) };
}

impl Running {
    fn start(command: &mut Command) -> Running {
        restore_signals(command);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take();
        Running { child, stdin }
    }

    /// Waits until one of the program's open files has a path that `is_wanted` accepts.
    fn wait_for_file(&self, is_wanted: impl Fn(&str) -> bool) {
        let directory = format!("/proc/{}/fd", self.child.id());
        self.wait_until(|| {
            let files = std::fs::read_dir(&directory).unwrap();
            files.flatten().any(|file| std::fs::read_link(file.path()).is_ok_and(|to| is_wanted(&to.to_string_lossy())))
        });
    }

    /// Waits until the program waits in a system call for reading or opening a file.
    fn wait_until_blocked(&self) {
        let status = format!("/proc/{}/stat", self.child.id());
        self.wait_until(|| {
            let text = std::fs::read_to_string(&status).unwrap();
            text.rsplit(')').next().unwrap().trim_start().starts_with('S')
        });
    }

    fn wait_until(&self, is_reached: impl Fn() -> bool) {
        let start = Instant::now();
        while !is_reached() {
            // Only a program that never gets there fails by time.
            assert!(start.elapsed() < Duration::from_secs(60), "never reached");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(command("kill").args(["-s", signal, &id]).status().unwrap().success());
    }

    /// Ends standard input, and waits for the end of the program.
    fn finish(self) -> Output {
        drop(self.stdin);
        self.child.wait_with_output().unwrap()
    }
}

fn fatbin(sandbox: &Sandbox, arguments: &str) -> Command {
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
    command.args(arguments.split_whitespace());
    command
}

/// Checks that a run was refused with one line, and returns the line.
fn refused(output: &Output) -> String {
    let err = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!((output.status.code(), err.lines().count()), (Some(2), 1), "{output:?}");
    err.trim_end().to_owned()
}

/// Returns a sandbox with bundles of two large files, plain as `b` and compressed as `z`.
pub fn bundles() -> Sandbox {
    let sandbox = Sandbox::new();
    let noise: Vec<u8> = (0..LARGE as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    sandbox.file("one", &noise).file("two", [&noise[1..], b"2"].concat()).file("host", "host");
    let targets = format!("--target {HOST}=host --target {ONE}=one --target {TWO}=two");
    sandbox.fatbin(&format!("bundle --raw --type bc {targets} -o b")).ok();
    sandbox.fatbin(&format!("bundle --raw --type bc --compress {targets} -o z")).ok();
    sandbox
}

pub fn make_fifo(sandbox: &Sandbox, name: &str) {
    assert!(sandbox.command("mkfifo").arg(name).status().unwrap().success());
}

/// Starts a command whose first input is `image`, and changes this file while the program waits for the second one, which
/// is standard input.
fn with_change(sandbox: &Sandbox, arguments: &str, change: impl FnOnce(&Path)) -> Output {
    let running = Running::start(&mut fatbin(sandbox, arguments));
    let image = sandbox.path("image").canonicalize().unwrap();
    // The image is mapped, and the temporary file for standard input exists.
    running.wait_for_file(|path| Path::new(path) == image);
    running.wait_for_file(|path| path.contains("/#") || path.ends_with("(deleted)"));
    change(&image);
    let mut running = running;
    running.stdin.as_mut().unwrap().write_all(&fixture("answer-gfx90a.hsaco")).unwrap();
    running.finish()
}

/// Commands that read `image` and standard input, and write `out`.
fn two_inputs() -> [String; 3] {
    let pack = "pack -o out --image file=image,kind=hip --image file=-,kind=hip".to_owned();
    let targets = format!("--target {HOST}=image --target {ONE}=-");
    [
        pack,
        format!("bundle --raw --type bc -o out {targets}"),
        format!("bundle --raw --type bc --compress -o out {targets}"),
    ]
}

#[test]
fn an_input_that_is_truncated_is_an_error_and_leaves_nothing() {
    for command in two_inputs() {
        for is_update in [false, true] {
            let sandbox = Sandbox::new();
            let image = [fixture("answer-gfx90a.hsaco"), vec![7; LARGE]].concat();
            sandbox.file("image", image);
            if is_update {
                sandbox.file("out", "\x7fELF, old");
            }
            let output = with_change(&sandbox, &command, |path| {
                File::options().write(true).open(path).unwrap().set_len(10).unwrap();
            });
            let err = refused(&output);
            assert!(err.starts_with("fatbin: image: truncated while it was being read"), "{command}: {err}");
            assert_eq!(sandbox.names(), if is_update { vec!["image", "out"] } else { vec!["image"] }, "{command}");
            assert!(!is_update || sandbox.read("out") == b"\x7fELF, old");
        }
    }
}

#[test]
fn an_input_that_grows_or_is_overwritten_is_an_error_and_leaves_nothing() {
    let grow = |path: &Path| File::options().append(true).open(path).unwrap().write_all(b"more").unwrap();
    // The same size, but a different time.
    let overwrite = |path: &Path| {
        let mut file = File::options().write(true).open(path).unwrap();
        file.write_all(&fixture("answer-gfx90a-xnack+.hsaco")[..64]).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    };
    for command in two_inputs() {
        for change in [&grow as &dyn Fn(&Path), &overwrite] {
            let sandbox = Sandbox::new();
            sandbox.fixture("answer-gfx90a.hsaco", "image").file("out", "\x7fELF, old");
            let err = refused(&with_change(&sandbox, &command, change));
            assert_eq!(err, "fatbin: image: changed while it was being read", "{command}");
            assert_eq!(
                (sandbox.names(), sandbox.read("out")),
                (vec!["image".into(), "out".into()], b"\x7fELF, old".to_vec())
            );
        }
    }
}

#[test]
fn an_input_that_is_linked_or_replaced_is_unchanged() {
    for command in two_inputs() {
        for is_replaced in [false, true] {
            let sandbox = Sandbox::new();
            sandbox.fixture("answer-gfx90a.hsaco", "image").file("other", "another file");
            let output = with_change(&sandbox, &command, |path| {
                if is_replaced {
                    std::fs::rename(sandbox.path("other"), path).unwrap();
                } else {
                    std::fs::hard_link(path, sandbox.path("link")).unwrap();
                }
            });
            assert!(output.status.success(), "{command}: {output:?}");
        }
    }
}

/// Starts an `unbundle` that has the temporary file of `out` and waits for a reader of a FIFO.
fn blocked_unbundle(sandbox: &Sandbox) -> Running {
    make_fifo(sandbox, "fifo");
    let running = Running::start(&mut fatbin(sandbox, &format!("unbundle --target {ONE}=out --target {TWO}=fifo b")));
    let directory = sandbox.directory.path().canonicalize().unwrap();
    let directory = format!("{}/", directory.display());
    // A file without a name is listed by its number.
    let is_temporary = |path: &str| path.strip_prefix(&directory).is_some_and(|it| it.starts_with(['#', '.']));
    running.wait_for_file(is_temporary);
    running.wait_until_blocked();
    running
}

#[test]
fn a_signal_ends_the_program_and_leaves_nothing() {
    for (name, number) in [("HUP", 1), ("INT", 2), ("TERM", 15), ("KILL", 9)] {
        let sandbox = bundles();
        sandbox.file("out", "\x7fELF, old");
        let before = sandbox.names();
        let running = blocked_unbundle(&sandbox);
        running.signal(name);
        let output = running.finish();
        assert_eq!(output.status.signal(), Some(number), "{output:?}");
        assert_eq!(sandbox.read("out"), b"\x7fELF, old");
        std::fs::remove_file(sandbox.path("fifo")).unwrap();
        assert_eq!(sandbox.names(), before, "{name}");
    }
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let sandbox = bundles();
    make_fifo(&sandbox, "fifo");
    let script = format!("trap '' HUP; exec fatbin unbundle --target {ONE}=fifo b");
    let mut command = sandbox.command("sh");
    let running = Running::start(command.args(["-c", &script]).env("PATH", crate::path_with_program()));
    running.wait_for_file(|path| path.ends_with("/b"));
    running.wait_until_blocked();
    running.signal("HUP");
    let mut bytes = Vec::new();
    File::open(sandbox.path("fifo")).unwrap().read_to_end(&mut bytes).unwrap();
    assert!(running.finish().status.success() && bytes == sandbox.read("one"));
}

#[test]
fn a_file_size_limit_ends_the_program_and_leaves_nothing() {
    const SIGXFSZ: i32 = 25;
    let sandbox = bundles();
    sandbox.file("out", "\x7fELF, old");
    let before = sandbox.names();
    let script = format!("ulimit -c 0; ulimit -f 100; exec fatbin unbundle --target {ONE}=out b");
    let mut command = sandbox.command("sh");
    restore_signals(&mut command);
    let output = command.args(["-c", &script]).env("PATH", crate::path_with_program()).output().unwrap();
    assert_eq!(output.status.signal(), Some(SIGXFSZ), "{output:?}");
    assert_eq!((sandbox.names(), sandbox.read("out")), (before, b"\x7fELF, old".to_vec()));
}

#[test]
fn a_reader_that_goes_away_takes_back_the_other_output() {
    for old in [None, Some("\x7fELF, old")] {
        for is_linked in [false, true] {
            let sandbox = bundles();
            if let Some(old) = old {
                sandbox.file("out", old);
            }
            if is_linked && old.is_some() {
                std::fs::hard_link(sandbox.path("out"), sandbox.path("link")).unwrap();
            }
            let before = sandbox.names();
            let running = blocked_unbundle(&sandbox);
            drop(File::open(sandbox.path("fifo")).unwrap());
            let err = refused(&running.finish());
            assert_eq!(err, "fatbin: fifo: cannot write: broken pipe");
            std::fs::remove_file(sandbox.path("fifo")).unwrap();
            assert_eq!(sandbox.names(), before);
            for name in ["out", "link"].iter().filter(|name| sandbox.path(name).exists()) {
                assert_eq!(sandbox.read(name), b"\x7fELF, old", "{name}");
            }
        }
    }
}

#[test]
fn standard_output_gets_nothing_of_a_bundle_with_a_wrong_hash() {
    let sandbox = bundles();
    let mut bytes = sandbox.read("z");
    // The hash is the last field of the header of version 3, and the second last of version 2.
    bytes[24] ^= 1;
    sandbox.file("z", bytes).file("out", "\x7fELF, old");
    for output in ["-", "/dev/stdout", "out"] {
        let run = sandbox.fatbin(&format!("unbundle --target {ONE}={output} z"));
        assert_eq!((run.status, run.out.as_str(), run.err.lines().count()), (2, "", 1), "{}", run.err);
        assert!(run.err.contains("hash"), "{}", run.err);
    }
    assert_eq!(sandbox.read("out"), b"\x7fELF, old");
}

#[test]
fn closed_and_full_standard_output_is_an_error_of_every_command() {
    let sandbox = bundles();
    sandbox.fixture("answer-gfx90a.hsaco", "image");
    let commands = [
        "scan image",
        "scan --json image",
        "scan --ndjson image",
        "inspect image",
        "inspect --json image",
        "verify image",
        "list b",
        "extract image -o x",
        "extract --to - image",
        "check --init image",
        "lock -o - image",
        "diff image image",
        "diff image b",
        "select --device gfx90a image",
        "schema scan",
        "man",
        "completions bash",
        "install-links links",
        "pack -o - --image file=image,kind=hip",
        "--help",
        "--version",
        "scan --help",
    ];
    for command in commands {
        let open = sandbox.shell(&format!("fatbin {command} >out"));
        assert!(open.status <= 1, "{command}: {}", open.err);
        for (to, cause) in
            [(">&-", "bad file descriptor"), ("1</dev/null", "bad file descriptor"), (">/dev/full", "no space left")]
        {
            if to == ">/dev/full" && sandbox.read("out").is_empty() {
                continue;
            }
            let Run { status, out, err } = sandbox.shell(&format!("fatbin {command} {to}"));
            let expected = format!("fatbin: standard output: cannot write: {cause}");
            assert_eq!((status, out.as_str(), err.lines().count()), (2, "", 1), "{command} {to}: {err}");
            assert!(err.starts_with(&expected), "{command} {to}: {err}");
        }
    }
}

/// The next file would get the descriptor of a closed stream, and a message could be written to it.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_stream_is_an_empty_device() {
    for stream in ["0", "2"] {
        let run = Sandbox::new().shell(&format!("fatbin list /proc/self/fd/{stream} {stream}>&-"));
        assert_eq!((run.status, run.out.as_str()), (1, ""), "{}", run.err);
    }
}

#[test]
fn a_closed_pipe_is_quiet() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "image");
    for command in ["scan image", "schema scan", "man"] {
        let script = format!("mkfifo p; (fatbin {command} >p) & exec 3<p; exec 3<&-; wait; rm p");
        assert_eq!(sandbox.shell(&script).err, "", "{command}");
    }
}

#[test]
fn opens_more_compressed_members_than_descriptors() {
    let sandbox = Sandbox::new();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for number in 0..100 {
        zip.start_file(format!("{number}.cubin"), options).unwrap();
        zip.write_all(&fixture("answer-sm_90.cubin")).unwrap();
    }
    sandbox.file("package.whl", zip.finish().unwrap().into_inner());
    let run = sandbox
        .shell("ulimit -n 24; fatbin scan --ndjson package.whl | wc -l; fatbin extract package.whl -o x | wc -l");
    assert_eq!((run.out.split_whitespace().collect::<Vec<_>>(), run.err.as_str()), (vec!["100", "100"], ""));
    let names = std::fs::read_dir(sandbox.path("x")).unwrap();
    for file in names {
        assert!(std::fs::read(file.unwrap().path()).unwrap() == fixture("answer-sm_90.cubin"));
    }
}
