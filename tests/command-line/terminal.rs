//! Output on a terminal, and output elsewhere.

use crate::Sandbox;

/// Returns an object with an image for another processor than its container states.
fn contradicting() -> Sandbox {
    let sandbox = Sandbox::new();
    let image = crate::fixture("answer-gfx90a.hsaco");
    let entries = [("hip-amdgcn-amd-amdhsa--gfx908", image.as_slice())];
    sandbox.file("bundle", fatbin_core::format::bundle::write(&entries, 1).unwrap().to_vec());
    sandbox
}

#[test]
fn colors_contradictions_and_only_on_request_in_a_pipe() {
    let sandbox = contradicting();
    let plain = sandbox.fatbin("scan bundle").ok();
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let colored = sandbox.fatbin("scan --color always bundle").ok();
    assert!(colored.contains("\u{1b}[33mimage at 0x"), "{colored:?}");
    let run = sandbox.fatbin("--color=always scan missing");
    assert!(run.err.starts_with("\u{1b}[1m\u{1b}[31mfatbin:\u{1b}[0m missing: cannot open"), "{:?}", run.err);
    assert_eq!(sandbox.fatbin("scan --color never bundle").ok(), plain);
}

#[test]
fn does_not_wrap_tables_in_a_pipe() {
    let sandbox = Sandbox::new();
    let long = "long_".repeat(60);
    sandbox.file("a.ptx", format!(".version 8.1\n.target sm_90\n.address_size 64\n.entry {long}() {{ ret; }}"));
    assert!(sandbox.fatbin("inspect a.ptx").ok().contains(&long));
}

