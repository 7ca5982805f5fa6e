//! What LLVM's tools print: errors and warnings, in color where someone watches, and help.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};

use super::FAILED;

/// Terminals that know colors, by what `TERM` says: whole names, beginnings and ends.
const COLORED: [&str; 3] = ["ansi", "cygwin", "linux"];
const COLORED_BEGINNINGS: [&str; 4] = ["screen", "xterm", "vt100", "rxvt"];
const COLORED_END: &str = "color";

/// How a tool speaks.
#[derive(Debug, Clone, Copy)]
pub struct Diagnostics<'a> {
    /// What stands before a message; warnings that the tool gives before it knows its name have nothing.
    pub program: Option<&'a OsStr>,
    /// What `--color` says; else it depends on where standard error goes.
    pub color: Option<bool>,
}

impl Diagnostics<'_> {
    pub fn error(self, message: &str) {
        self.print("error: ", 31, message);
    }

    pub fn warning(self, message: &str) {
        self.print("warning: ", 35, message);
    }

    fn print(self, what: &str, color: u8, message: &str) {
        let program = self.program.map(|program| format!("{}: ", program.to_string_lossy())).unwrap_or_default();
        let what = match self.color.unwrap_or_else(is_colored) {
            true => format!("\x1b[0;1;{color}m{what}\x1b[0m"),
            false => what.to_owned(),
        };
        write_stderr(&format!("{program}{what}{message}\n"));
    }
}

fn is_colored() -> bool {
    io::stderr().is_terminal() && std::env::var("TERM").is_ok_and(|terminal| knows_colors(&terminal))
}

fn knows_colors(terminal: &str) -> bool {
    COLORED.contains(&terminal)
        || COLORED_BEGINNINGS.iter().any(|beginning| terminal.starts_with(beginning))
        || terminal.ends_with(COLORED_END)
}

/// Prints what was asked for, and says how the tool ends then: with `status`, unless there is no room for it. If nobody
/// reads it any more there is nobody to tell.
pub fn print(text: &str, status: u8) -> u8 {
    let mut out = io::stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => status,
        Err(error) => {
            if error.kind() != io::ErrorKind::BrokenPipe {
                write_stderr(&format!("LLVM ERROR: IO failure on output stream: {}\n", cause(&error)));
            }
            FAILED
        }
    }
}

/// Prints to standard error. If that is closed, the exit status still says it.
pub fn write_stderr(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// What the operating system says went wrong, in its words alone.
pub fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((cause, _)) => cause.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_no_number_behind_it() {
        let error = io::Error::from_raw_os_error(2);
        assert!(error.to_string().contains("os error"));
        assert!(!cause(&error).contains("os error"));
        assert_eq!(cause(&io::Error::other("plain")), "plain");
    }

    #[test]
    fn a_terminal_is_known_by_its_name() {
        for terminal in ["xterm", "xterm-256color", "linux", "tmux-256color", "screen.xterm"] {
            assert!(knows_colors(terminal), "{terminal}");
        }
        for terminal in ["", "dumb", "linux-m", "vt220"] {
            assert!(!knows_colors(terminal), "{terminal}");
        }
    }
}
