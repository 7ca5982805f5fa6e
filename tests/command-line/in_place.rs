//! Files that are changed in place, and the attributes of the result: links, modes, times, and faults at any moment.

use std::fs::{File, FileTimes, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::{Sandbox, run};

const IN_PLACE: &str = "strip --device-debug --in-place";

/// Number of times that the program is killed.
const KILLS: u32 = 200;

/// User without rights (`nobody`).
const NOBODY: u32 = 65534;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90-debug.cubin", "file");
    sandbox.fatbin("strip --device-debug -o new file").ok();
    sandbox
}

/// Every command that changes a file has the options, and the same result in place as in another file.
#[test]
fn every_change_is_possible_in_place() {
    let sandbox = sandbox();
    sandbox.fixture("answer-sm_80.ptx", "ptx.ptx").fatbin("pack --kind cuda -o fatbin file ptx.ptx").ok();
    for command in ["strip --device-debug", "prune --device sm_90", "transcode --to zstd"] {
        sandbox.fatbin(&format!("{command} -o out fatbin")).ok();
        std::fs::copy(sandbox.path("fatbin"), sandbox.path("copy")).unwrap();
        sandbox.fatbin(&format!("{command} -i copy")).ok();
        assert!(sandbox.read("copy") == sandbox.read("out"), "{command}");
        assert!(sandbox.read("copy") != sandbox.read("fatbin"), "{command}");
        let run = sandbox.fatbin(&format!("{command} -o fatbin fatbin"));
        let error = "fatbin: fatbin: is both input and output; use --in-place to replace it\n";
        assert_eq!((run.status, run.err.as_str()), (2, error));
    }
}

#[test]
fn symbolic_links_are_followed_and_hard_links_keep_the_old_file() {
    let sandbox = sandbox();
    let old = sandbox.read("file");
    symlink("file", sandbox.path("symbolic")).unwrap();
    std::fs::hard_link(sandbox.path("file"), sandbox.path("hard")).unwrap();
    sandbox.fatbin(&format!("{IN_PLACE} symbolic")).ok();
    assert!(sandbox.path("symbolic").is_symlink());
    assert!(sandbox.read("file") == sandbox.read("new"));
    assert!(sandbox.read("hard") == old);
    assert_eq!(sandbox.names(), ["file", "hard", "new", "symbolic"]);
}

#[test]
fn the_mode_is_always_kept_and_times_on_request() {
    let sandbox = sandbox();
    let old = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    for (options, keeps_times) in [
        ("-o out", false),
        ("-o out --preserve=mode", false),
        ("-o out --preserve=mode,ownership", false),
        ("-o out --preserve", true),
        ("-o out --preserve=all", true),
        ("-o out --preserve=timestamps", true),
        ("--in-place", true),
    ] {
        for mode in [0o600, 0o751, 0o4755] {
            sandbox.fixture("answer-sm_90-debug.cubin", "file");
            let file = File::options().write(true).open(sandbox.path("file")).unwrap();
            file.set_permissions(Permissions::from_mode(mode)).unwrap();
            file.set_times(FileTimes::new().set_accessed(old).set_modified(old)).unwrap();
            sandbox.file("out", "another mode");
            sandbox.fatbin(&format!("strip --device-debug {options} file")).ok();
            let changed = if options == "--in-place" { "file" } else { "out" };
            assert!(sandbox.read(changed) == sandbox.read("new"), "{options}");
            let metadata = std::fs::metadata(sandbox.path(changed)).unwrap();
            let kept = if options == "--in-place" { 0o7777 } else { 0o777 };
            assert_eq!(metadata.mode() & 0o7777, mode & kept, "{options}");
            assert_eq!(metadata.modified().unwrap() == old, keeps_times, "{options}");
        }
    }
}

#[test]
fn a_full_disk_leaves_the_old_file() {
    let sandbox = sandbox();
    let old = sandbox.read("file");
    let run = sandbox.shell(&format!("trap '' XFSZ; ulimit -f 2; fatbin {IN_PLACE} file"));
    assert_eq!(run.status, 2, "{}", run.err);
    assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    assert!(sandbox.read("file") == old);
    assert_eq!(sandbox.names(), ["file", "new"]);
}

/// Runs the program as a user who may not write to the directory, also if the tests run as root.
#[test]
fn a_directory_without_write_permission_leaves_the_old_file() {
    let sandbox = sandbox();
    let program = sandbox.path("fatbin");
    // By another process: a file that this process writes cannot be executed while a concurrent test starts a command,
    // because the command inherits the descriptor for a moment ("text file busy").
    let copied = sandbox.command("cp").arg(env!("CARGO_BIN_EXE_fatbin")).arg(&program).status().unwrap();
    assert!(copied.success());
    let old = sandbox.read("file");
    let directory = program.parent().unwrap();
    // The directory is the last one, so that others can reach all files regardless of this process's umask.
    for path in [&program, &sandbox.path("file"), &sandbox.path("new"), directory] {
        std::fs::set_permissions(path, Permissions::from_mode(0o555)).unwrap();
    }
    let mut command = sandbox.command(&program);
    let command = command.args(IN_PLACE.split(' ')).arg("file");
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(NOBODY).gid(NOBODY);
    }
    let run = run(command);
    std::fs::set_permissions(directory, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run.status, 2);
    assert!(run.err.contains("cannot create: permission denied"), "{}", run.err);
    assert!(sandbox.read("file") == old);
    assert_eq!(sandbox.names(), ["fatbin", "file", "new"]);
}