#[cfg(target_os = "linux")]
pub mod at_a_terminal {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcsetwinsize};
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    use super::{Sandbox, contradicting};

    /// Returns both ends of a pseudo-terminal of this width: the master, and the slave for programs.
    fn terminal(columns: u16) -> (File, OwnedFd) {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&person).unwrap();
        unlockpt(&person).unwrap();
        let name = ptsname(&person, Vec::new()).unwrap();
        let program = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        tcsetwinsize(&person, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        (File::from(person), OwnedFd::from(program))
    }

    /// Returns the output of a shell script on a terminal, with its control sequences.
    pub fn shown(sandbox: &Sandbox, columns: u16, script: &str, variable: (&str, &str)) -> String {
        let (mut person, program) = terminal(columns);
        let mut command = sandbox.command("sh");
        command.args(["-c", script]).env("PATH", crate::path_with_program()).env("TERM", "xterm");
        command.env(variable.0, variable.1).stdout(program.try_clone().unwrap()).stderr(program);
        let mut child = command.spawn().unwrap();
        // Close the program's end here: otherwise, reading never ends.
        drop(command);
        let mut text = Vec::new();
        // Linux returns EIO when the other end is closed.
        let _ = person.read_to_end(&mut text);
        child.wait().unwrap();
        String::from_utf8(text).unwrap().replace("\r\n", "\n")
    }

    #[test]
    fn fits_tables_to_the_terminal_with_units_and_yellow_contradictions() {
        let sandbox = contradicting();
        let text = shown(&sandbox, 70, "fatbin scan bundle", ("A", "b"));
        assert!(text.contains('…') && text.contains("\u{1b}[33mimage at 0x"), "{text}");
        let plain = console::strip_ansi_codes(&text);
        let rows: Vec<&str> = plain.lines().skip(1).take(2).collect();
        assert!(rows.iter().all(|row| row.chars().count() <= 70) && rows[1].ends_with("  3.4 KiB"), "{text}");
        let wide = shown(&sandbox, 200, "fatbin scan bundle", ("NO_COLOR", "1"));
        let plain = sandbox.fatbin("scan bundle").ok();
        let numbers =
            |text: &str| text.replace("3456", "3.4 KiB").split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(numbers(&wide.replace("3.5 KiB", "3541 bytes")), numbers(&plain));
    }

    #[test]
    fn wraps_pages_of_the_book_to_the_terminal_with_bold_headings() {
        let sandbox = Sandbox::new();
        for columns in [50, 90, 200] {
            let text = shown(&sandbox, columns, "fatbin help guide/verify", ("A", "b"));
            assert!(text.contains("\u{1b}[1m\u{1b}[4mVerify: find damaged device code\u{1b}[0m\n"), "{text:?}");
            let plain = console::strip_ansi_codes(&text);
            // Code has its own lines.
            let prose = plain.lines().filter(|line| !line.starts_with("    "));
            let longest = prose.map(|line| line.chars().count()).max().unwrap();
            let limit = usize::from(columns).min(100);
            assert!((limit - 15..=limit).contains(&longest), "{columns}: {longest}\n{plain}");
        }
        let text = shown(&sandbox, 90, "fatbin help guide/verify | cat", ("A", "b"));
        assert_eq!(text, sandbox.fatbin("help guide/verify").ok());
    }

    #[test]
    fn the_variable_columns_overrides_the_width_of_a_terminal_only() {
        let sandbox = contradicting();
        let narrow = shown(&sandbox, 200, "COLUMNS=70 fatbin scan --color never bundle", ("A", "b"));
        assert_eq!(narrow, shown(&sandbox, 70, "fatbin scan --color never bundle", ("A", "b")));
        assert!(narrow.contains('…'), "{narrow}");
        for columns in ["0", "-1", "wide", ""] {
            let script = format!("COLUMNS={columns} fatbin scan --color never bundle");
            assert_eq!(shown(&sandbox, 70, &script, ("A", "b")), narrow, "{columns}");
        }
        let piped = sandbox.shell("COLUMNS=70 fatbin scan bundle").ok();
        assert_eq!(piped, sandbox.fatbin("scan bundle").ok());
    }

    #[test]
    fn quiet_shows_results_and_errors_only() {
        let sandbox = contradicting();
        sandbox.fixture("answer-gfx90a.hsaco", "a").file("zeros", vec![0; 1 << 20]);
        let slow = "(cat a zeros; sleep 0.8) | fatbin scan - a a";
        for silent in [format!("{slow} --quiet >table"), format!("TERM=dumb; export TERM; {slow} >table")] {
            assert_eq!(shown(&sandbox, 80, &silent, ("A", "b")), "");
        }
        let error = shown(&sandbox, 200, "fatbin --quiet scan missing bundle; echo $?", ("NO_COLOR", "1"));
        let lines: Vec<&str> = error.lines().collect();
        assert!(lines[0].starts_with("fatbin: missing: cannot open") && lines.last() == Some(&"2"), "{error}");
        assert!(error.contains("bundle: ") && !error.contains("explain"), "{error}");
    }

    /// Returns each change of the line of progress with its time, without the seconds that the line states.
    fn changes(sandbox: &Sandbox, script: &str) -> Vec<(Instant, String)> {
        let (mut person, program) = terminal(200);
        let mut command = sandbox.command("sh");
        command.args(["-c", script]).env("PATH", crate::path_with_program()).env("TERM", "xterm");
        command.stdout(program.try_clone().unwrap()).stderr(program);
        let mut child = command.spawn().unwrap();
        drop(command);
        let (mut changes, mut block) = (vec![(Instant::now(), String::new())], [0; 4096]);
        while let Ok(read @ 1..) = person.read(&mut block) {
            let text = String::from_utf8_lossy(&block[..read]).into_owned();
            let counters: Vec<&str> =
                text.split(", ").filter(|part| part.contains("iB") || part.contains(" B")).collect();
            let shown = counters.join(", ");
            if !shown.is_empty() && changes.last().unwrap().1 != shown {
                changes.push((Instant::now(), shown));
            }
        }
        assert!(child.wait().unwrap().success());
        changes.push((Instant::now(), String::new()));
        changes
    }

    /// The work is slow because the pipe is: no machine is too fast for the line, and every block is a change.
    #[test]
    fn no_second_of_slow_work_passes_without_a_change() {
        let sandbox = Sandbox::new();
        sandbox.fixture("answer-gfx90a.hsaco", "a").file("zeros", vec![0; 4 << 20]);
        let slow = "(cat a; for i in 1 2 3 4 5 6 7 8; do cat zeros; sleep 0.25; done)";
        for command in ["scan -", "size -", "check --policy policy.toml -", "lock -o lock -"] {
            sandbox.file("policy.toml", "");
            let changes = changes(&sandbox, &format!("{slow} | fatbin {command} >out"));
            assert!(changes.len() > 5, "{command}: {changes:?}");
            // The first change has the delay of the line and the start of the program before it.
            let silences = changes.windows(2).skip(1).map(|pair| pair[1].0 - pair[0].0);
            assert!(silences.max().unwrap() < Duration::from_secs(1), "{command}: {changes:?}");
            assert!(changes[2].1.contains(" read"), "{command}: {changes:?}");
        }
    }

    #[test]
    fn shows_a_progress_bar_and_removes_it() {
        let sandbox = Sandbox::new();
        sandbox.fixture("answer-gfx90a.hsaco", "a").file("zeros", vec![0; 1 << 20]);
        // A pipe holds less than the zeros: when `sleep` starts, fatbin is reading and counts the time until the bar appears.
        let script = "(cat a zeros; sleep 0.8) | fatbin scan - a a";
        let text = shown(&sandbox, 80, &format!("{script} >table"), ("A", "b"));
        assert!(text.contains("3/3 files") || text.contains("2/3 files") || text.contains("1/3 files"), "{text:?}");
        assert!(text.ends_with("\u{1b}[2K") || text.ends_with('\r'), "the line is cleared: {text:?}");
        // The number of files in a pipe is not known.
        let list = "(echo a; echo a; echo a; sleep 0.8) | fatbin scan --files-from -";
        let text = shown(&sandbox, 80, &format!("{list} >table"), ("A", "b"));
        assert!(text.contains(" 3 files 10.12 KiB"), "{text:?}");
        let text = shown(&sandbox, 80, &format!("({script}) 2>errors"), ("A", "b"));
        assert!(text.starts_with("\u{1b}[1mstandard input\u{1b}[0m: elf, "), "{text:?}");
        assert_eq!(sandbox.read("errors"), b"");
    }
}

#[test]
fn a_version_alone_is_the_version_beside_other_options() {
    let sandbox = Sandbox::new();
    let version = sandbox.fatbin("--version").ok();
    assert_eq!(version, concat!("fatbin ", env!("CARGO_PKG_VERSION"), "\n"));
    for command in ["-V", "--threads 1 --version", "--version --threads 1"] {
        assert_eq!(sandbox.fatbin(command).ok(), version, "{command}");
    }
}

#[test]
fn quiet_leaves_out_what_was_written() {
    let sandbox = contradicting();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    for command in
        ["extract -o images a", "strip --device-debug a -o s", "prune --keep gfx90a a -o p", "install-links links"]
    {
        let (loud, quiet) = (sandbox.fatbin(command), sandbox.fatbin(&format!("{command} --quiet")));
        assert!(!loud.out.is_empty(), "{command}");
        assert_eq!((quiet.status, quiet.out.as_str(), &quiet.err), (loud.status, "", &loud.err), "{command}");
    }
    for result in ["scan a", "size a", "prune --dry-run --keep gfx90a a -o p", "explain E0101"] {
        assert_eq!(sandbox.fatbin(&format!("{result} --quiet")), sandbox.fatbin(result), "{result}");
    }
}
