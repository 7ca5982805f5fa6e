//! Output in the style of LLVM's tools: errors and warnings, in color on terminals, and text on standard output.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};

use super::FAILED;
use fatbin_core::base::escape::{MAX_LINE, escape, escape_lines, shorten};
use fatbin_core::base::io::standard_output;

/// Values of `TERM` for terminals with colors.
const COLORED: [&str; 3] = ["ansi", "cygwin", "linux"];

/// Prefixes of `TERM` for terminals with colors.
const COLORED_PREFIXES: [&str; 4] = ["screen", "xterm", "vt100", "rxvt"];

/// Suffix of `TERM` for terminals with colors.
const COLORED_SUFFIX: &str = "color";

/// Printer of a tool's errors and warnings.
#[derive(Debug, Clone, Copy)]
pub struct Diagnostics<'a> {
    /// Program name before each message; `None` for warnings that the tool prints before it has processed its name.
    pub program: Option<&'a OsStr>,
    /// Value of `--color`; without it, colors depend on whether standard error is a terminal.
    pub color: Option<bool>,
}

impl Diagnostics<'_> {
    /// Prints an error.
    pub fn error(self, message: &str) {
        self.print("error: ", 31, message);
    }

    /// Prints a warning.
    pub fn warning(self, message: &str) {
        self.print("warning: ", 35, message);
    }

    /// Prints a note.
    pub fn note(self, message: &str) {
        self.print("note: ", 36, message);
    }

    fn print(self, severity: &str, color: u8, message: &str) {
        let program =
            self.program.map(|program| format!("{}: ", escape(&program.to_string_lossy()))).unwrap_or_default();
        let limit = MAX_LINE.saturating_sub(program.len() + severity.len());
        let severity = if self.color.unwrap_or_else(is_colored) {
            format!("\x1b[0;1;{color}m{severity}\x1b[0m")
        } else {
            severity.to_owned()
        };
        write(&format!("{program}{severity}{}\n", escape_message(message, limit)));
    }
}

fn is_colored() -> bool {
    io::stderr().is_terminal() && std::env::var("TERM").is_ok_and(|terminal| supports_colors(&terminal))
}

fn supports_colors(terminal: &str) -> bool {
    COLORED.contains(&terminal)
        || COLORED_PREFIXES.iter().any(|prefix| terminal.starts_with(prefix))
        || terminal.ends_with(COLORED_SUFFIX)
}

/// Writes text to standard output. Returns the exit status: `status`, or failure if the text cannot be written. A
/// closed pipe is a failure without a message.
pub fn print(text: &str, status: u8) -> u8 {
    let mut out = io::stdout();
    let writable = if text.is_empty() { Ok(()) } else { standard_output::check() };
    match writable.and_then(|()| out.write_all(escape_lines(text).as_bytes())).and_then(|()| out.flush()) {
        Ok(()) => status,
        Err(error) => {
            if error.kind() != io::ErrorKind::BrokenPipe {
                write_stderr(&format!("LLVM ERROR: IO failure on output stream: {}\n", cause(&error)));
            }
            FAILED
        }
    }
}

/// Buffered text is written at this size, in bytes.
const TEXT_SIZE: usize = 1 << 16;

/// Buffered text for standard output.
#[derive(Debug, Default)]
pub struct TextOutput {
    pending: String,
    has_failed: bool,
}

impl TextOutput {
    /// Appends text.
    pub fn push(&mut self, text: &str) {
        self.pending += text;
        if self.pending.len() >= TEXT_SIZE {
            self.flush();
        }
    }

    /// Writes the buffered text, and returns the tool's exit status. After an error, nothing more is written.
    pub fn flush(&mut self) -> u8 {
        self.has_failed |= !self.has_failed && print(&self.pending, 0) != 0;
        self.pending.clear();
        if self.has_failed { FAILED } else { 0 }
    }
}

/// Escapes a message and shortens its lines to `limit` characters. Messages of some tools have several lines.
fn escape_message(message: &str, limit: usize) -> String {
    let lines: Vec<String> = message.split('\n').map(|line| shorten(&escape_lines(line), limit).into_owned()).collect();
    lines.join("\n")
}

/// Writes complete lines with errors or warnings to standard error.
pub fn write_messages(messages: &str) {
    write(&escape_message(messages, MAX_LINE));
}

/// Writes text to standard error.
pub fn write_stderr(text: &str) {
    write(&escape_lines(text));
}

/// Writes escaped text to standard error. If standard error is closed, the exit status still reports the problem.
fn write(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// The operating system's message for an error, without the error number that Rust appends.
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
    fn removes_the_error_number_from_a_cause() {
        let error = io::Error::from_raw_os_error(2);
        assert!(error.to_string().contains("os error"));
        assert!(!cause(&error).contains("os error"));
        assert_eq!(cause(&io::Error::other("plain")), "plain");
    }

    #[test]
    fn recognizes_terminals_with_colors_by_name() {
        for terminal in ["xterm", "xterm-256color", "linux", "tmux-256color", "screen.xterm"] {
            assert!(supports_colors(terminal), "{terminal}");
        }
        for terminal in ["", "dumb", "linux-m", "vt220"] {
            assert!(!supports_colors(terminal), "{terminal}");
        }
    }
}