/// Whenever the program is killed, the file is the old one or the new one.
#[test]
fn a_killed_program_leaves_the_old_or_the_new_file() {
    let sandbox = sandbox();
    let (old, new) = (sandbox.read("file"), sandbox.read("new"));
    let start = |sandbox: &Sandbox| -> Command {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
        command.args(IN_PLACE.split(' ')).arg("file").stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let begin = Instant::now();
    assert!(start(&sandbox).status().unwrap().success());
    let duration = begin.elapsed();
    for number in 0..KILLS {
        sandbox.file("file", &old);
        let mut child = start(&sandbox).spawn().unwrap();
        // Moments all over the run, the end included.
        std::thread::sleep(duration * number / KILLS);
        child.kill().unwrap();
        child.wait().unwrap();
        let found = sandbox.read("file");
        assert!(found == old || found == new, "killed after {number}/{KILLS} of {duration:?}");
    }
}

#[test]
fn extended_attributes_and_rights_are_kept() {
    let sandbox = sandbox();
    let file = sandbox.path("file");
    for (name, value) in [("user.origin", &b"a build"[..]), ("user.empty", b"")] {
        if rustix::fs::setxattr(&file, name, value, rustix::fs::XattrFlags::empty()).is_err() {
            // The file system has no attributes of users.
            return;
        }
    }
    std::fs::set_permissions(&file, Permissions::from_mode(0o6755)).unwrap();
    sandbox.fatbin(&format!("{IN_PLACE} file")).ok();
    assert!(sandbox.read("file") == sandbox.read("new"));
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o7777, 0o6755);
    let mut value = [0; 20];
    let size = rustix::fs::getxattr(&file, "user.origin", &mut value).unwrap();
    assert_eq!(&value[..size], b"a build");
    assert_eq!(rustix::fs::getxattr(&file, "user.empty", &mut value), Ok(0));
}

#[test]
fn a_file_that_a_build_has_renamed_into_place_stays() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-sm_90-debug.cubin", "small").file("paths", "");
    // Large enough that the edit takes time.
    let large = [sandbox.read("small"), vec![7; 64 << 20]].concat();
    let mut refused = 0;
    for delay in [0, 5, 10, 20, 40, 80] {
        sandbox.file("file", &large).file("newer", "a newer build");
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
        command.args(IN_PLACE.split(' ')).arg("file").stdout(Stdio::null()).stderr(Stdio::null());
        let mut edit = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay));
        std::fs::rename(sandbox.path("newer"), sandbox.path("file")).unwrap();
        let status = edit.wait().unwrap();
        assert!(sandbox.read("file") == b"a newer build", "{delay} ms: {status}");
        refused += usize::from(status.code() == Some(2));
        assert_eq!(sandbox.names(), ["file", "paths", "small"]);
    }
    assert!(refused > 0, "no edit was in progress when the file was replaced");
}

#[test]
fn of_two_edits_at_once_one_is_refused() {
    let sandbox = sandbox();
    let [old, new] = ["file", "new"].map(|name| sandbox.read(name));
    for _ in 0..20 {
        sandbox.file("file", &old);
        let mut edits: Vec<_> = (0..2)
            .map(|_| {
                let mut command = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
                command.args(IN_PLACE.split(' ')).arg("file").stdout(Stdio::null()).stderr(Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        let statuses: Vec<_> = edits.iter_mut().map(|edit| edit.wait().unwrap().code()).collect();
        assert!(statuses.contains(&Some(0)) && statuses.iter().all(|it| matches!(it, Some(0 | 2))), "{statuses:?}");
        assert!(sandbox.read("file") == new);
        assert_eq!(sandbox.names(), ["file", "new"]);
    }
}

#[test]
fn only_a_file_is_replaced_and_only_with_its_proof() {
    let sandbox = sandbox();
    let old = sandbox.read("file");
    assert!(sandbox.command("mkfifo").arg("fifo").status().unwrap().success());
    let run = sandbox.fatbin(&format!("{IN_PLACE} fifo"));
    assert_eq!((run.status, run.err.as_str()), (2, "fatbin: fifo: is a device, pipe or socket, not a regular file\n"));
    for proof in ["missing/proof", "fifo/proof", "file"] {
        assert_eq!(sandbox.fatbin(&format!("{IN_PLACE} file --proof {proof}")).status, 2, "{proof}");
        assert!(sandbox.read("file") == old, "{proof}");
    }
    std::fs::create_dir(sandbox.path("directory")).unwrap();
    assert_eq!(sandbox.fatbin(&format!("{IN_PLACE} file --proof directory")).status, 2);
    assert!(sandbox.read("file") == old);
    sandbox.fatbin(&format!("{IN_PLACE} file --proof proof")).ok();
    assert!(sandbox.read("file") == sandbox.read("new") && sandbox.path("proof").exists());
}
