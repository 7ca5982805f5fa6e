//! Runs under filters of system calls (seccomp): without programs and network, and without threads.

use std::os::unix::process::CommandExt;

use libc::{c_long, sock_filter};

use super::silence::LINES;
use super::*;

/// What happens to a system call.
#[derive(Clone, Copy)]
enum Action {
    /// The process ends by SIGSYS.
    Kill,
    /// The call fails.
    Fail(i32),
}

/// A system call that is filtered.
#[derive(Clone, Copy)]
struct Rule {
    call: c_long,
    /// Calls with one of these bits in their first argument are allowed.
    allowed: u32,
    action: Action,
}

const fn rule(call: c_long, action: Action) -> Rule {
    Rule { call, allowed: 0, action }
}

/// A new process is killed, and a new thread is allowed. Libraries use `clone` where `clone3` does not exist.
const NO_PROCESSES: [Rule; 2] = [
    Rule { call: libc::SYS_clone, allowed: libc::CLONE_THREAD as u32, action: Action::Kill },
    rule(libc::SYS_clone3, Action::Fail(libc::ENOSYS)),
];

const NO_NETWORK: [Rule; 1] = [rule(libc::SYS_socket, Action::Kill)];

/// As where the system has no more threads.
const NO_THREADS: [Rule; 2] =
    [rule(libc::SYS_clone, Action::Fail(libc::EAGAIN)), rule(libc::SYS_clone3, Action::Fail(libc::EAGAIN))];

/// Program for the filter. Source: linux/filter.h, linux/seccomp.h.
fn program(rules: &[Rule]) -> Vec<sock_filter> {
    const NUMBER: u32 = 0;
    const FIRST_ARGUMENT: u32 = 16;
    let statement = |code: u32, k: u32| sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let jump = |test: u32, k: u32, jt: u8, jf: u8| sock_filter { code: (libc::BPF_JMP | test) as u16, jt, jf, k };
    let load = |offset: u32| statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset);
    let end = |action: u32| statement(libc::BPF_RET, action);
    let mut program = Vec::new();
    for rule in rules {
        let action = match rule.action {
            Action::Kill => libc::SECCOMP_RET_KILL_PROCESS,
            Action::Fail(error) => libc::SECCOMP_RET_ERRNO | error as u32,
        };
        program.extend([
            load(NUMBER),
            jump(libc::BPF_JEQ, rule.call as u32, 0, 3),
            load(FIRST_ARGUMENT),
            jump(libc::BPF_JSET, rule.allowed, 1, 0),
            end(action),
        ]);
    }
    program.push(end(libc::SECCOMP_RET_ALLOW));
    program
}

/// Applies rules to a command, from before its program is executed.
fn confine<'a>(command: &'a mut Command, rules: &[Rule]) -> &'a mut Command {
    let mut program = program(rules);
    let apply = move || {
        let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: the filter exists during the calls, which are safe after `fork`.
        let failed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) != 0
        };
        if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: the function makes only calls that are safe after `fork`.
    unsafe { command.pre_exec(apply) }
}

fn inputs() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("policy.toml", "[archs]\ndevices = [\"sm_120\"]\n");
    for fixture in ["answer-x86_64.so", "answer-gfx90a.hsaco"] {
        sandbox.fixture(fixture, fixture);
    }
    sandbox.fixture("answer-sm_90.cubin", "image");
    sandbox.fatbin("pack --kind cuda --compress -o fat image image").ok();
    sandbox
        .fatbin("bundle --raw --type o --compress --target hip-amdgcn-amd-amdhsa--gfx90a=answer-gfx90a.hsaco -o bundle")
        .ok();
    sandbox
}

/// Commands whose work is to start programs.
const STARTING: [&str; 3] = ["link ", "doctor ", "install-links --for "];

#[test]
fn only_commands_about_links_start_programs_and_none_uses_the_network() {
    let rules = [&NO_PROCESSES[..], &NO_NETWORK].concat();
    for input in ["answer-x86_64.so", "bundle"] {
        let sandbox = inputs();
        for line in LINES {
            if STARTING.iter().any(|command| line.starts_with(command)) {
                continue;
            }
            let arguments = line.replace("INPUT", input);
            let mut command = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
            // A signal is a failure.
            run(confine(command.args(arguments.split_whitespace()), &rules));
        }
    }
    // The filter is in place.
    let sandbox = inputs();
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
    let ended = confine(command.args(["link", "--", "true", "bundle"]), &rules).output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended.status), Some(libc::SIGSYS));
}

#[test]
fn without_threads_the_results_are_the_same() {
    let sandbox = inputs();
    for arguments in [
        "scan --json fat bundle image",
        "inspect --json fat bundle image",
        "verify --json fat bundle",
        "unbundle --target hip-amdgcn-amd-amdhsa--gfx90a=out bundle",
        "bundle --raw --type o --compress --target hip-amdgcn-amd-amdhsa--gfx90a=image -o out",
        "pack --kind cuda --compress -o out image image",
        "transcode --to zstd -o out fat",
        "lock -o - fat bundle",
    ] {
        let mut results = [&[][..], &NO_THREADS].map(|rules| {
            let mut command = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
            let ended = run(confine(command.args(arguments.split(' ')), rules));
            let written = std::fs::read(sandbox.path("out")).ok();
            let _ = std::fs::remove_file(sandbox.path("out"));
            (ended, written)
        });
        let [expected, confined] = &mut results;
        assert!(expected.0.status <= 1, "{arguments}: {expected:?}");
        assert_eq!(confined, expected, "{arguments}");
    }
}
